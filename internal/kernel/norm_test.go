package kernel

import (
	"fmt"
	"math"
	"testing"
)

// TestNorm: every implementation gives the bits of the reference, and that what
// it says.
func TestNorm(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(21)
		for _, n := range lengths() {
			what := fmt.Sprint("n=", n)
			x, dy := newGuarded(normals(r, n), n%4), newGuarded(normals(r, n), (n+1)%4)
			y, dx := newGuarded(make([]float32, n), 3), newGuarded(make([]float32, n), 2)
			want := make([]float32, n)
			normGeneric(want, x.x, 0.3, -1.7, 0.9)
			Normalize(y.x, x.x, 0.3, -1.7, 0.9)
			y.check(t, what)
			sameBits(t, what+": Normalize", y.x, want)
			exact := make([]float64, n)
			for i, v := range x.x {
				exact[i] = (float64(v)-0.3)*-1.7 + 0.9
			}
			near(t, what+": Normalize", y.x, exact, 5e-7, 1)

			p := NormGrad{Mean: 0.3, Inv: 1.4, Scale: -0.8, A: 0.02, B: -0.07}
			normGradGeneric(want, dy.x, x.x, &p)
			p.Apply(dx.x, dy.x, x.x)
			dx.check(t, what)
			sameBits(t, what+": NormGrad", dx.x, want)
			for i, v := range x.x {
				exact[i] = -0.8 * (float64(dy.x[i]) - 0.02 - (float64(v)-0.3)*1.4*-0.07)
			}
			near(t, what+": NormGrad", dx.x, exact, 5e-7, 1)

			got, dot := CentredDot(dy.x, x.x, 0.3), 0.0
			if ref := centredDotGeneric(dy.x, x.x, 0.3); got != ref {
				t.Fatalf("%s: CentredDot %v, want %v", what, got, ref)
			}
			for i, g := range dy.x {
				dot += float64(g) * (float64(x.x[i]) - float64(float32(0.3)))
			}
			if !(math.Abs(got-dot) <= 1e-6*math.Sqrt(float64(n))) {
				t.Fatalf("%s: CentredDot %v, want %v", what, got, dot)
			}

			p.Apply(dy.x, dy.x, x.x)
			sameBits(t, what+": NormGrad in place", dy.x, dx.x)
			Normalize(x.x, x.x, 0.3, -1.7, 0.9)
			sameBits(t, what+": Normalize in place", x.x, y.x)
		}
	})
}
