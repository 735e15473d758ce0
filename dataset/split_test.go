package dataset

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// voted returns n items with between one and eight votes over three classes,
// the third one rare.
func voted(n int) *Dataset {
	ds := &Dataset{Classes: []string{"a", "b", "c"}, Counts: make([]float32, 3*n)}
	for i := range n {
		ds.Items = append(ds.Items, fmt.Sprint(i))
		top := 0
		switch {
		case i%10 == 0:
			top = 2
		case i%3 == 0:
			top = 1
		}
		ds.Counts[3*i+top] = float32(1 + i%8)
	}
	return ds
}

func TestNewSplit(t *testing.T) {
	ds := voted(1000)
	s, err := NewSplit(ds, SplitOptions{Test: 0.1, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if a, b, c := len(s.Train), len(s.Validation), len(s.Test); a != 700 || b != 200 || c != 100 {
		t.Errorf("parts of %d, %d and %d items, want 700, 200, 100", a, b, c)
	}
	all := slices.Sorted(slices.Values(slices.Concat(s.Train, s.Validation, s.Test)))
	for i, x := range all {
		if i != x {
			t.Fatalf("item %d is lost or doubled", i)
		}
	}
	// Shares carry over from one stratum to the next: each is met within two items.
	share := func(rows []int) float64 {
		n := 0
		for _, i := range rows {
			if ds.CountsOf(i)[2] > 0 {
				n++
			}
		}
		return float64(n)
	}
	if n := share(s.Validation); math.Abs(n-20) > 2 {
		t.Errorf("%v of 100 rare items in the validation part, want about 20", n)
	}
	again, _ := NewSplit(ds, SplitOptions{Test: 0.1, Seed: 7})
	other, _ := NewSplit(ds, SplitOptions{Test: 0.1, Seed: 8})
	if !slices.Equal(s.Test, again.Test) || slices.Equal(s.Test, other.Test) {
		t.Error("the split is not a function of its seed")
	}
}

// HoldOut draws a share of every stratum, and the rest is not empty.
func TestHoldOut(t *testing.T) {
	ds := voted(1000)
	rows := make([]int, 900)
	for i := range rows {
		rows[i] = i + 100
	}
	held, err := HoldOut(ds, rows, 0.01, 3)
	if err != nil || len(held) != 9 || !slices.IsSorted(held) || held[0] < 100 {
		t.Errorf("%v %v: want 9 of the items from 100 on, in order", held, err)
	}
	other, _ := HoldOut(ds, rows, 0.01, 4)
	if slices.Equal(held, other) {
		t.Error("another seed, the same items")
	}
	if _, err := HoldOut(ds, rows[:3], 0.01, 3); err == nil {
		t.Error("nothing is held out of three items, without an error")
	}
}

func TestGroupsStayTogether(t *testing.T) {
	ds := voted(500)
	for i := range ds.Items {
		ds.Groups = append(ds.Groups, fmt.Sprint("g", (i*i)%97))
	}
	folds, err := Folds(ds, count2(500), 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for k, f := range folds {
		if len(f) < 85 || len(f) > 115 {
			t.Errorf("fold %d has %d items, want about 100", k, len(f))
		}
		for _, i := range f {
			if was, ok := of[ds.Groups[i]]; ok && was != k {
				t.Fatalf("group %s is in folds %d and %d", ds.Groups[i], was, k)
			}
			of[ds.Groups[i]] = k
		}
	}
}

func count2(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}

func TestGivenSplit(t *testing.T) {
	ds := voted(5)
	ds.Given = []string{"Train", "val", "test", "", "train"}
	s, err := NewSplit(ds, SplitOptions{})
	if err != nil || fmt.Sprint(s.Train, s.Validation, s.Test) != "[0 4] [1] [2]" {
		t.Error(s, err)
	}
	got := warningText(s.Check(ds))
	if got != "the validation items have only 2 votes: metrics computed from them are imprecise\nthe test items have only 3 votes: metrics computed from them are imprecise" {
		t.Error(got)
	}
	ds.Given[3] = "holdout"
	if _, err := NewSplit(ds, SplitOptions{}); err == nil || err.Error() != `item "3": expected split train, validation or test, found "holdout"` {
		t.Error(err)
	}
	ds.Given[3], ds.Groups = "test", []string{"p", "q", "r", "p", "p"}
	if _, err := NewSplit(ds, SplitOptions{}); err == nil || err.Error() != `group "p" is in two subsets of the given split: train and test` {
		t.Error(err)
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, c := range []struct {
		n    int
		opts SplitOptions
		want string
	}{
		{10, SplitOptions{Validation: 0.6, Test: 0.4}, "shares of 0.6 for validation and 0.4 for the test leave nothing to train on"},
		{1, SplitOptions{}, "1 item in 1 group: too few to divide"},
	} {
		if _, err := NewSplit(voted(c.n), c.opts); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if folds, err := Folds(voted(3), count2(3), 5, 1); err != nil || len(folds) != 3 {
		t.Errorf("%d folds of 3 items, error %v", len(folds), err)
	}
	if _, err := Folds(voted(3), count2(1), 5, 1); err == nil || err.Error() != "1 item in 1 group: too few for 2 folds" {
		t.Error(err)
	}
}

func TestSelectAndHash(t *testing.T) {
	ds := mixed()
	ds.Raters, ds.Ratings = []string{"r"}, []Rating{{0, 0, 1}, {2, 0, 0}}
	sub := ds.Select([]int{2, 0, 2})
	if err := sub.Check(); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(sub.Items, sub.Ratings) != "[C A C] [{1 0 1} {0 0 0} {2 0 0}]" || sub.Votes.Votes != 6 {
		t.Error(sub.Items, sub.Ratings, sub.Votes)
	}
	a, err := ds.Hash()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := mixed().Hash()
	ds.Rows.(*Memory).Values[3] = 1
	c, _ := ds.Hash()
	if a != b || a == c || len(a) != 64 {
		t.Errorf("hashes %s, %s, %s", a, b, c)
	}
}
