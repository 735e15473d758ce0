package monitor

import (
	"math"
	"testing"

	"credence/head"
)

// raterModels are rater models of three kinds: raters who differ in bias and guess, and, with ordered classes, in scale.
func raterModels(t *testing.T) map[string]*head.RaterModel {
	t.Helper()
	list := map[string]*head.RaterModel{
		"two classes":     {Classes: 2, Votes: []float64{5, 3}, Bias: []float64{.6, -1}, BiasSE: make([]float64, 2), GuessLogit: []float64{-2, -4}, GuessLogitSE: make([]float64, 2)},
		"three classes":   {Classes: 3, Votes: []float64{5, 3}, GuessLogit: []float64{-2, -4}, GuessLogitSE: make([]float64, 2), Taste: []float64{.5, .3, .2, .1, .1, .8}},
		"ordered classes": {Classes: 3, Ordered: true, Votes: []float64{5, 3}, Bias: []float64{.6, -1}, BiasSE: make([]float64, 2), LogScale: []float64{.3, -.5}, LogScaleSE: make([]float64, 2), GuessLogit: []float64{-2, -4}, GuessLogitSE: make([]float64, 2), Taste: []float64{.5, .3, .2, .1, .1, .8}},
	}
	for name, m := range list {
		if err := m.Finalize(); err != nil {
			t.Fatal(err)
		}
		if err := m.Check(m.Classes, 2); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return list
}

// TestRaterMartingale computes the expectation of the evidence over all sequences of votes by two raters of a rater model and
// one who is unknown to it. Chances of votes one after the other multiply to the joint likelihood, so that the order in
// which they arrive hardly matters; those of ordered classes are sums over nodes that move with the votes, exact to a few percent.
func TestRaterMartingale(t *testing.T) {
	for name, m := range raterModels(t) {
		dist, within := testDist(t, []float64{.4, .6}, []float64{.7, 2}, []float64{5, 1}), 1e-4
		if m.Classes == 3 {
			dist = testDist(t, []float64{.3, .7}, []float64{.7, 2, 1}, []float64{5, 1, .9})
		}
		if m.Ordered {
			within = .05
		}
		order := []string{"ann", "eve", "bob"}
		start := func() *Monitor {
			w, err := newMonitor([]string{"a", "b", "c"}[:m.Classes], Options{})
			if err != nil {
				t.Fatal(err)
			}
			w.model, w.raterAt, w.raters = m, map[string]int{"ann": 0, "bob": 1}, newFamily(len(w.byRater), []string{"ann", "bob"})
			if err := w.AddItem("i", Item{Dist: dist}); err != nil {
				t.Fatal(err)
			}
			return w
		}
		all, raters, worst := 0.0, 0.0, 0.0
		var walk func(votes []Vote, chance float64)
		walk = func(votes []Vote, chance float64) {
			w := start()
			var rated []head.Rating
			for _, v := range votes {
				if err := w.Add(v); err != nil {
					t.Fatal(err)
				}
				rated = append(rated, head.Rating{Rater: int32(w.rater(v.Rater)), Class: int32(v.Class)})
			}
			if len(votes) == len(order) {
				joint, err := m.LogVotes(dist, rated)
				if err != nil {
					t.Fatal(err)
				}
				worst = max(worst, math.Abs(chance/math.Exp(joint)-1))
				all += chance * w.Evidence().Strict
				raters += chance * w.raters.evidence().Strict
				return
			}
			rater := order[len(votes)]
			u, err := w.updatersOf(w.items["i"])
			if err != nil {
				t.Fatal(err)
			}
			p, err := u[0].chances(nil, w.rater(rater))
			if err != nil {
				t.Fatal(err)
			}
			for c := range m.Classes {
				walk(append(votes[:len(votes):len(votes)], Vote{"i", rater, c}), chance*p[c])
			}
		}
		walk(nil, 1)
		t.Logf("%s: expectation %v, raters %v; chances differ from the joint likelihood by up to %.2g", name, all, raters, worst)
		if !(math.Abs(all-1) < 1e-12 && math.Abs(raters-1) < 1e-12) {
			t.Errorf("%s: expected expectations of 1, found %v and, of raters, %v", name, all, raters)
		}
		if !(worst < within) {
			t.Errorf("%s: expected the joint likelihood of the votes, found chances that differ by %v", name, worst)
		}
	}
}
