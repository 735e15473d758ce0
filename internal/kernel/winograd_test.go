package kernel

import (
	"fmt"
	"math"
	"testing"
)

// winogradKinds calls f for every number of taps and of outputs of a tile.
func winogradKinds(f func(m, k int)) {
	for k := 3; k <= 7; k++ {
		for _, t := range winogradSizes {
			if m := t - k + 1; m >= 2 {
				f(m, k)
			}
		}
	}
}

// TestWinogradExact: with the matrices as they are, interpolation gives the
// convolution of every pair of unit vectors, up to the rounding of G.
func TestWinogradExact(t *testing.T) {
	winogradKinds(func(m, k int) {
		f := newWinograd(m, k)
		half, zero := (f.t-1)/2, (f.t+1)%2
		for l := range k {
			for i := range f.t {
				for p := range m {
					sum := 0.0
					for j := range f.t {
						a := 0.0
						switch {
						case j == f.t-1:
							if p == m-1 {
								a = 1
							}
						case j < zero:
							if p == 0 {
								a = 1
							}
						default:
							q := j - zero
							a = float64(f.powers[p*half+q/2])
							if q%2 == 1 && p%2 == 1 {
								a = -a
							}
						}
						sum += a * f.weights[j][l] * float64(f.in[i*lanes+j])
					}
					want := 0.0
					if i == p+l {
						want = 1
					}
					if !(math.Abs(sum-want) <= 1e-12) {
						t.Errorf("F(%d,%d): tap %d, input %d, output %d: %v, want %v", m, k, l, i, p, sum, want)
					}
				}
			}
		}
	})
}

// TestWinogradError holds every kind of tile against float64: the largest error
// is within 10⁻⁵ of the largest output, for normal inputs and for inputs that
// are all positive.
func TestWinogradError(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		winogradKinds(func(m, k int) {
			for _, out := range []int{5, 16, 21} {
				for _, shift := range []float32{0, 3} {
					s := conv3(2, out, [3]int{4, 5, 3*m + k + out%3}, [3]int{2, 3, k})
					s.Pad = [3]int{1, 0, 2}
					r := newRand(uint64(m*k + out))
					d := newConvData(s, func(n int) []float32 { return normals(r, n) })
					for i := range d.x {
						d.x[i] += shift
					}
					if e := winogradError(t, s, m, d); !(e <= 1e-5) {
						t.Errorf("F(%d,%d), %d channels, shift %v: error %.1e of the largest output", m, k, out, shift, e)
					}
				}
			}
		})
	})
}

// winogradError returns the largest error of Forward in tiles of m outputs,
// divided by the largest output.
func winogradError(t *testing.T, s ConvShape, m int, d convData) float64 {
	t.Helper()
	c, err := NewConv(s, [3]int{}, true)
	if err != nil {
		t.Fatal(err)
	}
	c.fast, c.tall = newWinograd(m, s.Kernel[2]), nil
	return forwardError(t, c, c.NewScratch(), d)
}

// forwardError returns the largest error of Forward, divided by the largest output.
func forwardError(t *testing.T, c *Conv, sc *ConvScratch, d convData) float64 {
	t.Helper()
	s := c.shape
	packed := newGuarded(make([]float32, c.PackedLen()), 1)
	y := newGuarded(make([]float32, len(d.dy)), 2)
	c.Pack(packed.x, d.w)
	c.Forward(y.x, newGuarded(d.x, 3).x, packed.x, d.bias, sc)
	y.check(t, fmt.Sprint(s))
	packed.check(t, fmt.Sprint(s))
	plane := volume(c.out)
	want := make([]float64, len(d.dy))
	for i := range want {
		want[i] = float64(d.bias[i/plane])
	}
	naiveConv(s, func(o, p, w, x int) { want[o*plane+p] += float64(d.w[w]) * float64(d.x[x]) })
	worst, top := 0.0, 0.0
	for i, v := range want {
		e := math.Abs(float64(y.x[i]) - v)
		if math.IsNaN(e) {
			t.Fatalf("%v: output %d is %v", s, i, y.x[i])
		}
		worst, top = max(worst, e), max(top, math.Abs(v))
	}
	return worst / top
}

// TestWinogradChosen names convolutions that run by minimal filtering, and that
// do not.
func TestWinogradChosen(t *testing.T) {
	lenet := conv2(1, 6, 28, 28, 5)
	lenet.Pad = [3]int{0, 2, 2}
	stride := conv2(16, 32, 33, 33, 5)
	stride.Stride = [3]int{1, 1, 2}
	dilation := conv2(16, 32, 33, 33, 5)
	dilation.Dilation = [3]int{1, 1, 2}
	flat := conv3(8, 16, [3]int{96, 96, 80}, [3]int{5, 5, 5})
	for _, c := range []struct {
		shape ConvShape
		m     int // 0: direct
	}{
		{flat, 5}, // too many weights for tiles of two dimensions
		{conv3(16, 32, [3]int{18, 18, 15}, [3]int{3, 3, 3}), 7},
		{conv2(6, 16, 14, 14, 5), 5},
		{conv2(16, 32, 18, 18, 3), 4},
		{conv2(16, 16, 20, 22, 7), 3},
		{lenet, 0},                                               // one channel to six: the transforms cost more
		{conv2(16, 32, 9, 9, 8), 0}, {conv2(16, 32, 9, 9, 2), 0}, // taps
		{conv2(16, 32, 3, 3, 3), 0}, // one position
		{stride, 0}, {dilation, 0},
	} {
		m := 0
		f, tall := chooseWinograd(c.shape, true)
		if f != nil {
			m = f.m
		}
		if m != c.m || tall != nil {
			t.Errorf("%+v: tiles of %d outputs, want %d; columns %v", c.shape, m, c.m, tall)
		}
	}
	eachImpl(t, func(t *testing.T) {
		f, tall := chooseWinograd(conv3(1, 16, [3]int{96, 96, 80}, [3]int{5, 5, 5}), true)
		if active.columnTiles > 0 && (tall == nil || f.m != 4) || active.columnTiles == 0 && (tall != nil || f.m != 5) {
			t.Errorf("the first convolution of cnn3d has tiles of %d outputs, columns %v", f.m, tall)
		}
	})
}

func TestWinogradInput(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		for _, size := range winogradSizes {
			f := newWinograd(size-2, 3)
			for n := 1; n < 5; n++ {
				for tiles := 1; tiles < 6; tiles++ {
					p.what = fmt.Sprintf("t=%d n=%d tiles=%d", size, n, tiles)
					ld := 40 + n
					x, starts := p.in((n-1)*ld+30+size), p.offsets(tiles, 31)
					got, want := p.out(n*tiles*size + lanes - size)
					active.winogradInput(got, x, n, ld, starts, f.in, size)
					winogradInputGeneric(want, x, n, ld, starts, f.in, size)
					p.compare(got[:n*tiles*size], want[:n*tiles*size])
				}
			}
		}
	})
}

func TestWinogradOutput(t *testing.T) {
	testPrimitive(t, func(p *primCase) {
		winogradKinds(func(m, k int) {
			f := newWinograd(m, k)
			for _, cb := range []int{8, 16} {
				for n := 1; n < 5; n++ {
					p.what = fmt.Sprintf("F(%d,%d) cb=%d n=%d", m, k, cb, n)
					ld := n + n%3
					prod, bias := p.in(f.t*ld*cb), p.in(cb)
					o := make([]int32, n)
					for i := range o {
						o[i] = int32((n - 1 - i) * (m - n%2)) // some overlap
					}
					got, want := p.out(n * m * cb)
					active.winogradOutput(got, bias, prod, ld, o, f.powers, m, f.t, cb)
					winogradOutputGeneric(want, bias, prod, ld, o, f.powers, m, f.t, cb)
					p.compare(got, want)
				}
			}
		})
	})
}

// TestWinogradSlabs: slabs of any size give the same bits.
func TestWinogradSlabs(t *testing.T) {
	defer func(n int) { slabBytes = n }(slabBytes)
	eachImpl(t, func(t *testing.T) {
		r := newRand(11)
		s := conv3(2, 17, [3]int{13, 12, 14}, [3]int{3, 5, 5})
		s.Pad, s.Stride, s.Dilation = [3]int{1, 0, 2}, [3]int{2, 1, 1}, [3]int{1, 2, 1}
		d := newConvData(s, func(n int) []float32 { return normals(r, n) })
		pool := [3]int{2, 2, 3}
		var first [2][]float32
		for i, bytes := range []int{1 << 30, 40 << 10, 0} {
			slabBytes = bytes
			c, sc := mustConv(t, s, pool)
			if c.fast == nil {
				t.Fatal("not chosen")
			}
			packed := make([]float32, c.PackedLen())
			c.Pack(packed, d.w)
			n := s.Out * volume(c.PooledSize())
			y, pooled, arg := make([]float32, len(d.dy)), make([]float32, n), make([]int32, n)
			c.Forward(y, d.x, packed, d.bias, sc)
			c.ForwardPool(pooled, arg, d.x, packed, d.bias, ReLU, sc)
			if i == 0 {
				first = [2][]float32{y, pooled}
			}
			sameBits(t, fmt.Sprintf("slabs of %d bytes", bytes), y, first[0])
			sameBits(t, fmt.Sprintf("slabs of %d bytes, pooled", bytes), pooled, first[1])
		}
	})
}
