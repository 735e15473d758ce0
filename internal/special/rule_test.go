package special

import (
	"fmt"
	"math"
	"testing"
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
			whole := r.Above(above, f, make([]float64, RuleScratch), half, beyond)
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
				sum += r.Weight(k, half) * f[k]
			}
			if !(math.Abs(sum+beyond-whole) <= 1e-13*size+1e-15) {
				t.Errorf("%d points, degree %d: %v by weights, %v by Above", n, degree, sum, whole-beyond)
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

func BenchmarkRuleAbove(b *testing.B) {
	for _, n := range []int{16, 48} {
		b.Run(fmt.Sprintf("points=%d", n), func(b *testing.B) {
			r := NewRule(n)
			dst, f, scratch := make([]float64, n), make([]float64, n), make([]float64, RuleScratch)
			for b.Loop() {
				r.Above(dst, f, scratch, 1, 0)
			}
		})
	}
}
