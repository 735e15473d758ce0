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
	parts := distribute(ds, all, []float64{1 - v - t, v, t}, opts.Seed, "split")
	s := &Split{parts[0], parts[1], parts[2]}
	switch {
	case len(s.Train) == 0, v > 0 && len(s.Validation) == 0, t > 0 && len(s.Test) == 0:
		return nil, fmt.Errorf("%s in %s: too few to divide", words.Plural(ds.Len(), "item"), words.Plural(groupCount(ds, all), "group"))
	}
	return s, nil
}

// Folds divides the given items of ds into k folds of nearly equal size, drawn
// as in NewSplit, or into one per group if there are fewer than k groups. There
// must be at least two.
func Folds(ds *Dataset, rows []int, k int, seed uint64) ([][]int, error) {
	k = max(2, min(k, groupCount(ds, rows)))
	shares := make([]float64, k)
	for i := range shares {
		shares[i] = 1 / float64(k)
	}
	folds := distribute(ds, rows, shares, seed, "folds")
	for _, f := range folds {
		if len(f) == 0 {
			return nil, fmt.Errorf("%s in %s: too few for %d folds", words.Plural(len(rows), "item"), words.Plural(groupCount(ds, rows), "group"), k)
		}
	}
	return folds, nil
}

// HoldOut draws a share of the given items of ds, as in NewSplit. Neither the result nor the
// rest is empty.
func HoldOut(ds *Dataset, rows []int, share float64, seed uint64) ([]int, error) {
	parts := distribute(ds, rows, []float64{share, 1 - share}, seed, "folds")
	if len(parts[0]) == 0 || len(parts[1]) == 0 {
		return nil, fmt.Errorf("%s in %s: too few to hold out a share of %.3g", words.Plural(len(rows), "item"), words.Plural(groupCount(ds, rows), "group"), share)
	}
	return parts[0], nil
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

// groupCount returns the number of units of the given items.
func groupCount(ds *Dataset, rows []int) int {
	if ds.Groups == nil {
		return len(rows)
	}
	seen := map[string]bool{}
	for _, i := range rows {
		seen[ds.Groups[i]] = true
	}
	return len(seen)
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

// byStratum returns the units sorted by stratum; the order within a stratum is kept.
func byStratum(list []unit) []unit {
	var count []int
	for _, u := range list {
		for int(u.stratum) >= len(count) {
			count = append(count, 0)
		}
		count[u.stratum]++
	}
	next := 0
	for s, n := range count {
		count[s], next = next, next+n
	}
	sorted := make([]unit, len(list))
	for _, u := range list {
		sorted[count[u.stratum]] = u
		count[u.stratum]++
	}
	return sorted
}

// distribute distributes the units of the given items over subsets with the given shares.
// It assigns units stratum by stratum, shuffled within, each to the subset that is
// furthest below its share of the items assigned so far.
func distribute(ds *Dataset, rows []int, shares []float64, seed uint64, purpose string) [][]int {
	all := unitsOf(ds, rows)
	r := rand.New(rng.New(seed, purpose))
	r.Shuffle(len(all.list), func(i, j int) { all.list[i], all.list[j] = all.list[j], all.list[i] })
	parts := make([][]int, len(shares))
	dealt := 0
	for _, u := range byStratum(all.list) {
		dealt += int(u.end - u.first)
		best, most := 0, math.Inf(-1)
		for p, share := range shares {
			if lack := share*float64(dealt) - float64(len(parts[p])); share > 0 && lack > most {
				best, most = p, lack
			}
		}
		parts[best] = append(parts[best], all.items[u.first:u.end]...)
	}
	for _, p := range parts {
		slices.Sort(p)
	}
	return parts
}

// givenSplit returns the split given by the column with the values train, validation or test.
func givenSplit(ds *Dataset) (*Split, error) {
	s := &Split{}
	for i, g := range ds.Given {
		switch strings.ToLower(g) {
		case "train", "training":
			s.Train = append(s.Train, i)
		case "validation", "valid", "val", "dev":
			s.Validation = append(s.Validation, i)
		case "test", "testing":
			s.Test = append(s.Test, i)
		case "":
			// The item is in none of the subsets.
		default:
			return nil, fmt.Errorf("item %q: split %q is not one of [train validation test]", ds.Items[i], g)
		}
	}
	if len(s.Train) == 0 {
		return nil, errors.New("the given split has no item to train on")
	}
	if ds.Groups != nil {
		of := map[string]string{}
		for i, g := range ds.Groups {
			part := strings.ToLower(ds.Given[i])
			if was, ok := of[g]; ok && was != part && part != "" {
				return nil, fmt.Errorf("group %q is in two parts of the given split, %s and %s", g, was, part)
			}
			if part != "" {
				of[g] = part
			}
		}
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
	for _, part := range []struct {
		name string
		rows []int
	}{{"validation", s.Validation}, {"test", s.Test}} {
		only := make([]float64, len(ds.Classes))
		votes := 0.0
		for _, i := range part.rows {
			for c, m := range ds.CountsOf(i) {
				votes += float64(m)
				if !seen[c] {
					only[c] += float64(m)
				}
			}
		}
		for c, m := range only {
			if m > 0 {
				warnings = append(warnings, fmt.Errorf("class %q has %s votes in the %s part and none in training", ds.Classes[c], voteString(m), part.name))
			}
		}
		if len(part.rows) > 0 && votes < 50 {
			warnings = append(warnings, fmt.Errorf("the %s part has %s votes: what is measured on it is rough", part.name, voteString(votes)))
		}
	}
	return warnings
}
