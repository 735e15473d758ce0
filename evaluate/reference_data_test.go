package evaluate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"

	"credence/dataset"
)

// The features of the reference are the network inputs, categories one by one:
// a level, or the code of unknown ones.
func TestLogisticFeatures(t *testing.T) {
	ds := &dataset.Dataset{
		Items: []string{"a", "b", "c", "d", "e"}, Classes: []string{"x", "y"}, Counts: make([]float32, 10),
		Features: []dataset.Feature{{Name: "size"}, {Name: "ward", Kind: dataset.Categorical, Levels: []string{"A", "B"}}},
		Rows:     &dataset.Memory{N: 5, W: 2, Values: []float32{-1, 0, 1, 1, -1, 0, 1, 1, 0, dataset.UnknownLevel}},
	}
	tr, err := dataset.Fit(ds, []int{0, 1, 2, 3}, dataset.TransformOptions{Embed: []string{"ward"}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := referenceFeatures(t.Context(), tr, ds, []int{0, 1, 2, 3, 4}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{
		-1, 0, 1, 0,
		1, 0, 0, 1,
		-1, 0, 1, 0,
		1, 0, 0, 1,
		0, 1, 0, 0,
	}
	if x.Columns != 4 || !slices.Equal(x.Values, want) {
		t.Errorf("%d columns, %v", x.Columns, x.Values)
	}
}

// sizedItems are items whose votes follow one feature; every seventh has none.
func sizedItems(t *testing.T, n int) (*dataset.Dataset, *dataset.Transform) {
	t.Helper()
	rows := &dataset.Memory{N: n, W: 1}
	ds := &dataset.Dataset{Classes: []string{"x", "y"}, Features: []dataset.Feature{{Name: "size"}}, Rows: rows}
	var voted []int
	for j := range n {
		size := math.Sin(float64(j))
		ds.Items = append(ds.Items, strconv.Itoa(j))
		ds.Groups = append(ds.Groups, strconv.Itoa(j/2))
		rows.Values = append(rows.Values, float32(size))
		switch {
		case j%7 == 6:
			ds.Counts = append(ds.Counts, 0, 0)
			continue
		case size > 0.3:
			ds.Counts = append(ds.Counts, 3, 1)
		default:
			ds.Counts = append(ds.Counts, 0, 2)
		}
		voted = append(voted, j)
	}
	tr, err := dataset.Fit(ds, voted, dataset.TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ds, tr
}

// References are scored on items that they were not fitted to: with one set held
// out, they are those fitted to the rest.
func TestScoreReferences(t *testing.T) {
	ds, tr := sizedItems(t, 140)
	scored := make([]bool, 140)
	var rest, test []int
	for j := range scored {
		if scored[j] = j < 40 && j%7 != 6; scored[j] {
			test = append(test, j)
		} else {
			rest = append(rest, j)
		}
	}
	got, err := ScoreReferences(context.Background(), ds, tr, scored, false, 1)
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := FitReferences(t.Context(), ds.Select(rest), tr, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := fitted.Score(ds.Select(test), tr)
	if err != nil {
		t.Fatal(err)
	}
	votes := sum(NewVotes(ds.Select(test)).Counts)
	for k, mean := range []*float64{got.ConstantNLL, got.ConstantDMNLL, got.LogisticNLL, got.LogisticDMNLL} {
		if l := got.Select(test).losses[k]; !slices.Equal(l, want.losses[k]) {
			t.Errorf("reference %d: losses %v, want %v", k, l, want.losses[k])
		}
		near(t, "loss per vote", *mean, sum(want.losses[k])/votes, 1e-12)
	}
	if !(*got.LogisticNLL < *got.ConstantNLL) {
		t.Errorf("logistic regression %v, class frequencies %v", *got.LogisticNLL, *got.ConstantNLL)
	}

	// By folds, every item is scored without its group.
	for j := range scored {
		scored[j] = j%7 != 6
	}
	folds, err := ScoreReferences(context.Background(), ds, tr, scored, true, 1)
	if err != nil {
		t.Fatal(err)
	}
	if folds.LogisticNLL == nil || *folds.ConstantNLL == fittedLoss(t, ds) {
		t.Errorf("scores by folds %+v", folds)
	}
	var none *ReferenceScores
	if none.Select(test) != nil || (&ReferenceScores{}).Select(test) != nil {
		t.Error("references that scored nothing have losses")
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ScoreReferences(stopped, ds, tr, scored, true, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: error %v", err)
	}
}

// fittedLoss is the loss per vote of class frequencies on their own votes.
func fittedLoss(t *testing.T, ds *dataset.Dataset) float64 {
	t.Helper()
	r, err := FitReferences(t.Context(), ds, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Score(ds, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sum(s.losses[refConstant]) / sum(NewVotes(ds).Counts)
}

// TestNewInput: an input has the data of all items of a data set, and true
// probabilities that were rounded in a file sum to one again.
func TestNewInput(t *testing.T) {
	ds, _ := sizedItems(t, 2)
	ds.Truth = []float32{0.333, 0.666, 1, 0}
	in := NewInput(ds)
	if in.Votes.Len() != 2 || in.Votes.Total(0) != ds.VotesOf(0) || in.Classes[1] != "y" || in.Groups[1] != "0" {
		t.Errorf("input %+v", in)
	}
	near(t, "truth", in.Truth[0], 1./3, 1e-6)
	near(t, "sum", in.Truth[0]+in.Truth[1], 1, 1e-15)
	near(t, "certain", in.Truth[2], 1, 0)
}

// All scored items are included, others evenly and within the bound, and none without votes.
func TestItemsFor(t *testing.T) {
	ds := &dataset.Dataset{Items: make([]string, 100), Classes: []string{"a", "b"}, Counts: make([]float32, 200)}
	scored := make([]bool, 100)
	for j := range 100 {
		if j%10 != 9 {
			ds.Counts[2*j] = 1
		}
		scored[j] = j%10 == 0
	}
	if got := itemsFor(ds, nil, 100); len(got) != 90 {
		t.Errorf("%d items, want the 90 with votes", len(got))
	}
	got := itemsFor(ds, scored, 20)
	others := 0
	for k, j := range got {
		if j%10 == 9 || k > 0 && j <= got[k-1] {
			t.Fatalf("item %d is there without votes, or out of order", j)
		}
		if !scored[j] {
			others++
		}
	}
	if len(got)-others != 10 || others > 20 || others < 16 {
		t.Errorf("%d scored items and %d others, want 10 and about 20", len(got)-others, others)
	}
}
