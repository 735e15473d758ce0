package evaluate

import (
	"math"
	"testing"

	"credence/head"
	"credence/mixture"
)

// TestLeWiDi compares with sums by hand: two items on the scale 1, 2, 3, with votes 2 1 0 and 0 0 2, means
// (.5, .25, .25) and (.1, .3, .6).
func TestLeWiDi(t *testing.T) {
	in := Input{Votes: Votes{Classes: 3, Counts: []float64{2, 1, 0, 0, 0, 2}}, Scale: []float64{1, 2, 3}, Ordered: true}
	for _, alpha := range [][]float64{{2, 1, 1}, {1, 3, 6}} {
		m, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
		if err != nil {
			t.Fatal(err)
		}
		in.Predictions = append(in.Predictions, head.NewDecoded(m))
	}
	r, err := Evaluate(in, Options{LeWiDi: true})
	if err != nil {
		t.Fatal(err)
	}
	l := r.LeWiDi
	// The optimum for the votes: medians of beta-binomial counts, by enumeration with exact fractions. Item 1, 3 votes:
	// P(n₁ ≤ 0, 1, 2) = (0.2, 0.5, 0.8): the median is anywhere from 1 to 2, so C₁ = 1/2; P(n₁+n₂ ≤ 1, 2) = (0.2, 0.5): from 2
	// to 3, C₂ = 5/6. Item 2, 2 votes: P(n₁ = 0) = 9·10/110 > 1/2: C₁ = 0; n₁+n₂ with Beta(4, 6): P(0) = 42/110, P(≤ 1) = 90/110: C₂ = 1/2.
	wasserstein := (math.Abs(1./2-2./3) + math.Abs(5./6-1) + 0 + 0.5) / 2
	for name, c := range map[string]struct {
		got  Estimate
		want float64
	}{
		"Manhattan":            {l.Manhattan, ((2./3 - 0.5) + (1./3 - 0.25) + 0.25 + 0.1 + 0.3 + 0.4) / 2},
		"Wasserstein":          {l.Wasserstein, ((2./3 - 0.5) + 0.25 + 0.1 + 0.4) / 2},
		"Wasserstein's point":  {l.WassersteinPoint, wasserstein},
		"cross-entropy":        {l.CrossEntropy, (-2./3*math.Log(0.5) - 1./3*math.Log(0.25) - math.Log(0.6)) / 2},
		"error rate":           {l.ErrorRate, (1./3 + 0) / 2},
		"absolute distance":    {l.AbsoluteDistance, (1. / 3 / 3) / 2}, // median labels 1 and 3
		"multilabel Manhattan": {l.MultilabelManhattan, 2. / 3 * ((2./3 - 0.5) + (1./3 - 0.25) + 0.25 + 0.1 + 0.3 + 0.4) / 2},
		"multilabel error":     {l.MultilabelErrorRate, 2. / 3 * (1. / 3) / 2},
		// Σ over votes of ((C₁ − 1{v ≤ 1})² + (C₂ − 1{v ≤ 2})²)/2.
		"RPS": {r.Ordered.RPS, (2*(0.25+0.0625) + (0.25 + 0.0625) + 2*(0.01+0.16)) / 2 / 5},
	} {
		if !(math.Abs(float64(c.got.Value)-c.want) < 1e-12) {
			t.Errorf("%s: %v, expected %v", name, c.got.Value, c.want)
		}
	}
	// Without an order, what needs one is unknown; without distributions, what needs them.
	in.Scale, in.Ordered = nil, false
	for j := range in.Predictions {
		in.Predictions[j] = head.Decoded{Mean: in.Predictions[j].Mean}
	}
	if r, err = Evaluate(in, Options{LeWiDi: true}); err != nil {
		t.Fatal(err)
	}
	if l = r.LeWiDi; r.Ordered != nil || l.Wasserstein.Value.Known() || l.AbsoluteDistance.Value.Known() || l.ManhattanPoint.Value.Known() || !l.Manhattan.Value.Known() {
		t.Errorf("without order and distributions: %+v", l)
	}
}
