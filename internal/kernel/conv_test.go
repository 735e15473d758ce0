package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// conv1, conv2 and conv3 are unit-stride shapes without padding.
func conv3(in, out int, size, kernel [3]int) ConvShape {
	one := [3]int{1, 1, 1}
	return ConvShape{In: in, Out: out, Size: size, Kernel: kernel, Stride: one, Dilation: one}
}

func conv2(in, out, h, w, k int) ConvShape {
	return conv3(in, out, [3]int{1, h, w}, [3]int{1, k, k})
}

type convCase struct {
	ConvShape
	pool [3]int
}

// convCases are odd shapes: every channel count from 1 to 33, one pixel,
// strides, padding, dilation, pools that do not divide the size.
func convCases() []convCase {
	var cases []convCase
	add := func(s ConvShape, pool [3]int) { cases = append(cases, convCase{s, pool}) }
	for out := 1; out <= 33; out++ {
		add(conv2(1+out%5, out, 7, 9, 3), [3]int{1, 2, 2})
	}
	for in := 1; in <= 18; in++ {
		add(conv2(in, 3, 6, 5, 2), [3]int{1, 3, 2})
	}
	for out := 1; out <= 8; out++ { // rows that are cut into tiles, in one depth and in two
		add(conv3(1+out/2%2, out, [3]int{1 + out%2, 7, 15 + 7*out}, [3]int{1, 3, 2}), [3]int{1, 2, 2})
	}
	add(conv2(1, 1, 1, 1, 1), [3]int{1, 1, 1})
	add(conv2(3, 2, 5, 1, 1), [3]int{1, 2, 1})
	add(conv3(2, 3, [3]int{1, 1, 517}, [3]int{1, 1, 3}), [3]int{1, 1, 4})
	add(conv3(1, 2, [3]int{1, 1, 700}, [3]int{1, 1, 9}), [3]int{1, 1, 300})
	add(conv3(1, 16, [3]int{12, 11, 13}, [3]int{5, 5, 5}), [3]int{5, 3, 4})
	add(conv3(16, 20, [3]int{4, 5, 6}, [3]int{3, 3, 3}), [3]int{2, 2, 2})
	lenet := conv2(1, 6, 28, 28, 5)
	lenet.Pad = [3]int{0, 2, 2}
	add(lenet, [3]int{1, 2, 2})
	add(conv2(6, 16, 14, 14, 5), [3]int{1, 2, 2})
	r := newRand(7)
	for len(cases) < 128 {
		s := ConvShape{In: 1 + r.IntN(4), Out: 1 + r.IntN(20)}
		var pool [3]int
		for i := range 3 {
			s.Size[i] = 1 + r.IntN(9)
			s.Kernel[i] = 1 + r.IntN(4)
			s.Stride[i] = 1 + r.IntN(3)
			s.Pad[i] = r.IntN(3)
			s.Dilation[i] = 1 + r.IntN(2)
			pool[i] = 1 + r.IntN(3)
		}
		if s.Check() != nil {
			continue
		}
		for i, n := range s.OutSize() {
			pool[i] = min(pool[i], n)
		}
		add(s, pool)
	}
	return cases
}

func (c convCase) String() string {
	return fmt.Sprintf("%d-%d %v k%v s%v p%v d%v pool%v", c.In, c.Out, c.Size, c.Kernel, c.Stride, c.Pad, c.Dilation, c.pool)
}

// naiveConv calls f for every product of the convolution: output channel and
// position, flat weight index, and flat input index. dy·x sums to dw, and so on.
func naiveConv(s ConvShape, f func(o, p, w, x int)) {
	out := s.OutSize()
	for o := range s.Out {
		p := 0
		each3(out, func(q [3]int) {
			for i := range s.In {
				k := 0
				each3(s.Kernel, func(kk [3]int) {
					at, ok := i, true
					for d := range 3 {
						v := q[d]*s.Stride[d] + kk[d]*s.Dilation[d] - s.Pad[d]
						ok = ok && v >= 0 && v < s.Size[d]
						at = at*s.Size[d] + v
					}
					if ok {
						f(o, p, (o*s.In+i)*volume(s.Kernel)+k, at)
					}
					k++
				})
			}
			p++
		})
	}
}

// convData is one item with weights and an output gradient.
type convData struct{ x, w, bias, dy []float32 }

func newConvData(s ConvShape, fill func(n int) []float32) convData {
	return convData{
		x: fill(s.In * volume(s.Size)), w: fill(s.Out * s.In * volume(s.Kernel)),
		bias: fill(s.Out), dy: fill(s.Out * volume(s.OutSize())),
	}
}

func mustConv(t testing.TB, s ConvShape, pool [3]int) (*Conv, *ConvScratch) {
	t.Helper()
	c, err := NewConv(s, pool, true)
	if err != nil {
		t.Fatal(err)
	}
	return c, c.NewScratch()
}

func TestConvAgainstNaive(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(1)
		for _, s := range convCases() {
			d := newConvData(s.ConvShape, func(n int) []float32 { return normals(r, n) })
			checkConv(t, s, d)
		}
	})
}

func checkConv(t *testing.T, s convCase, d convData) {
	t.Helper()
	c, sc := mustConv(t, s.ConvShape, [3]int{})
	plane := volume(c.OutSize())
	y := make([]float64, len(d.dy))
	dx, dw, db := make([]float64, len(d.x)), make([]float64, len(d.w)), make([]float64, len(d.bias))
	for i := range y {
		y[i] = float64(d.bias[i/plane])
		db[i/plane] += float64(d.dy[i])
	}
	naiveConv(s.ConvShape, func(o, p, w, x int) {
		y[o*plane+p] += float64(d.w[w]) * float64(d.x[x])
		dw[w] += float64(d.dy[o*plane+p]) * float64(d.x[x])
		dx[x] += float64(d.dy[o*plane+p]) * float64(d.w[w])
	})
	gx, gw, gb := newGuarded(d.x, 1), newGuarded(d.w, 2), newGuarded(d.bias, 3)
	gdy := newGuarded(d.dy, 1)
	gy := newGuarded(make([]float32, len(y)), 3)
	gdx, gdw, gdb := newGuarded(make([]float32, len(dx)), 1), newGuarded(make([]float32, len(dw)), 2), newGuarded(make([]float32, len(db)), 3)
	packed := newGuarded(make([]float32, c.PackedLen()), 1)
	packedIn := newGuarded(make([]float32, c.PackedInputLen()), 3)
	c.Pack(packed.x, gw.x)
	c.PackInput(packedIn.x, gw.x)
	const tol = 1e-5
	for range 2 { // the second round finds used scratch
		clear(gdw.x)
		clear(gdb.x)
		c.Forward(gy.x, gx.x, packed.x, gb.x, sc)
		c.GradWeight(gdw.x, gdb.x, gdy.x, gx.x, sc)
		c.GradInput(gdx.x, gdy.x, packedIn.x, sc)
		near(t, s.String()+": y", gy.x, y, tol, 10)
		near(t, s.String()+": dw", gdw.x, dw, tol, 20)
		near(t, s.String()+": db", gdb.x, db, tol, 20)
		near(t, s.String()+": dx", gdx.x, dx, tol, 10)
	}
	for _, g := range []guarded{gx, gw, gb, gdy, gy, gdx, gdw, gdb, packed, packedIn} {
		g.check(t, s.String())
	}
}

// TestFusedEqualsApart compares the fused convolution, activation and pool with
// the three run apart, forward and backward, bit for bit.
func TestFusedEqualsApart(t *testing.T) {
	fills := map[string]func(r *rand.Rand, n int) []float32{
		"normal": normals,
		"ties":   func(r *rand.Rand, n int) []float32 { return integers(r, n, 1) },
		"tied": func(_ *rand.Rand, n int) []float32 {
			x := make([]float32, n)
			Fill(x, -0.5)
			return x
		},
	}
	eachImpl(t, func(t *testing.T) {
		for name, fill := range fills {
			r := newRand(3)
			for _, s := range convCases() {
				d := newConvData(s.ConvShape, func(n int) []float32 { return fill(r, n) })
				for act := Identity; act <= Sigmoid; act++ {
					checkFused(t, fmt.Sprintf("%s: %v act %d", name, s, act), s, d, act, r)
				}
				for i := range d.bias {
					d.bias[i] = -100 // all negative
				}
				checkFused(t, fmt.Sprintf("%s, negative: %v", name, s), s, d, ReLU, r)
				d.bias[0] = 100 // saturated
				checkFused(t, fmt.Sprintf("%s, saturated: %v", name, s), s, d, Tanh, r)
			}
		}
	})
}

func checkFused(t *testing.T, what string, s convCase, d convData, act Activation, r *rand.Rand) {
	t.Helper()
	c, sc := mustConv(t, s.ConvShape, s.pool)
	packed, packedIn := make([]float32, c.PackedLen()), make([]float32, c.PackedInputLen())
	c.Pack(packed, d.w)
	c.PackInput(packedIn, d.w)
	p := PoolShape{Channels: s.Out, Size: c.OutSize(), Window: s.pool, Stride: s.pool}
	n := s.Out * volume(c.PooledSize())

	y, arg := newGuarded(make([]float32, n), 1), make([]int32, n)
	c.ForwardPool(y.x, arg, d.x, packed, d.bias, act, sc)
	y.check(t, what)
	full := make([]float32, len(d.dy))
	c.Forward(full, d.x, packed, d.bias, sc)
	act.Forward(full, full)
	y2, arg2 := make([]float32, n), make([]int32, n)
	MaxPool(y2, arg2, full, p)
	sameBits(t, what+": y", y.x, y2)
	for i := range arg {
		if arg[i] != arg2[i] && !(act == ReLU && y2[i] <= 0) {
			t.Fatalf("%s: arg[%d] = %d, want %d", what, i, arg[i], arg2[i])
		}
	}

	// In rows, however they are cut, the same bits.
	y3, arg3, full3 := make([]float32, n), make([]int32, n), make([]float32, len(d.dy))
	padded := c.Pad(d.x, sc)
	for lo := 0; lo < c.Rows(); {
		hi := min(c.Rows(), lo+1+r.IntN(5))
		c.ForwardPoolRows(y3, arg3, padded, packed, d.bias, act, lo, hi, sc)
		lo = hi
	}
	for lo, rows := 0, c.OutSize()[0]*c.OutSize()[1]; lo < rows; {
		hi := min(rows, lo+1+r.IntN(5))
		c.ForwardRows(full3, padded, packed, d.bias, lo, hi, sc)
		lo = hi
	}
	act.Forward(full3, full3)
	sameBits(t, what+": y in rows", y3, y.x)
	sameBits(t, what+": all outputs in rows", full3, full)
	if !slices.Equal(arg3, arg) {
		t.Fatalf("%s: arg in rows is %v, want %v", what, arg3, arg)
	}

	dPool := normals(r, n)
	g := make([]float32, n)
	act.Backward(g, dPool, y.x)
	dw, db, dx := normals(r, len(d.w)), normals(r, len(d.bias)), newGuarded(make([]float32, len(d.x)), 2)
	dw2, db2, dx2 := append([]float32(nil), dw...), append([]float32(nil), db...), make([]float32, len(d.x))
	dwp, wp := newGuarded(make([]float32, s.SparseLen()), 3), newGuarded(make([]float32, s.SparseLen()), 1)
	c.PackSparse(dwp.x, dw)
	c.PackSparse(wp.x, d.w)
	c.GradSparse(dwp.x, db, dx.x, g, arg, d.x, wp.x, sc)
	c.UnpackSparse(dw, dwp.x)
	dwp.check(t, what)
	wp.check(t, what)
	dx.check(t, what)
	dFull := make([]float32, len(full))
	MaxPoolGrad(dFull, dPool, arg2, p)
	act.Backward(dFull, dFull, full)
	c.GradWeight(dw2, db2, dFull, d.x, sc)
	c.GradInput(dx2, dFull, packedIn, sc)
	sameBits(t, what+": dw", dw, dw2)
	sameBits(t, what+": db", db, db2)
	sameBits(t, what+": dx", dx.x, dx2)
}

// TestConvNaN checks that NaN passes through the pool in both forms.
func TestConvNaN(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(5)
		s := convCase{conv2(1, 9, 8, 8, 1), [3]int{1, 2, 2}}
		for i := range 4 {
			d := newConvData(s.ConvShape, func(n int) []float32 { return normals(r, n) })
			d.x[(2+i/2)*8+4+i%2] = nan32()
			for act := Identity; act <= Sigmoid; act++ {
				c, sc := mustConv(t, s.ConvShape, s.pool)
				packed := make([]float32, c.PackedLen())
				c.Pack(packed, d.w)
				n := s.Out * 16
				y, arg := make([]float32, n), make([]int32, n)
				c.ForwardPool(y, arg, d.x, packed, d.bias, act, sc)
				for j, v := range y {
					if (v != v) != (j%16 == 4+2) {
						t.Fatalf("NaN at %d, act %d: y[%d] = %v", i, act, j, v)
					}
				}
				if at := arg[4+2]; at != int32((2+i/2)*8+4+i%2) {
					t.Errorf("NaN at %d, act %d: arg %d", i, act, at)
				}
			}
		}
	})
}

// TestGradSparseItems: several items in one call give the bits of one call each.
func TestGradSparseItems(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(9)
		for _, s := range convCases() {
			c, sc := mustConv(t, s.ConvShape, s.pool)
			const items = 3
			in, out := s.In*volume(s.Size), s.Out*volume(c.PooledSize())
			x, w, g := normals(r, items*in), normals(r, s.Out*c.taps), normals(r, items*out)
			ws := make([]float32, s.SparseLen())
			c.PackSparse(ws, w)
			packed, y, arg := make([]float32, c.PackedLen()), make([]float32, out), make([]int32, items*out)
			c.Pack(packed, w)
			dw, db := normals(r, len(ws)), normals(r, s.Out)
			dw2, db2 := slices.Clone(dw), slices.Clone(db)
			dx, dx2 := make([]float32, len(x)), make([]float32, len(x))
			for i := range items {
				xi, gi, ai := x[i*in:(i+1)*in], g[i*out:(i+1)*out], arg[i*out:(i+1)*out]
				c.ForwardPool(y, ai, xi, packed, nil, Identity, sc)
				c.GradSparse(dw2, db2, dx2[i*in:(i+1)*in], gi, ai, xi, ws, sc)
			}
			c.GradSparse(dw, db, dx, g, arg, x, ws, sc)
			sameBits(t, s.String()+": dw", dw, dw2)
			sameBits(t, s.String()+": db", db, db2)
			sameBits(t, s.String()+": dx", dx, dx2)
		}
	})
}

// each3 calls f for every index of a box in scan order.
func each3(n [3]int, f func([3]int)) {
	for a := range n[0] {
		for b := range n[1] {
			for c := range n[2] {
				f([3]int{a, b, c})
			}
		}
	}
}
