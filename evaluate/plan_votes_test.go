package evaluate

import (
	"math"
	"strings"
	"testing"

	"credence/head"
	"credence/mixture"
)

// planRaters returns a model of two classes: raters 0 and 1 are good, 2 almost always guesses, 3 has a strong bias.
func planRaters(t testing.TB) *head.RaterModel {
	c := &head.RaterModel{Classes: 2, Votes: []float64{30, 30, 30, 30}, Bias: []float64{-1, -1, -1, 3}, BiasSE: []float64{.1, .1, .1, .1}, BiasSD: 1,
		Guess: []float64{.001, .001, .95, .001}, GuessLogit: []float64{-6.9, -6.9, 2.9, -6.9}, GuessLogitSE: []float64{1, 1, 1, 1}}
	if err := c.Finalize(); err != nil {
		t.Fatal(err)
	}
	return c
}

func planDists(t testing.TB, alpha ...[]float64) (dists []*mixture.Dirichlet) {
	for _, a := range alpha {
		m, err := mixture.NewDirichlet([]float64{1}, [][]float64{a})
		if err != nil {
			t.Fatal(err)
		}
		dists = append(dists, m)
	}
	return dists
}

func TestAsk(t *testing.T) {
	raterModel, dists := planRaters(t), planDists(t, []float64{1, 1}, []float64{400, 400})
	alike := []Cost{{0, 1}, {1, 1}, {2, 1}, {3, 1}}
	ask := func(costs []Cost, o PlanOptions) []PlannedVote {
		t.Helper()
		list, err := PlanVotes(dists, raterModel, costs, o)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	// Good raters on the uncertain item; each once, up to the limit per item.
	got := ask(alike, PlanOptions{Budget: 2, Most: 3})
	if len(got) != 2 || got[0].Item != 0 || got[1].Item != 0 || got[0].Rater+got[1].Rater != 1 {
		t.Errorf("two votes: %+v", got)
	}
	if got[1].Gain >= got[0].Gain || got[1].Gain <= 0 {
		t.Errorf("the second vote gains %v, the first %v", got[1].Gain, got[0].Gain)
	}
	for _, a := range ask(alike, PlanOptions{Budget: 2, Most: 1})[1:] {
		if a.Item != 1 {
			t.Errorf("a second vote on item 0, at most one: %+v", a)
		}
	}
	// The gain of a vote is the mean over its outcomes.
	gain, err := raterModel.Gain(dists[0], got[0].Rater)
	if err != nil || math.Abs(gain-got[0].Gain) > 1e-12 {
		t.Errorf("the first vote gains %v, want %v, %v", got[0].Gain, gain, err)
	}
	// A cheaper rater is preferred to an expensive good one; nobody votes twice on an item.
	if dear := ask([]Cost{{0, 50}, {1, 1}}, PlanOptions{Budget: 50, Most: 1}); dear[0].Rater != 1 {
		t.Errorf("a dear rater is asked: %+v", dear)
	}
	voted := func(item, rater int) bool { return rater < 2 }
	for _, a := range ask(alike, PlanOptions{Budget: 8, Most: 3, Voted: voted}) {
		if a.Rater < 2 {
			t.Errorf("who has voted is asked: %+v", a)
		}
	}
	if guesser := ask([]Cost{{2, 1}, {0, 1}}, PlanOptions{Budget: 1, Most: 1}); guesser[0].Rater != 0 {
		t.Errorf("a guesser is asked first: %+v", guesser)
	}
	// Rounded costs still add up to the budget, and no more is spent.
	if tenths := ask([]Cost{{0, 0.1}, {1, 0.1}, {3, 0.1}}, PlanOptions{Budget: 0.3, Most: 3}); len(tenths) != 3 {
		t.Errorf("three votes of 0.1 of 0.3: %+v", tenths)
	}
	if none := ask([]Cost{{0, 3}}, PlanOptions{Budget: 2, Most: 3}); len(none) != 0 {
		t.Errorf("votes beyond the budget: %+v", none)
	}
}

func TestAskErrors(t *testing.T) {
	raterModel, dists := planRaters(t), planDists(t, []float64{1, 1})
	good := PlanOptions{Budget: 1, Most: 1}
	for want, ask := range map[string]func() ([]PlannedVote, error){
		"raters are not modelled":                                      func() ([]PlannedVote, error) { return PlanVotes(dists, nil, nil, good) },
		"costs: expected raters from 0 to 3, found 4":                  func() ([]PlannedVote, error) { return PlanVotes(dists, raterModel, []Cost{{4, 1}}, good) },
		"cost of rater 0: expected a finite number above 0, found -1":  func() ([]PlannedVote, error) { return PlanVotes(dists, raterModel, []Cost{{0, -1}}, good) },
		"cost of rater 0: expected a finite number above 0, found NaN": func() ([]PlannedVote, error) { return PlanVotes(dists, raterModel, []Cost{{0, math.NaN()}}, good) },
		"expected one cost of rater 0, found two":                      func() ([]PlannedVote, error) { return PlanVotes(dists, raterModel, []Cost{{0, 1}, {0, 2}}, good) },
		"budget: expected a finite number of at least 0, found NaN": func() ([]PlannedVote, error) {
			return PlanVotes(dists, raterModel, nil, PlanOptions{math.NaN(), 1, nil})
		},
		"expected at least 1 vote per item, found a limit of 0": func() ([]PlannedVote, error) { return PlanVotes(dists, raterModel, nil, PlanOptions{1, 0, nil}) },
		"expected at most 1024 outcomes":                        func() ([]PlannedVote, error) { return PlanVotes(dists, raterModel, nil, PlanOptions{1, 30, nil}) },
		"item 0 has no distribution":                            func() ([]PlannedVote, error) { return PlanVotes(make([]*mixture.Dirichlet, 1), raterModel, nil, good) },
	} {
		if _, err := ask(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
