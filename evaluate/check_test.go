package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
)

// ratedItems draws votes of exchangeable raters on n items of three classes: each item
// has m raters, chosen at random from a fixed number. Rater 0 votes for
// class 2 with an extra probability bias.
func ratedItems(n, m, raters int, bias float64, seed uint64) *dataset.Dataset {
	r := rand.New(rng.New(seed, "evaluate.ballotsOf"))
	ds := &dataset.Dataset{Classes: []string{"NC", "MCI", "AD"}, Counts: make([]float32, 3*n), Raters: make([]string, raters)}
	for j := range n {
		ds.Items = append(ds.Items, strconv.Itoa(j))
		p := []float64{r.ExpFloat64(), r.ExpFloat64(), r.ExpFloat64()}
		s := sum(p)
		for i := range p {
			p[i] /= s
		}
		for _, rater := range r.Perm(raters)[:m] {
			counts := make([]float64, 3)
			vote(counts, p, 1, r)
			class := argmax(counts)
			if rater == 0 && r.Float64() < bias {
				class = 2
			}
			ds.Counts[3*j+class]++
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(rater), Class: int32(class)})
		}
	}
	return ds
}

// itemsOf returns a data set that has votes only.
func itemsOf(rows [][]float64, classes ...string) *dataset.Dataset {
	ds := &dataset.Dataset{Classes: classes}
	for j, row := range rows {
		ds.Items = append(ds.Items, strconv.Itoa(j))
		for i, c := range row {
			if len(ds.Classes) <= i {
				ds.Classes = append(ds.Classes, string(rune('a'+i)))
			}
			ds.Counts = append(ds.Counts, float32(c))
		}
	}
	return ds
}

// Of 200 sets of exchangeable raters, at most 5% have one that is reported to differ:
// within 3.7 standard errors of Holm's bound (false-alarm rate 1e-4). A biased
// rater is found in every set.
func TestCompareRaters(t *testing.T) {
	alarms := 0
	for i := range 200 {
		for _, bias := range []float64{0, .8} {
			ds := ratedItems(150, 5, 12, bias, uint64(i))
			raters := compareRaters(ds.Ratings, NewVotes(ds), ds.Raters)
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
	r, err := Check(ratedItems(300, 4, 10, 0, 77), CheckOptions{Bootstrap: Bootstrap{Replicates: 200}})
	if err != nil {
		t.Fatal(err)
	}
	// With p uniform on the simplex, two votes agree with probability Σ Ep² = ½,
	// by chance with ⅓: alpha is ¼. 4.5 standard errors.
	for _, e := range []IntervalEstimate{r.AlphaNominal, r.FleissKappa} {
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
		{"few pairs", append(repeat(500, 1, 0), repeat(5, 1, 1)...), "no", 1, "only 5 items"},
		{"one pair", append(repeat(500, 1, 0), repeat(1, 1, 1)...), "no", 1, "only 1 item with"},
		{"unanimous", append(repeat(500, 0, 3), repeat(500, 3, 0)...), "weak", 3, "never differ"},
		{"one class", repeat(500, 0, 3), "no", 3, "never differ"},
		{"coins", repeat(200, 10, 10), "no", 20, "hardly agree more than votes on different items"},
		{"uneven", slices.Concat(repeat(900, 1, 0), repeat(150, 3, 0), repeat(100, 1, 2), repeat(50, 0, 3)), "yes", 3, "900 of 1200 items have a single vote"},
		{"plenty", slices.Concat(repeat(100, 15, 5), repeat(100, 5, 15)), "yes", 20, "learn 20 moments"},
	} {
		votes := votesOf(t, c.rows)
		s := supportOf(votes, newDesigner(votes))
		if s.Intervals != c.intervals || s.Order != c.order || !strings.Contains(fmt.Sprint(s.Reasons), c.reason) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestCheckPoorVotes(t *testing.T) {
	for _, rows := range [][][]float64{{{0, 0}}, {{1, 0}, {0, 1}}, {{2, 0}, {3, 0}}, {{1, 1}}} {
		r, err := Check(itemsOf(rows), CheckOptions{Bootstrap: Bootstrap{Replicates: 20}})
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
	wrong := itemsOf([][]float64{{1, 1}})
	wrong.Raters, wrong.Ratings = []string{"x"}, []dataset.Rating{{Item: 0, Class: 0}, {Item: 0, Class: 0}}
	if _, err := Check(wrong, CheckOptions{}); err == nil || err.Error() != "item 0, class 0: expected ratings for 1 votes, found 2" {
		t.Errorf("ratings that do not add up to the votes: error %v", err)
	}
	if _, err := Check(itemsOf([][]float64{{1, .5}}), CheckOptions{}); !errors.Is(err, ErrFractions) {
		t.Errorf("fractions of a vote: error %v", err)
	}
}
