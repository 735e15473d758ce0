package evaluate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"credence/internal/rng"
)

// The bootstrap error of a mean is s/√n, over items and over groups: within 12%
// with 1,000 replicates, whose own error is 2%.
func TestBootstrapError(t *testing.T) {
	r := rand.New(rng.New(3, t.Name()))
	const n = 900
	first, second, votes, groups := make([]float64, n), make([]float64, n), make([]float64, n), make([]int, n)
	var byItem, byGroup []float64
	for j := range first {
		if j%3 == 0 {
			byGroup = append(byGroup, r.NormFloat64())
		}
		groups[j] = -j / 3
		first[j] = byGroup[j/3] // a group's items are all alike
		votes[j] = 1
		byItem = append(byItem, first[j])
	}
	for _, c := range []struct {
		name   string
		groups []int
		values []float64
	}{{"items", nil, byItem}, {"groups", groups, byGroup}} {
		d := compareLosses(t, first, second, votes, c.groups, Bootstrap{})
		want := deviation(c.values) / math.Sqrt(float64(len(c.values)))
		near(t, c.name, float64(d.SE)/want, 1, .12)
		near(t, c.name, float64(d.Value), sum(first)/n, 1e-14)
		if !(d.Lo < d.Value && d.Value < d.Hi) {
			t.Errorf("%s: %v not between %v and %v", c.name, d.Value, d.Lo, d.Hi)
		}
	}
}

// compareLosses returns the difference of losses, resampling groups if there are any.
func compareLosses(t *testing.T, first, second, votes []float64, groups []int, b Bootstrap) *Difference {
	t.Helper()
	s := &sample{total: votes}
	var err error
	if s.unit, s.units, err = unitsOf(len(votes), groups); err != nil {
		t.Fatal(err)
	}
	sums := newTally(s.units)
	d := s.compare(sums, first, second)
	sums.run(b)
	return d
}

// Drawn in blocks, many units have the error s/√n, too: within 30% with 200
// replicates, whose own error is 5%.
func TestBootstrapErrorOfMany(t *testing.T) {
	r := rand.New(rng.New(4, t.Name()))
	const n = manyUnits + 1234
	first, second, votes := make([]float64, n), make([]float64, n), make([]float64, n)
	for j := range first {
		first[j], votes[j] = r.NormFloat64(), 1
	}
	d := compareLosses(t, first, second, votes, nil, Bootstrap{})
	near(t, "error", float64(d.SE)*math.Sqrt(n)/deviation(first), 1, .3)
	near(t, "value", float64(d.Value), sum(first)/n, 1e-14)
}

// Of 300 comparisons of models that are equally good, 5% have a p-value below
// 0.05: within 4 standard errors (false-alarm rate 6e-5).
func TestComparePairedFalseAlarms(t *testing.T) {
	alarms := 0
	for i := range 300 {
		r := rand.New(rng.New(uint64(i), t.Name()))
		first, second, votes := make([]float64, 150), make([]float64, 150), make([]float64, 150)
		for j := range first {
			common := r.ExpFloat64()
			first[j], second[j], votes[j] = common+r.NormFloat64(), common+r.NormFloat64(), 1+float64(r.IntN(3))
		}
		d := compareLosses(t, first, second, votes, nil, Bootstrap{Replicates: 200, Seed: uint64(i)})
		if d.PValue < .05 {
			alarms++
		}
	}
	if alarms > 15+4*4 || alarms < 2 {
		t.Errorf("%d of 300", alarms)
	}
}

// The result depends on the seed, not on the number of goroutines, and items in
// groups of their own are the same as no groups.
func TestEvaluateDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	w := simulate(t, 300, 3, 4, 5)
	groups := make([]string, 300)
	for j := range groups {
		groups[j] = strconv.Itoa(7 * j)
	}
	in := Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes, Truth: w.truth}
	var results []string // numbers that are NaN are not equal to themselves
	for _, c := range []struct {
		threads int
		groups  []string
	}{{1, nil}, {5, nil}, {2, groups}} {
		runtime.GOMAXPROCS(c.threads)
		in.Groups = c.groups
		r, err := Evaluate(in, Options{Bootstrap: Bootstrap{Replicates: 50, Seed: 9}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, string(b))
	}
	if results[0] != results[1] || results[0] != results[2] {
		t.Error("results differ between 1 and 5 goroutines, or with groups of one")
	}
}

// Neither the order of items nor that of classes matters (except for the PIT, which
// depends on the order of classes, and the draws of the bootstrap).
func TestEvaluateInvariant(t *testing.T) {
	w := simulate(t, 400, 3, 4, 6)
	opt := Options{Bootstrap: Bootstrap{Replicates: 10}}
	want, err := Evaluate(Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes}, opt)
	if err != nil {
		t.Fatal(err)
	}
	turned := world{votes: Votes{Classes: 3, Counts: make([]float64, len(w.votes.Counts))}}
	for j := range w.mixtures {
		from := len(w.mixtures) - 1 - j
		turned.mixtures = append(turned.mixtures, rotate(t, w.mixtures[from]))
		for i, s := range w.votes.Item(from) {
			turned.votes.Item(j)[(i+1)%3] = s
		}
	}
	got, err := Evaluate(Input{Predictions: predictionsOf(turned.mixtures), Votes: turned.votes}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want Number
	}{
		{"nll", got.NLL.Value, want.NLL.Value}, {"marginal", got.MarginalNLL.Value, want.MarginalNLL.Value}, {"floor", got.FloorNLL.Value, want.FloorNLL.Value},
		{"brier", got.Brier.Value, want.Brier.Value}, {"accuracy", got.Accuracy.Value, want.Accuracy.Value}, {"ece", got.ECE.Value, want.ECE.Value},
		{"dispersion", got.DispersionRatio.Value, want.DispersionRatio.Value}, {"width", got.Widths[1].Mean.Value, want.Widths[1].Mean.Value},
		{"median", got.Widths[0].Median.Value, want.Widths[0].Median.Value},
		{"unanimous for class 2", got.Widths[4].Mean.Value, want.Widths[3].Mean.Value},
		{"abstention", got.Abstention[5].Accuracy.Value, want.Abstention[5].Accuracy.Value},
		{"observed", got.Reliability[3].Bins[4].Observed, want.Reliability[2].Bins[4].Observed},
	} {
		near(t, c.name, float64(c.got), float64(c.want), 1e-12)
	}
}
