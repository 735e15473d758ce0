package evaluate

import (
	"math/rand/v2"
	"strings"
	"testing"

	"credence/internal/rng"
	"credence/mixture"
)

// TestCommon: where items differ in concentration and the model knows it, one concentration is worse; where the model
// takes noise for it, one concentration is better and it is said.
func TestCommon(t *testing.T) {
	for _, c := range []struct {
		name          string
		truth, claims func(r *rand.Rand) float64 // concentrations
		better        bool
	}{
		{"known", nil, nil, true},
		{"noise", func(*rand.Rand) float64 { return 4 }, func(r *rand.Rand) float64 { return []float64{0.5, 40}[r.IntN(2)] }, false},
	} {
		r := rand.New(rng.New(1, "common."+c.name))
		var in Input
		in.Votes.Classes = 2
		var dists []*mixture.Dirichlet
		for range 600 {
			total := []float64{0.5, 40}[r.IntN(2)]
			claimed := total
			if c.truth != nil {
				total, claimed = c.truth(r), c.claims(r)
			}
			mu := 0.2 + 0.6*r.Float64()
			p := dirichlet(t, total*mu, total*(1-mu)).Sample(nil, r)[0]
			votes := []float64{0, 0}
			for range 5 {
				if r.Float64() < p {
					votes[0]++
				} else {
					votes[1]++
				}
			}
			dists, in.Votes.Counts = append(dists, dirichlet(t, claimed*mu, claimed*(1-mu))), append(in.Votes.Counts, votes...)
		}
		in.Predictions = predictionsOf(dists)
		res, err := Evaluate(in, Options{Bootstrap: Bootstrap{Replicates: 100}})
		if err != nil {
			t.Fatal(err)
		}
		d, said := res.LessCommon, false
		for _, w := range res.Warnings {
			said = said || strings.Contains(w.String(), "worse than one concentration for all")
		}
		if d == nil || (d.Hi < 0) != c.better || (d.Lo > 0) == c.better || said == c.better {
			t.Errorf("%s: %+v, said %v", c.name, d, said)
		}
	}
}
