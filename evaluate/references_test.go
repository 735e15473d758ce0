package evaluate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"testing"

	"credence/internal/logistic"
	"credence/internal/rng"
	"credence/mixture"
)

// logisticWorld draws items whose probabilities are Dirichlet about a logistic
// regression of three features (and any number of idle ones) with concentration
// c, and m votes on each.
func logisticWorld(t *testing.T, n, idle, m int, c float64, seed uint64) (*logistic.Dense, Votes) {
	t.Helper()
	r := rand.New(rng.New(seed, "evaluate.logisticWorld"))
	w := [][]float64{{1, 0, -1}, {-.5, 1, 0}, {0, -1, .5}}
	x, v := &logistic.Dense{Columns: 3 + idle}, Votes{Classes: 3, Counts: make([]float64, 3*n)}
	for j := range n {
		for range x.Columns {
			x.Values = append(x.Values, float64(float32(r.NormFloat64())))
		}
		p := make([]float64, 3)
		for i := range p {
			for k, a := range w[i] {
				p[i] += a * x.Row(j)[k]
			}
		}
		logistic.Softmax(p, p)
		for i := range p {
			p[i] *= c
		}
		d, err := mixture.NewDirichlet([]float64{1}, [][]float64{p})
		if err != nil {
			t.Fatal(err)
		}
		vote(v.Item(j), d.Sample(nil, r), m, r)
	}
	return x, v
}

// fittedLogistic is the fit to all items with a penalty.
func fittedLogistic(t *testing.T, x *logistic.Dense, v Votes, penalty, tolerance float64) *logistic.Solution {
	t.Helper()
	p, _ := logisticProblem(x, v, func(int) bool { return true })
	p.Penalty, p.Tolerance = penalty, tolerance
	at := p.Start()
	p.Solve(t.Context(), at)
	return at
}

// scoredConstants are the losses of the references without features, fitted to
// the votes they score.
func scoredConstants(t *testing.T, votes Votes) *ReferenceScores {
	t.Helper()
	r, err := fitReferences(t.Context(), &referenceData{votes: votes}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &ReferenceScores{}
	if s.losses, err = r.losses(nil, votes); err != nil {
		t.Fatal(err)
	}
	return s
}

// Fitted to its own model, the logistic reference finds the concentration, to
// 15%, and the penalty that many idle features need, and beats the constants.
func TestReferencesOnTheirModel(t *testing.T) {
	x, v := logisticWorld(t, 1000, 40, 5, 4, 1)
	r, err := fitReferences(t.Context(), &referenceData{x: x, votes: v}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Logistic.Concentration; math.Abs(c/4-1) > .15 {
		t.Errorf("concentration %v, want 4", c)
	}
	xt, vt := logisticWorld(t, 1000, 40, 5, 4, 2)
	l, err := r.losses(xt, vt)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c, d := sum(l[refConstant]), sum(l[refConstantDM]), sum(l[refLogistic]), sum(l[refLogisticDM])
	if !(d < b && b < a && d < c && c < a) {
		t.Errorf("losses: constant %v, with one Dirichlet %v, logistic %v, with a concentration %v", a, b, c, d)
	}
	// No worse than any fixed penalty by more than 1%.
	for _, penalty := range []float64{1e-3, 1e-2, 1e-1, 1} {
		theta := fittedLogistic(t, x, v, penalty*5000, fitTolerance).Theta
		loss, p := 0.0, make([]float64, 3)
		for j := range 1000 {
			for c := range p {
				p[c] = theta[3*x.Columns+c]
				for k, value := range xt.Row(j) {
					p[c] += theta[c*x.Columns+k] * value
				}
			}
			logistic.Softmax(p, p)
			loss += independentLoss(p, vt.Item(j))
		}
		if c > 1.01*loss {
			t.Errorf("loss %v at the penalty %v, but %v at %v", c, r.Logistic.Penalty, loss, penalty)
		}
	}
}

func TestReferencesJSON(t *testing.T) {
	x, v := logisticWorld(t, 100, 0, 3, 4, 3)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(3)
	r, err := fitReferences(t.Context(), &referenceData{x: x, votes: v}, 1)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GOMAXPROCS(1)
	again, err := fitReferences(t.Context(), &referenceData{x: x, votes: v}, 1)
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("a second fit on another number of goroutines differs (error %v)", err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back References
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*r, back) {
		t.Errorf("%+v became %+v", *r, back)
	}
}

// With one vote per item only the mean is fitted, not the concentration, and both
// losses of the logistic regression agree.
func TestReferencesOneVote(t *testing.T) {
	x, v := logisticWorld(t, 200, 0, 1, 4, 4)
	r, err := fitReferences(t.Context(), &referenceData{x: x, votes: v}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.ConstantDirichlet.Identified || r.Logistic.Concentration != 0 {
		t.Errorf("identified %v, concentration %v", r.ConstantDirichlet.Identified, r.Logistic.Concentration)
	}
	l, err := r.losses(x, v)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "one Dirichlet", sum(l[refConstantDM]), sum(l[refConstant]), 1e-4)
	near(t, "logistic", sum(l[refLogisticDM]), sum(l[refLogistic]), 0)
}

// Votes that leave the likelihood without a maximum, or a class without a vote,
// still give finite losses.
func TestConstantDirichletExtremes(t *testing.T) {
	for _, c := range []struct {
		name string
		rows [][]float64
	}{
		{"unanimous", [][]float64{{4, 0, 0}, {0, 3, 0}, {0, 5, 0}, {0, 0, 2}}},
		{"under-dispersed", [][]float64{{2, 2, 2}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}}},
		{"a class unseen", [][]float64{{2, 1, 0}, {1, 3, 0}, {4, 0, 0}}},
		{"one item", [][]float64{{2, 1, 0}}},
		{"many votes", [][]float64{{2e5, 1e5, 3}, {1, 1e6, 0}}},
		{"no votes", [][]float64{{0, 0, 0}}},
	} {
		fit := fitConstantDirichlet(votesOf(t, c.rows))
		test := votesOf(t, [][]float64{{1, 1, 1}, {0, 0, 3}})
		for _, l := range fit.losses(test) {
			if math.IsNaN(l) || math.IsInf(l, 0) || l <= 0 {
				t.Errorf("%s: loss %v with α = %v", c.name, l, fit.Alpha)
			}
		}
	}
}

func TestLogisticErrors(t *testing.T) {
	v := Votes{Classes: 2, Counts: []float64{1, 2, 3, 4}}
	for _, c := range []struct {
		x    *logistic.Dense
		v    Votes
		want string
	}{
		{&logistic.Dense{}, v, "expected features of 2 items in 0 columns, found 0 values"},
		{&logistic.Dense{Columns: 1, Values: []float64{1}}, v, "expected features of 2 items in 1 columns, found 1 values"},
		{&logistic.Dense{Columns: 1, Values: []float64{1, math.Inf(1)}}, v, "feature 0 of item 1: expected a finite number, found +Inf"},
		{&logistic.Dense{Columns: 1, Values: []float64{1, 2}}, Votes{Classes: 2, Counts: make([]float64, 4)}, "no votes to fit a logistic regression to"},
	} {
		if _, err := (&referenceData{x: c.x, votes: c.v}).fitLogistic(t.Context(), 0); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	broken := &logisticModel{Classes: 2, Columns: 1, Weights: []float32{1}, Bias: []float64{0, 0}}
	if _, _, err := broken.losses(&logistic.Dense{Columns: 1, Values: []float64{1, 2}}, v); err == nil {
		t.Error("a logistic regression with a weight missing predicts")
	}
}

// Above 5,000 items the penalty is chosen on a subset, and groups stay in one fold:
// if the label is a property of the group, features that identify the group are of
// no use, and the penalty reflects that.
func TestLogisticManyItems(t *testing.T) {
	const n, groups = 6000, 40
	r := rand.New(rng.New(1, t.Name()))
	x, v := &logistic.Dense{Columns: groups}, Votes{Classes: 2}
	of := make([]string, n)
	for j := range n {
		g := j % groups
		of[j] = strconv.Itoa(g)
		row := make([]float64, groups)
		row[g] = 6
		x.Values = append(x.Values, row...)
		yes := float64(g%2) * float64(1+r.IntN(2))
		v.Counts = append(v.Counts, yes, 2-yes)
	}
	split, err := (&referenceData{x: x, votes: v}).fitLogistic(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := (&referenceData{x: x, votes: v, groups: of}).fitLogistic(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if split.Penalty > 1e-3 || whole.Penalty < .1 {
		t.Errorf("penalty %v with groups split, %v with groups whole", split.Penalty, whole.Penalty)
	}
}
