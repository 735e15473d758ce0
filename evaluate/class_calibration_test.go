package evaluate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/internal/rng"
	"credence/mixture"
)

// A class of two percent that is predicted at four is off, although only by two
// percentage points; one that is predicted correctly is near.
func TestClassCalibration(t *testing.T) {
	const n = 4000
	truth := dirichlet(t, 9.8, 0.2)
	r := rand.New(rng.New(4, "evaluate.TestClassCalibration"))
	votes := Votes{Classes: 2, Counts: make([]float64, 2*n)}
	for j := range n {
		vote(votes.Item(j), truth.Sample(nil, r), 2, r)
	}
	dists := make([]*mixture.Dirichlet, n)
	for _, c := range []struct {
		dist *mixture.Dirichlet
		off  bool
		near bool
	}{{truth, false, true}, {dirichlet(t, 9.6, 0.4), true, false}} {
		for j := range dists {
			dists[j] = c.dist
		}
		r, err := Evaluate(Input{Predictions: predictionsOf(dists), Votes: votes}, Options{Bootstrap: Bootstrap{Replicates: 2}})
		if err != nil {
			t.Fatal(err)
		}
		x := r.ClassCalibration[1]
		if x.Off() != c.off || x.Near() != c.near || !(r.ECE.Value < 0.03) {
			t.Errorf("%+v, ECE %.4f", x, r.ECE.Value)
		}
		if got := strings.Contains(fmt.Sprint(r.Warnings), "classes do not receive the predicted share"); got != c.off {
			t.Errorf("warnings %q", r.Warnings)
		}
	}
}
