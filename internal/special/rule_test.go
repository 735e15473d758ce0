package special

import (
	"fmt"
	"math"
	"testing"

	"credence/internal/kernel"
)

// Powers and powers times polynomials, whose integrals are known, up to the
// degree for which a rule is exact.
func TestRule(t *testing.T) {
	for _, n := range []int{2, 6, 16, 24, 32, 36, 48} {
		r := NewRule(n)
		if r.Len() != n {
			t.Errorf("%d points, want %d", r.Len(), n)
		}
		f, above, weights := make([]float64, n), make([]float64, n), make([]float64, n)
		const mid, half, beyond = 0.25, 1.5, 3
		lo, hi := mid-half, mid+half
		for degree := range n {
			primitive := func(x float64) float64 { return half * math.Pow(x/half, float64(degree+1)) / float64(degree+1) }
			for k := range f {
				f[k] = math.Pow(r.At(k, mid, half)/half, float64(degree))
			}
			points, whole := r.above(above, f, half, beyond)
			size := primitive(hi)
			if want := beyond + primitive(hi) - primitive(lo); !(math.Abs(whole-want) <= 1e-13*size+1e-15) {
				t.Errorf("%d points, degree %d: %v over the whole, want %v", n, degree, whole, want)
			}
			sum := 0.0
			for k, got := range above {
				x := r.At(k, mid, half)
				if want := beyond + primitive(hi) - primitive(x); !(math.Abs(got-want) <= 1e-13*size+1e-15) {
					t.Errorf("%d points, degree %d: %v from %v, want %v", n, degree, got, x, want)
				}
				sum += points.weights[k] * f[k]
				if points.at[k] != x {
					t.Errorf("%d points: point %d at %v, in a panel at %v", n, k, x, points.at[k])
				}
			}
			if !(math.Abs(sum+beyond-whole) <= 1e-13*size+1e-15) {
				t.Errorf("%d points, degree %d: %v by weights, %v by integrals", n, degree, sum, whole-beyond)
			}
			for _, a := range []float64{1e-9, 1e-3, 0.4, 1, 7.5, 60} {
				r.PowerWeights(weights, make([]float64, RuleScratch), a)
				got := 0.0
				for k, w := range weights {
					got += w * math.Pow(r.At(k, 0.5, 0.5), float64(degree))
				}
				// Rounding counts in units of the largest moment, 1/a.
				if want := 1 / (a + float64(degree)); !(math.Abs(got-want) <= 2e-16*float64(n*n)/a) {
					t.Errorf("%d points: the integral of x^(%v−1) x^%d is %v, want %v", n, a, degree, got, want)
				}
			}
		}
	}
}

// panelPoints are the points of a panel and their weights.
type panelPoints struct{ at, weights [kernel.PanelPoints]float64 }

// above sets dst to the integrals of f from each point to the end of a panel around ¼, plus beyond, by the table of kernel.PanelBelow, and
// returns the integral over the whole panel, which is that from both ends of the table: from a point and to it.
func (r *Rule) above(dst, f []float64, half, beyond float64) (p panelPoints, whole float64) {
	n, integrals := r.Panel(p.at[:], p.weights[:], 0.25, half)
	for k := range dst {
		dst[k] = beyond
		for l, v := range f {
			dst[k] += half * v * integrals[l*n+k]
		}
	}
	whole = beyond
	for k, v := range f {
		whole += half * v * r.weights[k%len(r.weights)]
	}
	for k := len(f); k < n; k++ {
		if p.weights[k] != 0 || !(math.Abs(p.at[k]-0.25) < half) {
			panic("a point beyond the rule's has a weight, or is outside")
		}
	}
	return p, whole
}

func BenchmarkNewRule(b *testing.B) {
	for _, n := range []int{16, 48} {
		b.Run(fmt.Sprintf("points=%d", n), func(b *testing.B) {
			for b.Loop() {
				NewRule(n)
			}
		})
	}
}
