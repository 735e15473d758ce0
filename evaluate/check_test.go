package evaluate

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/internal/rng"
)

// ballotsOf draws votes of exchangeable raters on n items: each item has m
// raters picked at random out of a number, and three classes. Rater 0 votes for
// class 2 with an extra probability bias.
func ballotsOf(n, m, raters int, bias float64, seed uint64) []Ballot {
	r := rand.New(rng.New(seed, "evaluate.ballotsOf"))
	var ballots []Ballot
	for j := range n {
		p := []float64{r.ExpFloat64(), r.ExpFloat64(), r.ExpFloat64()}
		s := sum(p)
		for i := range p {
			p[i] /= s
		}
		for _, rater := range r.Perm(raters)[:m] {
			counts := make([]float64, 3)
			vote(counts, p, 1, r)
			b := Ballot{j, rater, argmax(counts)}
			if rater == 0 && r.Float64() < bias {
				b.Class = 2
			}
			ballots = append(ballots, b)
		}
	}
	return ballots
}

// Of 200 sets of exchangeable raters, at most 5% have one who is said to differ:
// within 3.7 standard errors of Holm's bound (false-alarm rate 1e-4). A biased
// rater is found in every set.
func TestCompareRaters(t *testing.T) {
	alarms := 0
	for i := range 200 {
		for _, bias := range []float64{0, .8} {
			ballots := ballotsOf(150, 5, 12, bias, uint64(i))
			v, err := CountBallots(ballots, 150, 3)
			if err != nil {
				t.Fatal(err)
			}
			raters := CompareRaters(ballots, v, nil)
			differ := 0
			for _, x := range raters {
				if x.Differs {
					differ++
				}
			}
			if bias == 0 && differ > 0 {
				alarms++
			}
			if bias > 0 && i < 20 && (!raters[0].Differs || raters[0].Excess[2] < .1) {
				t.Errorf("set %d: the biased rater is not found: %+v", i, raters[0])
			}
		}
	}
	t.Logf("%d false alarms", alarms)
	if alarms > 10+11 {
		t.Errorf("%d of 200 sets of exchangeable raters have one who differs", alarms)
	}
}

func TestCheck(t *testing.T) {
	ballots := ballotsOf(300, 4, 10, 0, 77)
	v, err := CountBallots(ballots, 300, 3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(CheckInput{Votes: v, Ballots: ballots, Classes: []string{"NC", "MCI", "AD"}}, Bootstrap{Replicates: 200})
	if err != nil {
		t.Fatal(err)
	}
	// With p uniform on the simplex, two votes agree with probability Σ Ep² = ½,
	// by chance with ⅓: alpha is ¼. 4.5 standard errors.
	for _, e := range []Estimate{r.AlphaNominal, r.FleissKappa} {
		near(t, "alpha", float64(e.Value), .25, 4.5*float64(e.SE))
		if !(e.Lo < e.Value && e.Value < e.Hi) || !(e.SE > .005 && e.SE < .05) {
			t.Errorf("estimate %+v", e)
		}
	}
	near(t, "agreement", float64(r.PairAgreement.Value), .5, 4.5*float64(r.PairAgreement.SE))
	if len(r.Raters) != 10 || len(r.Confusions) != 3 || len(r.Contested) != 10 || r.Support.Intervals != "yes" || r.Support.Order != 4 {
		t.Errorf("%d raters, %d confusions, %d contested, support %+v", len(r.Raters), len(r.Confusions), len(r.Contested), r.Support)
	}
	if r.Votes != 1200 || len(r.VotesPerItem) != 1 || r.VotesPerItem[0].Items != 300 {
		t.Errorf("votes %v, %v", r.Votes, r.VotesPerItem)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestSupport(t *testing.T) {
	repeat := func(n int, row ...float64) (rows [][]float64) {
		for range n {
			rows = append(rows, row)
		}
		return rows
	}
	for _, c := range []struct {
		name      string
		rows      [][]float64
		intervals string
		order     int
		reason    string
	}{
		{"none", repeat(5, 0, 0), "no", 0, "there are no votes"},
		{"one vote an item", repeat(500, 1, 0), "no", 1, "no item has two votes"},
		{"few pairs", append(repeat(500, 1, 0), repeat(5, 1, 1)...), "weak", 1, "only 5 items"},
		{"one pair", append(repeat(500, 1, 0), repeat(1, 1, 1)...), "weak", 1, "only one item has"},
		{"unanimous", repeat(500, 0, 3), "weak", 3, "never differ"},
		{"uneven", append(repeat(600, 1, 0), repeat(150, 1, 2)...), "yes", 3, "600 of 750 items have a single vote"},
		{"plenty", repeat(200, 10, 10), "yes", 20, "learn 20 moments"},
	} {
		s := SupportOf(votesOf(t, c.rows))
		if s.Intervals != c.intervals || s.Order != c.order || !strings.Contains(strings.Join(s.Reasons, "\n"), c.reason) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestCheckPoorVotes(t *testing.T) {
	for _, rows := range [][][]float64{{{0, 0}}, {{1, 0}, {0, 1}}, {{2, 0}, {3, 0}}, {{1, 1}}} {
		r, err := Check(CheckInput{Votes: votesOf(t, rows)}, Bootstrap{Replicates: 20})
		if err != nil {
			t.Errorf("%v: %v", rows, err)
			continue
		}
		if len(r.Warnings) == 0 {
			t.Errorf("%v: no warnings", rows)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%v: %v", rows, err)
		}
	}
	if _, err := Check(CheckInput{Votes: Votes{2, []float64{1, 1}}, Ballots: []Ballot{{0, 0, 0}}}, Bootstrap{}); err == nil {
		t.Error("ballots that do not add up to the votes are taken")
	}
}
