package evaluate

import (
	"fmt"
	"math"
	"slices"

	"credence/dataset"
)

// Raters who err together, such as language models trained on the same texts, agree more often than independent raters of the same
// quality, and intervals that count each as a vote are too narrow. Agreement alone does not show it: sharper raters agree more, too. But
// if errors are independent given the item, and a rater of the group G responds to an item's probability p with slope λ_G, the residual
// covariances of two votes on an item are products,
//
//	C_mm = λ_m² V,  C_hm = λ_h λ_m V,  C_hh = λ_h² V
//
// within the group m, between it and the others h, and among the others, so that the tetrad C_mm·C_hh − C_hm² is 0. Shared errors add to C_mm
// alone and make it positive. Responses are not quite straight lines: a judge who is sure where people are divided has votes that vary more
// than the products say. The factor of that is computed for items with normal logits and a judge with a logistic response (curvature).

// SharedErrors is the test whether a group of raters errs together.
type SharedErrors struct {
	Raters []string `json:"raters"`
	Items  int      `json:"items"` // with two votes of the group or of the others
	// Excess is C_mm − C_hm²/C_hh: the covariance of two votes of the group that the item does not explain.
	Excess Number `json:"excess"`
	PValue Number `json:"p_value"` // one-sided, that the tetrad is 0
	// Adjusted is the p-value with Holm's correction for the number of groups.
	Adjusted Number `json:"adjusted"`
	// Unknown is the reason why there is no result, or "".
	Unknown string `json:"unknown,omitempty"`

	z float64 // the tetrad in standard errors
}

// Found reports whether the group errs together, at 5% for all groups.
func (s *SharedErrors) Found() bool { return s.Adjusted < 0.05 }

// ratingsTable has the single votes of items by named raters.
type ratingsTable struct {
	items  [][]dataset.Rating
	raters []string
	d      int
}

// sharedItems is the largest number of items that tests of shared errors use, spread over the data.
const sharedItems = 4000

// newRatingsTable returns the votes of people in ds and, if judges is set, those of its judges.
func newRatingsTable(ds *dataset.Dataset, judges bool) (*ratingsTable, error) {
	x := &ratingsTable{items: make([][]dataset.Rating, ds.Len()), raters: slices.Clone(ds.Raters), d: len(ds.Classes)}
	for _, r := range ds.Ratings {
		x.items[r.Item] = append(x.items[r.Item], r)
	}
	if !judges || ds.Rows == nil || len(dataset.JudgesOf(ds.Features)) == 0 {
		return x, nil
	}
	v, _, err := NewJudgeVotes(ds)
	if err != nil {
		return nil, err
	}
	for k, label := range v.Judged {
		if label >= 0 && int(label) < x.d { // labels of judges alone are no classes
			i := k / len(v.Judges)
			x.items[i] = append(x.items[i], dataset.Rating{Item: int32(i), Rater: int32(len(ds.Raters) + k%len(v.Judges)), Class: label})
		}
	}
	x.raters = append(x.raters, v.Judges...)
	return x, nil
}

// voted returns the items with two votes, at most sharedItems.
func (x *ratingsTable) voted() []int {
	var items []int
	for i, votes := range x.items {
		if len(votes) > 1 {
			items = append(items, i)
		}
	}
	if n := len(items); n > sharedItems {
		for k := range sharedItems {
			items[k] = items[k*n/sharedItems]
		}
		items = items[:sharedItems]
	}
	return items
}

// testGroup tests whether the raters of a group, in[r], err together on the given items. means are class rates of each rater's votes.
func (x *ratingsTable) testGroup(in []bool, items []int, b Bootstrap) SharedErrors {
	s := SharedErrors{Excess: unknown, PValue: unknown, Adjusted: unknown}
	for r, member := range in {
		if member {
			s.Raters = append(s.Raters, x.raters[r])
		}
	}
	classes := x.d
	if classes == 2 {
		classes = 1 // the other is its mirror image
	}
	means := x.rates(in, items)
	t := newTally(len(items))
	const mm, hm, hh, width = 0, 2, 4, 6 // sum and number of pairs of each
	first := t.column(width * classes)
	var pairs [3]int
	for u, i := range items {
		votes := x.items[i]
		used := false
		for c := range classes {
			var sums [width]float64
			for a := range votes {
				for b := range votes[:a] {
					kind := hm
					if in[votes[a].Rater] == in[votes[b].Rater] {
						if kind = hh; in[votes[a].Rater] {
							kind = mm
						}
					}
					sums[kind] += residual(votes[a], c, means, x.d) * residual(votes[b], c, means, x.d)
					sums[kind+1]++
					if c == 0 {
						pairs[kind/2]++
						used = used || kind != hm
					}
				}
			}
			t.addAll(u, first+width*c, sums[:]...)
		}
		if used {
			s.Items++
		}
	}
	switch {
	case pairs[2] == 0:
		s.Unknown = "no item has two votes of the others: shared errors cannot be separated from the spread of the items"
	case pairs[0] == 0:
		s.Unknown = "no item has two votes of the group"
	case pairs[1] == 0:
		s.Unknown = "no item has votes of the group and of the others"
	}
	if s.Unknown != "" {
		return s
	}
	covariances := func(sums []float64, c int) (cmm, chm, chh float64) {
		k := first + width*c
		return sums[k+mm] / sums[k+mm+1], sums[k+hm] / sums[k+hm+1], sums[k+hh] / sums[k+hh+1]
	}
	sums := t.totals()
	factor := make([]float64, classes)
	for c := range factor {
		_, chm, chh := covariances(sums, c)
		factor[c] = curvature(meanOf(means, in, false, c, x.d), chh, meanOf(means, in, true, c, x.d), chm)
	}
	var tetrad Estimate
	t.estimate(&tetrad.Value, &tetrad.SE, func(sums []float64) float64 {
		total := 0.0
		for c := range classes {
			cmm, chm, chh := covariances(sums, c)
			total += cmm*chh - factor[c]*chm*chm
		}
		return total
	})
	var hhTotal, excess Estimate
	t.estimate(&hhTotal.Value, &hhTotal.SE, func(sums []float64) float64 {
		total := 0.0
		for c := range classes {
			_, _, chh := covariances(sums, c)
			total += chh
		}
		return total
	})
	t.estimate(&excess.Value, nil, func(sums []float64) float64 {
		total := 0.0
		for c := range classes {
			cmm, chm, chh := covariances(sums, c)
			total += cmm - factor[c]*chm*chm/chh
		}
		return total
	})
	t.run(b)
	if !tetrad.Value.Known() || !(float64(hhTotal.Value) > 2*float64(hhTotal.SE)) {
		s.Unknown = "the votes of the others hardly differ between items: shared errors cannot be separated from the spread of the items"
		return s
	}
	s.Excess = excess.Value
	s.PValue = 1
	if s.z = float64(tetrad.Value) / float64(tetrad.SE); tetrad.SE > 0 {
		s.PValue = Number(math.Erfc(s.z/math.Sqrt2) / 2)
	}
	s.Adjusted = s.PValue
	return s
}

// meanOf returns the mean over raters in or outside the group of the rates of class c.
func meanOf(means []float64, in []bool, member bool, c, d int) float64 {
	total, n := 0.0, 0.0
	for r := range in {
		if in[r] == member && sum(means[r*d:(r+1)*d]) > 0 {
			total += means[r*d+c]
			n++
		}
	}
	return total / max(1, n)
}

// rates returns the class rates of the votes of each rater, [raters × d]. Those outside the group have the rates of all of them together,
// since people may have few votes.
func (x *ratingsTable) rates(in []bool, items []int) []float64 {
	d := x.d
	own, others := make([]float64, len(in)*d), make([]float64, d)
	for _, i := range items {
		for _, v := range x.items[i] {
			if own[int(v.Rater)*d+int(v.Class)]++; !in[v.Rater] {
				others[v.Class]++
			}
		}
	}
	for r := range in {
		row := own[r*d : (r+1)*d]
		if !in[r] {
			copy(row, others)
		}
		if total := sum(row); total > 0 {
			for c := range row {
				row[c] /= total
			}
		}
	}
	return own
}

// residual returns the indicator of class c less the rate of the rater.
func residual(v dataset.Rating, c int, means []float64, d int) float64 {
	e := -means[int(v.Rater)*d+c]
	if int(v.Class) == c {
		e++
	}
	return e
}

// TestSharedErrors tests groups of raters of ds, by name: their votes may be votes or features of judges. The p-values are corrected for the
// number of groups.
func TestSharedErrors(ds *dataset.Dataset, groups [][]string, b Bootstrap) ([]SharedErrors, error) {
	x, err := newRatingsTable(ds, true)
	if err != nil {
		return nil, err
	}
	items := x.voted()
	list := make([]SharedErrors, len(groups))
	for g, names := range groups {
		in := make([]bool, len(x.raters))
		for _, name := range names {
			r := slices.Index(x.raters, name)
			if r < 0 {
				return nil, fmt.Errorf("group %d: expected a rater among %q, found %q", g+1, x.raters, name)
			}
			in[r] = true
		}
		list[g] = x.testGroup(in, items, b)
	}
	adjust(list)
	return list, nil
}

// adjust sets the p-values with Holm's correction.
func adjust(list []SharedErrors) {
	var p []float64
	var at []int
	for g := range list {
		if list[g].PValue.Known() {
			p, at = append(p, float64(list[g].PValue)), append(at, g)
		}
	}
	for k, q := range holm(p) {
		list[at[k]].Adjusted = Number(math.Min(1, q))
	}
}
