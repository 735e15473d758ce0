package kernel

import (
	"fmt"
	"math"
	"testing"
)

// vecOp is an elementwise operation on in slices, the first one overwritten,
// and the value it should give for one element.
type vecOp struct {
	name    string
	in      int
	call    func(dst []float32, in [][]float32)
	element func(in []float64) float64
	tol     float64 // in units of the last place
	cancels bool    // measure in units of |a|·(1 + b²), the largest term
}

func vecOps() []vecOp {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	op1 := func(name string, f func(dst, x []float32), g func(float64) float64, tol float64) vecOp {
		return vecOp{name, 1, func(d []float32, in [][]float32) { f(d, in[0]) }, func(in []float64) float64 { return g(in[0]) }, tol, false}
	}
	op2 := func(name string, f func(dst, a, b []float32), g func(a, b float64) float64, tol float64) vecOp {
		return vecOp{name, 2, func(d []float32, in [][]float32) { f(d, in[0], in[1]) }, func(in []float64) float64 { return g(in[0], in[1]) }, tol, false}
	}
	cancels := func(o vecOp) vecOp { o.cancels = true; return o }
	return []vecOp{
		op2("add", Add, func(a, b float64) float64 { return a + b }, 0.5),
		op2("mul", Mul, func(a, b float64) float64 { return a * b }, 0.5),
		op1("relu", ReLU.Forward, func(x float64) float64 { return math.Max(x, 0) }, 0),
		op2("relu grad", ReLU.Backward, func(dy, y float64) float64 {
			if y > 0 {
				return dy
			}
			return 0
		}, 0),
		op1("exp", Exp, math.Exp, 2),
		op1("tanh", Tanh.Forward, math.Tanh, 3),
		cancels(op2("tanh grad", Tanh.Backward, func(dy, y float64) float64 { return dy * (1 - y*y) }, 3)),
		op1("sigmoid", Sigmoid.Forward, sigmoid, 4),
		cancels(op2("sigmoid grad", Sigmoid.Backward, func(dy, y float64) float64 { return dy * y * (1 - y) }, 3)),
		op1("gelu", GELU.Forward, func(x float64) float64 { return x * normCDF(x) }, 16),
		cancels(op2("gelu grad", GELU.Backward, func(dy, x float64) float64 {
			return dy * (normCDF(x) + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi))
		}, 3)),
	}
}

func TestElementwise(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, op := range vecOps() {
			r := newRand(11)
			for _, n := range lengths() {
				for shift := range 3 {
					testElementwise(t, op, n, shift, func() []float32 { return normals(r, n) })
				}
			}
		}
	})
}

func testElementwise(t *testing.T, op vecOp, n, shift int, fill func() []float32) {
	t.Helper()
	what := fmt.Sprintf("%s: n=%d shift=%d", op.name, n, shift)
	var in []guarded
	var xs [][]float32
	for i := range op.in {
		in = append(in, newGuarded(fill(), (shift+i)%4))
		xs = append(xs, in[i].x)
	}
	dst := newGuarded(make([]float32, n), (shift+2)%4)
	op.call(dst.x, xs)
	dst.check(t, what)
	for i := range n {
		arg := make([]float64, op.in)
		for j := range in {
			arg[j] = float64(in[j].x[i])
		}
		want := op.element(arg)
		err := ulps(dst.x[i], want)
		if op.cancels {
			err = math.Abs(float64(dst.x[i])-want) / (math.Abs(arg[0]) * (1 + arg[1]*arg[1]) * 0x1p-23)
		}
		if !(err <= op.tol+0.01) {
			t.Fatalf("%s: [%d] of %v is %v, want %v (%.1f ulp)", what, i, arg, dst.x[i], want, ulps(dst.x[i], want))
		}
	}
	// In place the same bits come out.
	got := append([]float32(nil), dst.x...)
	op.call(xs[0], xs)
	in[0].check(t, what)
	sameBits(t, what+", in place", xs[0], got)
}

// ulps is the distance of got from want in units of the last place of want.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if got == w {
		return 0
	}
	if got != got && want != want {
		return 0
	}
	unit := float64(math.Nextafter32(float32(math.Abs(want)), float32(math.Inf(1)))) - math.Abs(float64(float32(math.Abs(want))))
	return math.Abs(float64(got)-want) / unit
}

// TestTranscendental walks over the whole range of float32.
func TestTranscendental(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	eachImpl(t, func(t *testing.T) {
		for _, op := range []struct {
			name string
			f    func(dst, x []float32)
			want func(float64) float64
			tol  float64
		}{
			{"exp", Exp, math.Exp, 2},
			{"tanh", Tanh.Forward, math.Tanh, 3},
			{"sigmoid", Sigmoid.Forward, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 4},
		} {
			var x []float32
			for b := uint32(0); b < 0x7f800000; b += 9973 {
				x = append(x, math.Float32frombits(b), -math.Float32frombits(b))
			}
			for v := float32(-110); v < 110; v += 0.0173 {
				x = append(x, v, 1+v/1000)
			}
			for _, v := range []float64{0, math.Copysign(0, -1), inf, -inf, nan, 88.72283, 88.72284, -87.33654, -103.97, -104, 89, 1, -1} {
				x = append(x, float32(v))
			}
			y := make([]float32, len(x))
			op.f(y, x)
			for i := range x {
				want := op.want(float64(x[i]))
				const tiny = 1.2e-38 // below, results may be flushed to 0
				if math.Abs(want) < tiny && math.Abs(float64(y[i])) <= tiny {
					continue
				}
				if !(ulps(y[i], want) <= op.tol) {
					t.Fatalf("%s(%v) = %v, want %v (%.1f ulp)", op.name, x[i], y[i], want, ulps(y[i], want))
				}
			}
		}
	})
}

func TestReductions(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(5)
		for _, n := range lengths() {
			x := newGuarded(normals(r, n), n%4).x
			// Every implementation sums in the same order.
			if got, want := Sum(x), sumGeneric(x); got != want {
				t.Fatalf("n=%d: sum %v, want %v", n, got, want)
			}
			if got, want := SumSq(x), sumSqGeneric(x); got != want {
				t.Fatalf("n=%d: sum of squares %v, want %v", n, got, want)
			}
		}
	})
}

func TestColSums(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(6)
		for cols := range 131 {
			for _, rows := range []int{0, 1, 3, 8} {
				x, dst := newGuarded(normals(r, rows*cols), cols%4), newGuarded(normals(r, cols), 1)
				want := append([]float32(nil), dst.x...)
				colSumsGeneric(want, x.x, rows, cols)
				ColSums(dst.x, x.x, rows, cols)
				sameBits(t, fmt.Sprintf("%d×%d", rows, cols), dst.x, want)
				dst.check(t, "ColSums")
			}
		}
	})
}

// TestPrefetch: any slice may be asked for, and none is changed.
func TestPrefetch(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for n := range 600 {
			g := newGuarded(make([]float32, n), n%4)
			Prefetch(g.x)
			Claim(g.x)
			g.check(t, "prefetch")
		}
		Prefetch(nil)
		Claim(nil)
	})
}

// TestExpBits: all assembly implementations of exp give the same bits, among them those of results that are subnormal, or not finite.
func TestExpBits(t *testing.T) {
	x := make([]float32, 1<<16)
	for i := range x {
		x[i] = math.Float32frombits(uint32(i)<<16 | uint32(i)*40503&0xffff)
	}
	for i := range 1 << 12 {
		x[i] = -110 + float32(i)*(201./(1<<12))
	}
	var want []float32
	for _, im := range archImpls() {
		got := make([]float32, len(x))
		im.exp(got, x)
		if want == nil {
			want = got
		}
		sameBits(t, im.name, got, want)
	}
}
