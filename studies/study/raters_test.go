package study

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"credence/evaluate"
	"credence/head"
)

// All raters of a pool cast the same number of votes, each item has votes of three different raters, and how often
// they vote for class 1 matches their biases and guess rates: within 5 standard errors (a false alarm in
// 1e5 for all raters together).
func TestRaterPoolVotes(t *testing.T) {
	for _, c := range []poolDesign{{biased, 3, 1000, 1}, {guessers, 30, 200, 1}, {alike, 9, 400, 1}} {
		w := newRaterPool(c, 5)
		items, err := w.vote(c.Items(), 5, "test")
		if err != nil {
			t.Fatal(err)
		}
		if err := items.ds.Check(); err != nil {
			t.Fatal(err)
		}
		votes, ones := make([]float64, c.Raters), make([]float64, c.Raters)
		for i, r := range items.ds.Ratings {
			votes[r.Rater]++
			ones[r.Rater] += float64(r.Class)
			if k := i / votesEach; int(r.Item) != k || i%votesEach > 0 && items.ds.Ratings[i-1].Rater == r.Rater {
				t.Fatalf("%s: vote %d is by rater %d on item %d", c.Kind, i, r.Rater, r.Item)
			}
		}
		for r := range votes {
			if votes[r] != float64(c.Votes) {
				t.Errorf("%d %s: rater %d has %v votes, want %d", c.Raters, c.Kind, r, votes[r], c.Votes)
			}
		}
		if mean, want := (ones[0]+ones[1]+ones[2])/(3*float64(c.Votes)), 0.5; math.Abs(mean-want) > 5*0.5/math.Sqrt(3*float64(c.Votes)) {
			t.Errorf("%d %s: class 1 has the share %.3f, want %.3f", c.Raters, c.Kind, mean, want)
		}
		if c.Kind == biased && !(ones[0] < ones[1] && ones[1] < ones[2]) {
			t.Errorf("leaners say class 1 in %v votes", ones)
		}
	}
}

// The mean of p̄ over places is what E[p̄ | x] says: within 5 standard errors.
func TestCrowdExpected(t *testing.T) {
	w := newRaterPool(poolDesign{guessers, 30, 0, 1}, 1)
	items, err := w.vote(3000, 2, "test")
	if err != nil {
		t.Fatal(err)
	}
	d := make([]float64, len(items.average))
	for j := range d {
		d[j] = items.average[j] - items.expected[j]
	}
	if s := summarize(d); math.Abs(float64(s.Mean)) > 5*float64(s.SE) {
		t.Errorf("p̄ less E[p̄ | x] is %v ± %v", s.Mean, s.SE)
	}
}

// What a method says of raters is correlated with the truth, and intervals hold it or not.
func TestRecovery(t *testing.T) {
	w := &raterPool{Bias: []float64{-1, 0, 1}, Guess: []float64{0, 0, 0.8}}
	c := &head.RaterModel{Classes: 2, Bias: []float64{-0.8, 0.1, 2}, BiasSE: []float64{0.2, 0.2, 0.2},
		Guess: []float64{0.001, 0.2, 0.75}, GuessLogit: []float64{-7, -1.39, 1.1}, GuessLogitSE: []float64{2, 0.3, 0.4}}
	out := &poolOutcome{}
	out.recoverLearned(w, c)
	if got := out.Bias; math.Abs(float64(got.Coverage)-2./3) > 1e-9 || math.Abs(float64(got.RMS)-math.Sqrt((0.04+0.01+1)/3)) > 1e-9 || got.Correlation < 0.9 {
		t.Errorf("leans %+v", got)
	}
	if got := out.Guess; math.Abs(float64(got.Coverage)-2./3) > 1e-9 { // that of the second begins above 0.01
		t.Errorf("guesses %+v", got)
	}
	out.recover(w, func(r int) float64 { return float64(-r) }, func(int) float64 { return 1 })
	if out.Bias.Correlation > -0.99 || out.Guess.Correlation.Known() || out.Bias.RMS.Known() {
		t.Errorf("recovered %+v, %+v", out.Bias, out.Guess)
	}
}

// The page of made-up outcomes has its tables, and leaves out what a method does not give.
func TestRatersPage(t *testing.T) {
	s := NewRaters(true, 1)
	r := &ratersResult{Study: s}
	for _, c := range s.Crowds {
		of := &poolResult{poolDesign: c}
		for i, name := range poolMethods(c.Kind) {
			o := &poolOutcome{RMS: evaluate.Number(0.05 + 0.01*float64(i)), Plain: 0.06, NLL: 0.5, Width: notKnown, Ratio: notKnown, Bias: unknownRecovery, Guess: unknownRecovery}
			if i < 2 {
				o.Coverage = []float64{0.7, 0.8, 0.85, 0.9, 0.95}
			}
			of.Methods = append(of.Methods, &methodResult{Name: name, Outcomes: []*poolOutcome{o}})
		}
		r.Crowds = append(r.Crowds, of)
	}
	f, err := OpenFolder(t.TempDir(), s, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(f, "raters", r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Path("README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"**This is the quick version**", "| 3, 300, 300 | raters modelled | 0.0500 | 0.0600 | 0.5000 | 70.0 |",
		"| 30, 30, 300 | majority, then softmax | 0.0800 | 0.0600 | 0.5000 | – | – |", "## Exchangeable", "guessers known and left out"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	for _, file := range []string{"raters.csv", "numbers.json", "leaners.svg", "guessers.svg", "exchangeable.svg"} {
		if _, err := os.Stat(f.Path(file)); err != nil {
			t.Error(err)
		}
	}
}

// A small study runs to its page, and again from its pieces.
func TestRatersStudy(t *testing.T) {
	if testing.Short() {
		t.Skip("trains some networks")
	}
	s := NewRaters(true, 3)
	s.Fresh, s.Ensemble = 50, 1
	s.Crowds = []poolDesign{{biased, 3, 100, 1}, {guessers, 30, 10, 1}, {alike, 3, 100, 1}}
	dir := t.TempDir()
	var pages [2]string
	for i := range pages {
		f, err := OpenFolder(dir, s, false)
		if err != nil {
			t.Fatal(err)
		}
		worked := 0
		f.Progress = func(int, int, string) { worked++ }
		if err := Reproduce(context.Background(), s, f); err != nil {
			t.Fatal(err)
		}
		if want := []int{13, 0}[i]; worked != want {
			t.Errorf("run %d worked on %d pieces, want %d", i, worked, want)
		}
		text, err := os.ReadFile(f.Path("README.md"))
		if err != nil {
			t.Fatal(err)
		}
		pages[i] = string(text)
	}
	if pages[0] != pages[1] {
		t.Error("the page differs when pieces are read again")
	}
}
