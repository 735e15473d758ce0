package head

import (
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
	"credence/internal/special"
)

// TestConstantDirichlet: the parameters are where the likelihood is largest: no step of 2% improves
// it.
func TestConstantDirichlet(t *testing.T) {
	r := rand.New(rng.New(7, "test"))
	votes := Counts{Classes: 3}
	for range 300 {
		p := []float64{r.Float64(), r.Float64(), r.Float64()}
		s := make([]float32, 3)
		for range 4 {
			u, c := r.Float64()*special.Sum(p), 0
			for c < 2 && u > p[c] {
				u -= p[c]
				c++
			}
			s[c]++
		}
		votes.Values = append(votes.Values, s...)
	}
	alpha, nll := ConstantDirichlet(votes)
	for i := range alpha {
		for _, step := range []float64{0.98, 1.02} {
			moved := append([]float64(nil), alpha...)
			moved[i] *= step
			if got := dirichletLoss(moved, votes.Values); !(got > nll) {
				t.Errorf("α %v: loss %v, at %v %v", alpha, nll, moved, got)
			}
		}
	}
}
