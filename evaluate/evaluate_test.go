package evaluate

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"credence/head"
	"credence/mixture"
)

// rotate returns m with class i moved to class i + 1.
func rotate(t testing.TB, m *mixture.Dirichlet) *mixture.Dirichlet {
	t.Helper()
	var weights []float64
	var alpha [][]float64
	for k := range m.K() {
		w, a := m.Component(k)
		weights, alpha = append(weights, w), append(alpha, append(a[len(a)-1:], a[:len(a)-1]...))
	}
	r, err := mixture.NewDirichlet(weights, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResultJSON(t *testing.T) {
	w := simulate(t, 200, 2, 4, 7)
	refs := scoredConstants(t, w.votes)
	r, err := Evaluate(Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes, Truth: w.truth, References: refs, Classes: []string{"NC", "AD"}},
		Options{Bootstrap: Bootstrap{Replicates: 20}, Levels: []float64{.9}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"items", "votes", "nll_per_vote", "marginal_nll_per_vote", "constant_nll_per_vote",
		"constant_dm_nll_per_vote", "floor_nll_per_vote", "dispersion_ratio", "accuracy", "brier", "ece", "pit_p_value",
		"nll_per_vote_se", "marginal_nll_per_vote_se", "constant_nll_per_vote_se", "constant_dm_nll_per_vote_se",
		"floor_nll_per_vote_se", "accuracy_se", "brier_se", "ece_se"} {
		if _, ok := m[key].(float64); !ok {
			t.Errorf("%s is %v", key, m[key])
		}
	}
	for _, key := range []string{"logistic_nll_per_vote", "logistic_dm_nll_per_vote", "logistic_nll_per_vote_se", "logistic_dm_nll_per_vote_se"} {
		if v, ok := m[key]; !ok || v != nil {
			t.Errorf("%s is %v, want null: there are no features", key, v)
		}
	}
	if !strings.Contains(fmt.Sprint(r.Warnings), "no logistic reference") {
		t.Errorf("warnings %q", r.Warnings)
	}
	c := m["coverage"].([]any)
	if first := c[0].(map[string]any); len(c) != 2 || first["class"] != "NC" || first["level"] != .9 || first["empirical"] == nil || first["se"] == nil {
		t.Errorf("coverage %v", c)
	}
	var back Result
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back.NLL != r.NLL || !math.IsNaN(float64(back.LogisticNLL.Value)) {
		t.Errorf("read back %v, %v", back.NLL, back.LogisticNLL)
	}
}

// Values that cannot be computed are null, with a warning; nothing panics.
func TestEvaluatePoorVotes(t *testing.T) {
	for _, c := range []struct {
		name, warning string
		rows          [][]float64
		unknown       func(r *Result) []Number
	}{
		{"one item", "no standard errors", [][]float64{{2, 1}}, func(r *Result) []Number { return []Number{r.NLL.SE, r.Brier.SE} }},
		{"no votes", "no item has votes", [][]float64{{0, 0}, {0, 0}}, func(r *Result) []Number {
			return []Number{r.NLL.Value, r.Brier.Value, r.ECE.Value, r.PITPValue, r.Accuracy.Value}
		}},
		{"one vote an item", "no item has two votes", [][]float64{{1, 0}, {0, 1}, {0, 1}}, func(r *Result) []Number {
			return []Number{r.DispersionRatio.Value, r.Agreement.Observed, r.Widths[0].Mean.Value}
		}},
		{"fractions", "fractional vote counts", [][]float64{{.5, 2}, {1.5, 1}}, func(r *Result) []Number { return []Number{r.PITPValue, r.LogisticNLL.Value} }},
	} {
		v := votesOf(t, c.rows)
		var m []*mixture.Dirichlet
		for range c.rows {
			m = append(m, dirichlet(t, 2, 1))
		}
		r, err := Evaluate(Input{Predictions: predictionsOf(m), Votes: v}, Options{Bootstrap: Bootstrap{Replicates: 20}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, x := range c.unknown(r) {
			if x.Known() {
				t.Errorf("%s: number %d is %v", c.name, i, x)
			}
		}
		if !strings.Contains(fmt.Sprint(r.Warnings), c.warning) {
			t.Errorf("%s: warnings %q", c.name, r.Warnings)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestEvaluateErrors(t *testing.T) {
	m := dirichlet(t, 2, 1)
	v := Votes{Classes: 2, Counts: []float64{1, 2}}
	two := []*mixture.Dirichlet{m}
	for _, c := range []struct {
		in   Input
		opt  Options
		want string
	}{
		{Input{}, Options{}, "expected votes on at least two classes, found 0"},
		{Input{Votes: Votes{Classes: 2}}, Options{}, "no items to evaluate"},
		{Input{Votes: v}, Options{}, "expected predictions for 1 item, found 0"},
		{Input{Predictions: make([]head.Decoded, 1), Votes: v}, Options{}, "item 0: expected 2 probabilities, found 0"},
		{Input{Predictions: predictionsOf(two), Votes: Votes{Classes: 2, Counts: []float64{1, -2}}}, Options{}, "item 0, class 1: expected a finite number of votes that is not negative, found -2"},
		{Input{Predictions: predictionsOf(two), Votes: Votes{Classes: 3, Counts: []float64{1, 2, 3}}}, Options{}, "item 0: expected 3 probabilities, found 2"},
		{Input{Predictions: predictionsOf(two), Votes: v, Groups: []string{"1", "2"}}, Options{}, "expected groups of 1 items, found 2"},
		{Input{Predictions: predictionsOf(two), Votes: v, Classes: []string{"a"}}, Options{}, "expected names of 2 classes, found 1"},
		{Input{Predictions: predictionsOf(two), Votes: v, Truth: []float64{.5}}, Options{}, "expected 2 true probabilities of 1 item and 2 classes, found 1"},
		{Input{Predictions: predictionsOf(two), Votes: v, Truth: []float64{.5, .6}}, Options{}, "true probabilities of item 0: expected probabilities that sum to 1, found a sum of 1.1"},
		{Input{Predictions: predictionsOf(two), Votes: v, Truth: []float64{.5, .5}}, Options{Levels: []float64{95}}, "level: expected a number between 0 and 1, found 95"},
		{Input{Predictions: predictionsOf(two), Votes: v}, Options{Level: 2}, "level: expected a number between 0 and 1, found 2"},
	} {
		_, err := Evaluate(c.in, c.opt)
		if err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// Widths and coverage are those of the reported intervals: with a resolution, intervals that end close
// to 0 or 1 end there; nothing else changes.
func TestEvaluateReported(t *testing.T) {
	w := simulate(t, 600, 3, 3, 8)
	in := Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes, Truth: w.truth}
	opt := Options{Bootstrap: Bootstrap{Replicates: 20}}
	off, err := Evaluate(in, opt)
	if err != nil {
		t.Fatal(err)
	}
	const level = 0.95
	width, inside, vacuous := 0.0, 0, 0
	for j := range in.Predictions {
		a := &in.Predictions[j]
		a.Resolution = 0.02
		c := a.Reported().Class(0).Interval(mixture.TwoSided, level)
		width += c.Length() / 600
		if c.Contains(w.truth[3*j]) {
			inside++
		}
		if top := a.Reported().Class(a.Top()).Interval(mixture.TwoSided, level); top.Lo == 0 && top.Hi == 1 {
			vacuous++
		}
	}
	on, err := Evaluate(in, opt)
	if err != nil {
		t.Fatal(err)
	}
	if on.Vacuous != vacuous {
		t.Errorf("%d intervals are [0, 1], want %d", on.Vacuous, vacuous)
	}
	differ := false
	for i, c := range on.Coverage {
		differ = differ || c.Width != off.Coverage[i].Width
		if c.Class == "0" && c.Level == level && (math.Abs(float64(c.Width)-width) > 1e-12 || math.Abs(float64(c.Empirical)*600-float64(inside)) > 1e-9) {
			t.Errorf("coverage %v of %d items, width %v of %v", c.Empirical, inside, c.Width, width)
		}
	}
	if !differ {
		t.Error("the resolution changed no interval")
	}
	if on.NLL != off.NLL || on.ECE != off.ECE {
		t.Error("the resolution changed more than intervals")
	}
}

// Numbers that indicate a problem lead to warnings.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		r    Result
		want string
	}{
		{Result{PITPValue: .001, DispersionP: 1}, "votes do not follow"},
		{Result{PITPValue: 1, DispersionRatio: IntervalEstimate{Estimate: Estimate{Value: 2}}, DispersionP: .001}, "too narrow"},
		{Result{PITPValue: 1, DispersionRatio: IntervalEstimate{Estimate: Estimate{Value: .2}}, DispersionP: .001}, "too wide"},
		{Result{PITPValue: 1, DispersionP: 1, LessLogisticDM: &Difference{IntervalEstimate: IntervalEstimate{Estimate{-.01, .02}, -.05, .03}}}, "no better than logistic"},
		{Result{PITPValue: unknown, DispersionP: unknown, LessLogisticDM: &Difference{IntervalEstimate: IntervalEstimate{Estimate{-.1, .02}, -.14, -.06}}}, ""},
	} {
		c.r.judge()
		if got := fmt.Sprint(c.r.Warnings); c.want == "" && got != "[]" || !strings.Contains(got, c.want) {
			t.Errorf("warnings %q, want %q", got, c.want)
		}
	}
}

// predictionsOf returns predictions with the given distributions.
func predictionsOf(dists []*mixture.Dirichlet) []head.Decoded {
	list := make([]head.Decoded, len(dists))
	for j, m := range dists {
		if m != nil {
			list[j] = head.NewDecoded(m)
		}
	}
	return list
}
