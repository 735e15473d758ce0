package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"credence/internal/rng"
	"credence/internal/words"
)

// Split divides the items of a data set; the lists hold indices of items, in
// ascending order.
type Split struct {
	Train, Validation, Test []int
}

// SplitOptions specifies how items are divided.
type SplitOptions struct {
	// Validation is the share held out from training for early stopping; 0
	// means 0.2, negative none.
	Validation float64
	// Test is the share kept apart for evaluation; 0 means none.
	Test float64
	Seed uint64
}

// NewSplit divides the items of ds. It follows a split given in the data.
// Otherwise items are drawn at random, in whole groups if there are groups, and
// stratified, so that the subsets are similar in their majority classes and in the
// number of votes per item.
func NewSplit(ds *Dataset, opts SplitOptions) (*Split, error) {
	if ds.Given != nil {
		return givenSplit(ds)
	}
	opts.Validation = cmp.Or(opts.Validation, 0.2)
	v, t := max(0, opts.Validation), opts.Test
	if !(t >= 0 && v+t < 1) {
		return nil, fmt.Errorf("shares of %v for validation and %v for the test leave nothing to train on", v, t)
	}
	all := make([]int, ds.Len())
	for i := range all {
		all[i] = i
	}
	subsets, err := unitsOf(ds, all).distribute([]float64{1 - v - t, v, t}, opts.Seed, "split", "to divide")
	if err != nil {
		return nil, err
	}
	return &Split{subsets[0], subsets[1], subsets[2]}, nil
}

// Folds divides the given items of ds into k folds of nearly equal size, drawn
// as in NewSplit, or into one per group if there are fewer than k groups. There
// must be at least two.
func Folds(ds *Dataset, rows []int, k int, seed uint64) ([][]int, error) {
	u := unitsOf(ds, rows)
	k = max(2, min(k, len(u.list)))
	return u.distribute(slices.Repeat([]float64{1 / float64(k)}, k), seed, "folds", fmt.Sprintf("for %d folds", k))
}

// HoldOut draws a share of the given items of ds, as in NewSplit. Neither the result nor the
// rest is empty.
func HoldOut(ds *Dataset, rows []int, share float64, seed uint64) ([]int, error) {
	if !(share > 0 && share < 1) {
		return nil, fmt.Errorf("expected a share between 0 and 1 to hold out, found %v", share)
	}
	subsets, err := unitsOf(ds, rows).distribute([]float64{share, 1 - share}, seed, "folds", fmt.Sprintf("to hold out a share of %.3g", share))
	if err != nil {
		return nil, err
	}
	return subsets[0], nil
}

// units are the items or groups that a split keeps together, in order of first appearance.
type units struct {
	items []int // of all units, consecutively
	list  []unit
}

// unit is the range [first, end) of units.items.
type unit struct {
	first, end int32
	stratum    int32
}

// unitsOf returns the units of the given items.
func unitsOf(ds *Dataset, rows []int) units {
	u := units{items: rows}
	if ds.Groups == nil {
		u.list = make([]unit, len(rows))
		for k := range u.list {
			u.list[k] = unit{first: int32(k), end: int32(k + 1)}
		}
	} else {
		u.group(ds, rows)
	}
	sums := make([]float64, len(ds.Classes))
	for k := range u.list {
		u.list[k].stratum = stratum(ds, u.items[u.list[k].first:u.list[k].end], sums)
	}
	return u
}

// group makes one unit of the items of each group.
func (u *units) group(ds *Dataset, rows []int) {
	at := map[string]int{}
	var groups [][]int
	for _, i := range rows {
		g, ok := at[ds.Groups[i]]
		if !ok {
			g = len(groups)
			at[ds.Groups[i]] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	u.items = make([]int, 0, len(rows))
	for _, items := range groups {
		first := len(u.items)
		u.items = append(u.items, items...)
		u.list = append(u.list, unit{first: int32(first), end: int32(len(u.items))})
	}
}

// stratum returns a number for the majority class and the votes per item, in steps of a factor
// of two. sums is scratch memory, [d].
func stratum(ds *Dataset, items []int, sums []float64) int32 {
	clear(sums)
	total := 0.0
	for _, i := range items {
		for c, s := range ds.CountsOf(i) {
			sums[c] += float64(s)
			total += float64(s)
		}
	}
	if total == 0 {
		return 0
	}
	top := slices.Index(sums, slices.Max(sums))
	step := int(math.Ceil(math.Log2(max(1, total/float64(len(items))))))
	return int32(1 + top*64 + min(step, 63))
}

// distribute distributes the units over subsets with the given shares and returns the items of each,
// in ascending order.
// It assigns units stratum by stratum, shuffled within, each to the subset that is
// furthest below its share of the items assigned so far. If a subset with a positive share
// stays empty, it returns an error that ends in goal.
func (u units) distribute(shares []float64, seed uint64, purpose, goal string) ([][]int, error) {
	r := rand.New(rng.New(seed, purpose))
	r.Shuffle(len(u.list), func(i, j int) { u.list[i], u.list[j] = u.list[j], u.list[i] })
	var strata [][]unit
	for _, one := range u.list {
		for int(one.stratum) >= len(strata) {
			strata = append(strata, nil)
		}
		strata[one.stratum] = append(strata[one.stratum], one)
	}
	subsets := make([][]int, len(shares))
	dealt := 0
	for _, one := range slices.Concat(strata...) {
		dealt += int(one.end - one.first)
		best, most := 0, math.Inf(-1)
		for k, share := range shares {
			if lack := share*float64(dealt) - float64(len(subsets[k])); share > 0 && lack > most {
				best, most = k, lack
			}
		}
		subsets[best] = append(subsets[best], u.items[one.first:one.end]...)
	}
	for k, items := range subsets {
		if len(items) == 0 && shares[k] > 0 {
			return nil, fmt.Errorf("%s in %s: too few %s", words.Plural(len(u.items), "item"), words.Plural(len(u.list), "group"), goal)
		}
		slices.Sort(items)
	}
	return subsets, nil
}

// givenSplit returns the split given by the column with the values train, validation or test.
func givenSplit(ds *Dataset) (*Split, error) {
	s := &Split{}
	subsets := map[string]*[]int{"train": &s.Train, "training": &s.Train, "validation": &s.Validation, "valid": &s.Validation,
		"val": &s.Validation, "dev": &s.Validation, "test": &s.Test, "testing": &s.Test}
	for i, g := range ds.Given {
		if subset := subsets[strings.ToLower(g)]; subset != nil {
			*subset = append(*subset, i)
		} else if g != "" { // an item without a value is in none of the subsets
			return nil, fmt.Errorf("item %q: expected split train, validation or test, found %q", ds.Items[i], g)
		}
	}
	if len(s.Train) == 0 {
		return nil, errors.New("the given split has no training items")
	}
	of := map[string]string{}
	for i, g := range ds.Groups {
		subset := strings.ToLower(ds.Given[i])
		if was := of[g]; was != "" && subset != "" && was != subset {
			return nil, fmt.Errorf("group %q is in two subsets of the given split: %s and %s", g, was, subset)
		}
		of[g] = cmp.Or(subset, of[g])
	}
	return s, nil
}

// Check returns warnings about classes without votes in the training items, and about
// validation or test items with few votes.
func (s *Split) Check(ds *Dataset) []error {
	var warnings []error
	seen := make([]bool, len(ds.Classes))
	for _, i := range s.Train {
		for c, m := range ds.CountsOf(i) {
			seen[c] = seen[c] || m > 0
		}
	}
	for _, subset := range []struct {
		name  string
		items []int
	}{{"validation", s.Validation}, {"test", s.Test}} {
		only := make([]float64, len(ds.Classes))
		votes := 0.0
		for _, i := range subset.items {
			for c, m := range ds.CountsOf(i) {
				votes += float64(m)
				if !seen[c] {
					only[c] += float64(m)
				}
			}
		}
		for c, m := range only {
			if m > 0 {
				warnings = append(warnings, fmt.Errorf("class %q has %s votes in the %s items and none in training", ds.Classes[c], voteString(m), subset.name))
			}
		}
		if len(subset.items) > 0 && votes < 50 {
			warnings = append(warnings, fmt.Errorf("the %s items have only %s votes: metrics computed from them are imprecise", subset.name, voteString(votes)))
		}
	}
	return warnings
}
