package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
	"credence/internal/testsize"
)

// halfSpaces returns a data set with k numeric features that are independent of everything else.
// Distributions are right except where the second feature is above zero: there they are too narrow by ratio.
func halfSpaces(t testing.TB, n, classes, k int, ratio float64, seed uint64) Input {
	t.Helper()
	w := simulate(t, n, classes, 4, seed)
	r := rand.New(rng.New(seed, "evaluate.halfSpaces"))
	rows := &dataset.Memory{N: n, W: k}
	in := Input{Votes: w.votes, Rows: rows}
	for i := range k {
		in.Features = append(in.Features, dataset.Feature{Name: fmt.Sprintf("x%d", i+1)})
	}
	for j, dist := range w.mixtures {
		for range k {
			rows.Values = append(rows.Values, float32(r.NormFloat64()))
		}
		if ratio != 1 && rows.Values[j*k+1] > 0 {
			var err error
			if w.mixtures[j], err = dist.Rescale(1 / ratio); err != nil {
				t.Fatal(err)
			}
		}
	}
	in.Predictions = predictionsOf(w.mixtures)
	return in
}

// strataOf returns the result of the dispersion alone.
func strataOf(t testing.TB, in Input) *Result {
	t.Helper()
	s, err := newSample(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	r, sums := &Result{}, newTally(s.units)
	if err := tallyDispersion(sums, s, r, 1); err != nil {
		t.Fatal(err)
	}
	sums.run(Bootstrap{Replicates: 2})
	return r
}

// The half-space in which intervals are too narrow is found and named, for two classes and for three.
func TestWorstStratum(t *testing.T) {
	for _, classes := range []int{2, 3} {
		r := strataOf(t, halfSpaces(t, 2000, classes, 4, 1.8, 1))
		if len(r.DispersionStrata) != 3+3+2*4 {
			t.Fatalf("%d strata", len(r.DispersionStrata))
		}
		x := r.WorstStrata()[0]
		if x.Column != "x2" || x.Name != "above its median" || !x.Off() || !(x.Ratio.Lo > 1.2) || !(math.Abs(float64(x.From)) < 0.1) || x.TooFew() {
			t.Errorf("%d classes: worst stratum %+v", classes, x)
		}
		if got := x.Describe(); !strings.HasPrefix(got, "In the stratum x2, above its median (") || !strings.HasSuffix(got, ") of the predicted spread.") {
			t.Errorf("sentence %q", got)
		}
	}
}

// If distributions are right, some stratum is significant in at most 7% of 200 data sets. Holm's bound is 5%, as far
// as ratios are normal; seeds are fixed. Of 60 sets more than 8, and of 20 more than 4, would be
// a false alarm in 3 of 1,000 seeds.
func TestStrataFamilyError(t *testing.T) {
	sets, most := testsize.Choose(20, 60, 200), testsize.Choose(4, 8, 14)
	for _, classes := range []int{2, 3} {
		found := 0
		for i := range sets {
			if r := strataOf(t, halfSpaces(t, 600, classes, 10, 1, 100+uint64(i))); r.WorstStrata()[0].Adjusted < 0.05 {
				found++
			}
		}
		t.Logf("%d classes: a stratum of 26 in %d of %d data sets", classes, found, sets)
		if found > most {
			t.Errorf("%d classes: a stratum is found in %d of %d data sets", classes, found, sets)
		}
	}
}

// Errors that depend on the ratio as those of all items give nearly the intervals of a model of the stratum's own.
func TestStratumInterval(t *testing.T) {
	in := halfSpaces(t, 900, 2, 2, 1.5, 3)
	s, err := newSample(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := s.allClasses()
	if err != nil {
		t.Fatal(err)
	}
	all, err := pairs.measure(s.itemsWith(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, items := range pairs.bins(s.spreads(), s.itemsWith(2), 3) {
		own, err := pairs.measure(items)
		if err != nil {
			t.Fatal(err)
		}
		got, want := pairs.like(all, items).Interval(0.95), own.Interval(0.95)
		t.Logf("%.2f: %.3f to %.3f, own %.3f to %.3f", own.Ratio, got.Lo, got.Hi, want.Lo, want.Hi)
		near(t, "lower end", got.Lo, want.Lo, 0.1*(want.Hi-want.Lo))
		near(t, "upper end", got.Hi, want.Hi, 0.1*(want.Hi-want.Lo))
	}
}

// Errors over groups are larger if items are repeated, and strata of few groups are not judged.
func TestStrataGroups(t *testing.T) {
	in := halfSpaces(t, 400, 2, 2, 1, 5)
	one := strataOf(t, in)
	rows := in.Rows.(*dataset.Memory)
	for range 2 {
		in.Predictions, in.Votes.Counts = append(in.Predictions, in.Predictions...), append(in.Votes.Counts, in.Votes.Counts...)
		rows.Values, rows.N = append(rows.Values, rows.Values...), 2*rows.N
	}
	for j := range in.Predictions {
		in.Groups = append(in.Groups, fmt.Sprint(j%400))
	}
	four := strataOf(t, in)
	for i, x := range four.DispersionStrata {
		near(t, "ratio of "+x.String(), float64(x.Ratio.Value), float64(one.DispersionStrata[i].Ratio.Value), 1e-9)
		near(t, "error of "+x.String(), float64(x.Ratio.SE/one.DispersionStrata[i].Ratio.SE), 1, 0.3)
	}
	for j := range in.Groups {
		in.Groups[j] = fmt.Sprint(j % 29)
	}
	if list := strataOf(t, in).WorstStrata(); len(list) > 0 {
		t.Errorf("%d strata of 29 groups are judged", len(list))
	}
}

// Missing values are on neither side, constant and categorical features have no strata, vectors one per element,
// and only the first features are examined, none next to images.
func TestStrataFeatures(t *testing.T) {
	const n = 200
	in := halfSpaces(t, n, 2, 60, 1, 7)
	rows := in.Rows.(*dataset.Memory)
	for j := range n {
		rows.Values[j*60] = 3                 // constant
		rows.Values[j*60+1] = float32(j % 2)  // binary
		if rows.Values[j*60+2] = 0; j%4 > 0 { // a quarter is missing
			rows.Values[j*60+2] = float32(math.NaN())
		}
		if j%8 == 0 {
			rows.Values[j*60+2] = 1
		}
	}
	in.Features = []dataset.Feature{{Name: "constant"}, {Name: "binary"}, {Name: "sparse"}, {Name: "site", Kind: dataset.Categorical},
		{Name: "v", Kind: dataset.Tensor, Shape: []int{56}}}
	r := strataOf(t, in)
	text := fmt.Sprint(r.DispersionStrata[6:11])
	if len(r.DispersionStrata) != 6+2*49 || r.StrataLeftOut != 9 || r.DispersionStrata[6].To != 0 || r.DispersionStrata[7].From != 1 ||
		r.DispersionStrata[8].Column != "sparse" || !r.DispersionStrata[9].TooFew() || r.DispersionStrata[10].Column != "v[0]" {
		t.Errorf("%d strata, %d features left out: %s", len(r.DispersionStrata), r.StrataLeftOut, text)
	}
	in.Features[4].Shape = []int{7, 8}
	if r := strataOf(t, in); len(r.DispersionStrata) != 6 {
		t.Errorf("%d strata next to images", len(r.DispersionStrata))
	}
	in.Features = in.Features[:2]
	if _, err := Evaluate(in, Options{}); err == nil || !strings.Contains(err.Error(), "expected 2 features of 200 items, found 60 of 200") {
		t.Errorf("error %v", err)
	}
}
