package evaluate

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"credence/head"
	"credence/mixture"
)

// rotate returns m with class i in the place of class i + 1.
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
	r, err := Evaluate(Input{Answers: answersOf(w.mixtures), Votes: w.votes, Truth: w.truth, References: refs, Classes: []string{"NC", "AD"}},
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
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "no logistic reference") }) {
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
	if back.NLL != r.NLL || !math.IsNaN(float64(back.LogisticNLL)) {
		t.Errorf("read back %v, %v", back.NLL, back.LogisticNLL)
	}
}

// What cannot be computed is null, and there is a warning; nothing panics.
func TestEvaluatePoorVotes(t *testing.T) {
	for _, c := range []struct {
		name, warning string
		rows          [][]float64
		unknown       func(r *Result) []Number
	}{
		{"one item", "no standard errors", [][]float64{{2, 1}}, func(r *Result) []Number { return []Number{r.NLLSE, r.BrierSE} }},
		{"no votes", "no item has votes", [][]float64{{0, 0}, {0, 0}}, func(r *Result) []Number { return []Number{r.NLL, r.Brier, r.ECE, r.PITPValue, r.Accuracy} }},
		{"one vote an item", "no item has two votes", [][]float64{{1, 0}, {0, 1}, {0, 1}}, func(r *Result) []Number { return []Number{r.DispersionRatio, r.Agreement.Observed, r.Widths[0].Mean} }},
		{"fractions", "fractional vote counts", [][]float64{{.5, 2}, {1.5, 1}}, func(r *Result) []Number { return []Number{r.PITPValue, r.LogisticNLL} }},
	} {
		v := votesOf(t, c.rows)
		var m []*mixture.Dirichlet
		for range c.rows {
			m = append(m, dirichlet(t, 2, 1))
		}
		r, err := Evaluate(Input{Answers: answersOf(m), Votes: v}, Options{Bootstrap: Bootstrap{Replicates: 20}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, x := range c.unknown(r) {
			if x.Known() {
				t.Errorf("%s: number %d is %v", c.name, i, x)
			}
		}
		if !strings.Contains(strings.Join(r.Warnings, "\n"), c.warning) {
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
		{Input{}, Options{}, "votes on 0 classes: there are at least two"},
		{Input{Votes: Votes{Classes: 2}}, Options{}, "no items to evaluate"},
		{Input{Votes: v}, Options{}, "0 mixtures, but votes on 1 items"},
		{Input{Answers: make([]head.Answer, 1), Votes: v}, Options{}, "item 0: 0 probabilities for 2 classes"},
		{Input{Answers: answersOf(two), Votes: Votes{Classes: 2, Counts: []float64{1, -2}}}, Options{}, "item 0 has -2 votes for class 1: counts are finite and not negative"},
		{Input{Answers: answersOf(two), Votes: Votes{Classes: 3, Counts: []float64{1, 2, 3}}}, Options{}, "item 0: a mixture of 2 classes, but votes on 3"},
		{Input{Answers: answersOf(two), Votes: v, Groups: []string{"1", "2"}}, Options{}, "2 groups for 1 items"},
		{Input{Answers: answersOf(two), Votes: v, Classes: []string{"a"}}, Options{}, "1 class names for 2 classes"},
		{Input{Answers: answersOf(two), Votes: v, Truth: []float64{.5}}, Options{}, "1 true probabilities for 1 items of 2 classes"},
		{Input{Answers: answersOf(two), Votes: v, Truth: []float64{.5, .6}}, Options{}, "true probabilities of item 0 sum to 1.1"},
		{Input{Answers: answersOf(two), Votes: v, Truth: []float64{.5, .5}}, Options{Levels: []float64{95}}, "level is 95: it lies between 0 and 1"},
		{Input{Answers: answersOf(two), Votes: v, Resolution: &Resolution{}}, Options{}, "a resolution of 0 classes, but there are 2"},
		{Input{Answers: answersOf(two), Votes: v}, Options{Level: 2}, "level is 2: it lies between 0 and 1"},
	} {
		_, err := Evaluate(c.in, c.opt)
		if err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// With the resolution rule, intervals only grow: no coverage falls, touched
// items are counted apart, and nothing else moves.
func TestEvaluateWithResolution(t *testing.T) {
	w := simulate(t, 600, 3, 3, 8)
	in := Input{Answers: answersOf(w.mixtures), Votes: w.votes, Truth: w.truth}
	opt := Options{Bootstrap: Bootstrap{Replicates: 20}}
	off, err := Evaluate(in, opt)
	if err != nil {
		t.Fatal(err)
	}
	var means []float64
	for _, m := range w.mixtures {
		means = m.Mean(means)
	}
	if in.Resolution, err = NewResolution(means, w.votes); err != nil {
		t.Fatal(err)
	}
	on, err := Evaluate(in, opt)
	if err != nil {
		t.Fatal(err)
	}
	wider := false
	for i, c := range on.Coverage {
		if c.Empirical < off.Coverage[i].Empirical || c.Width < off.Coverage[i].Width {
			t.Errorf("class %s at %v: coverage %v, width %v; without the rule %v, %v",
				c.Class, c.Level, c.Empirical, c.Width, off.Coverage[i].Empirical, off.Coverage[i].Width)
		}
		wider = wider || c.Width > off.Coverage[i].Width
	}
	if !wider || on.BelowResolution == 0 || on.Resolution[1].Items != on.BelowResolution || on.Resolution[0].Items != 600-on.BelowResolution {
		t.Errorf("%d items below resolution, strata %+v", on.BelowResolution, on.Resolution)
	}
	if on.NLL != off.NLL || on.ECE != off.ECE || off.Resolution != nil {
		t.Error("the rule changed more than intervals")
	}
	touched := 0
	for _, c := range on.CoverageStrata {
		if c.Class == "0" && c.Level == .95 && (c.Stratum == "resolved" || c.Stratum == "below resolution") {
			touched += c.Items
		}
	}
	if touched != 600 {
		t.Errorf("strata of the resolution hold %d of 600 items", touched)
	}
}

// The numbers' verdict is put into words.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		r    Result
		want string
	}{
		{Result{PITPValue: .001, DispersionRatio: 1}, "votes do not follow"},
		{Result{PITPValue: 1, DispersionRatio: 2, DispersionRatioSE: .2}, "too narrow"},
		{Result{PITPValue: 1, DispersionRatio: .2, DispersionRatioSE: .2}, "too wide"},
		{Result{PITPValue: 1, DispersionRatio: 1, LessLogisticDM: &Difference{Estimate: Estimate{-.01, .02, -.05, .03}}}, "no better than logistic"},
		{Result{PITPValue: unknown, DispersionRatio: unknown, LessLogisticDM: &Difference{Estimate: Estimate{-.1, .02, -.14, -.06}}}, ""},
	} {
		c.r.judge()
		if got := strings.Join(c.r.Warnings, "; "); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("warnings %q, want %q", got, c.want)
		}
	}
}

// answersOf returns the answers whose laws are given.
func answersOf(laws []*mixture.Dirichlet) []head.Answer {
	list := make([]head.Answer, len(laws))
	for j, m := range laws {
		if m != nil {
			list[j] = head.Of(m)
		}
	}
	return list
}
