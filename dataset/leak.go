package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A feature that holds the answer (a final diagnosis, a further rater, the mean of the
// votes) makes a model that looks perfect and is of no use on new items, where the
// answer is not known yet. Such a feature is told from a good one by how well it knows
// the majority of votes, which is random itself.

const (
	// leakItems is how many items are looked at; more change nothing.
	leakItems = 2000
	// leakFeatures is how many features are looked at.
	leakFeatures = 2000
	// leastLeakItems is how many items say something.
	leastLeakItems = 20
	// leakShare is the share of majority votes that a feature alone should not know.
	leakShare = 0.97
	// sameShare is the share beyond which levels called like the classes are their
	// votes, even if other columns may be called so too.
	sameShare = 0.75
)

// usualAnswers are classes that columns of other things have for levels too.
var usualAnswers = []string{"yes", "no", "y", "n", "true", "false", "t", "f", "0", "1", "2", "3", "4", "5", "positive", "negative", "pos", "neg",
	"+", "-", "low", "medium", "moderate", "high", "normal", "abnormal", "present", "absent", "none", "mild", "severe", "good", "bad"}

// leaks warns of features that hold the answer.
func (ds *Dataset) leaks() []error {
	items, majority := ds.majorities()
	if len(items) < leastLeakItems || len(ds.Parts) > leakFeatures ||
		slices.ContainsFunc(ds.Parts, func(p Part) bool { return p.Kind == Tensor && len(p.Shape) > 1 }) {
		return nil
	}
	values := make([][]float32, len(ds.Parts))
	row := make([]float32, ds.Rows.Width())
	for _, i := range items {
		if err := ds.Rows.ReadRow(i, row); err != nil {
			return nil // whoever needs the row reports it
		}
		at := 0
		for k, p := range ds.Parts {
			if p.Kind != Tensor {
				values[k] = append(values[k], row[at])
			}
			at += p.Width()
		}
	}
	base := largestShare(majority, len(ds.Classes))
	var list []error
	warn := func(k int, format string, args ...any) {
		name := ds.Parts[k].Name
		list = append(list, advised(fmt.Sprintf("column %q ", name)+fmt.Sprintf(format, args...), name, SetIgnore))
	}
	for k, p := range ds.Parts {
		if p.Kind == Tensor {
			continue
		}
		same, named := ds.sameAsClasses(p, values[k], majority)
		known := knows(values[k], majority, p.Kind == Categorical)
		switch {
		case named && (same >= sameShare || !usual(ds.Classes)):
			warn(k, "has the classes as its levels, and is the majority of votes for %.0f%% of the items: does it hold the answer, or a rater's votes?", 100*same)
		case known >= leakShare && base <= 0.9:
			warn(k, "alone tells the majority of votes for %.4g%% of the items, of which %.0f%% have the same: does it hold the answer?", math.Floor(1000*known)/10, 100*base)
		}
	}
	return list
}

// majorities returns items whose votes have a majority, evenly over the data, and the
// class that has it.
func (ds *Dataset) majorities() (items []int, majority []int) {
	step := max(1, ds.Len()/leakItems)
	for i := 0; i < ds.Len(); i += step {
		counts := ds.CountsOf(i)
		most := slices.Max(counts)
		top := slices.Index(counts, most)
		if most > 0 && !slices.Contains(counts[top+1:], most) {
			items, majority = append(items, i), append(majority, top)
		}
	}
	return items, majority
}

// largestShare returns the share of the most common class.
func largestShare(of []int, classes int) float64 {
	count := make([]int, classes)
	for _, c := range of {
		count[c]++
	}
	return float64(slices.Max(count)) / float64(len(of))
}

// sameAsClasses reports whether at least two of the levels of a feature, and nothing
// else, are called like classes, and the share of items that are at the level of their
// majority.
func (ds *Dataset) sameAsClasses(p Part, values []float32, majority []int) (share float64, named bool) {
	if p.Kind != Categorical || len(p.Levels) < 2 {
		return 0, false
	}
	class := make([]int, len(p.Levels))
	for i, l := range p.Levels {
		class[i] = slices.IndexFunc(ds.Classes, func(c string) bool { return strings.EqualFold(c, l) })
		if class[i] < 0 {
			return 0, false
		}
	}
	same, n := 0, 0
	for i, x := range values {
		if x != x || x < 0 {
			continue
		}
		n++
		if class[int(x)] == majority[i] {
			same++
		}
	}
	return float64(same) / float64(max(1, n)), true
}

// usual reports whether columns of other things may have such classes too.
func usual(classes []string) bool {
	return !slices.ContainsFunc(classes, func(c string) bool { return !slices.Contains(usualAnswers, strings.ToLower(c)) })
}

// knows returns the share of items whose class the others with the same value, or of
// a number with the nearest ones, have for the most part: 0 if most values are missing.
func knows(values []float32, class []int, categorical bool) float64 {
	var order []int
	for i, x := range values {
		if x == x {
			order = append(order, i)
		}
	}
	if 2*len(order) < len(values) {
		return 0
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	known, distinct := 0, 0
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		known += knownAmong(order[from:to], class)
		distinct++
		from = to
	}
	if !categorical && 2*distinct > len(order) {
		// Values of their own: those next to each item answer for it.
		known = 0
		for k, i := range order {
			below, above := order[max(0, k-1)], order[min(len(order)-1, k+1)]
			if (below == i || class[below] == class[i]) && (above == i || class[above] == class[i]) {
				known++
			}
		}
	}
	return float64(known) / float64(len(values))
}

// knownAmong returns how many of some items have the class that most others among
// them have.
func knownAmong(items []int, class []int) int {
	count := map[int]int{}
	for _, i := range items {
		count[class[i]]++
	}
	most, second := 0, 0
	for _, n := range count {
		second = max(second, min(n, most))
		most = max(most, n)
	}
	if most-1 > second {
		return most
	}
	return 0
}
