package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"credence/dataset"
	"credence/internal/kernel"
)

// CheckOptions configures [Check]. The zero value is the default.
type CheckOptions struct {
	// Ordered means that classes are grades: their order is meaningful although
	// their names are not numbers.
	Ordered   bool
	Bootstrap Bootstrap
	// Items and Votes are the numbers of items, and of votes per item, of
	// CheckResult.Designs. The default is the current number of items, twice and four
	// times as many, with the current number of votes and 2, 3, 5 and 10.
	Items, Votes []int
}

// ErrFractions is returned if counts are fractions of a vote.
var ErrFractions = errors.New("expected whole numbers of votes, found fractions: agreement is between whole votes")

// CheckResult is the result of [Check]: what can be learned from votes alone.
type CheckResult struct {
	Items      int    `json:"items"`
	VotedItems int    `json:"voted_items"`
	Votes      Number `json:"votes"`
	// VotesPerItem is the number of items by number of votes.
	VotesPerItem []VotesPerItem `json:"votes_per_item"`
	Classes      []ClassUse     `json:"classes"`

	// PairAgreement is the share of agreeing pairs among the pairs of votes on an item.
	PairAgreement IntervalEstimate `json:"pair_agreement"`
	// Krippendorff's alpha is 1 minus the observed over the expected disagreement:
	// 1 if votes on an item always agree, 0 if they agree as by chance. The ordinal
	// and interval versions are for three or more classes that are ordered, or numbers.
	AlphaNominal  IntervalEstimate `json:"alpha_nominal"`
	AlphaOrdinal  IntervalEstimate `json:"alpha_ordinal"`
	AlphaInterval IntervalEstimate `json:"alpha_interval"`
	FleissKappa   IntervalEstimate `json:"fleiss_kappa"`

	// Confusions are the pairs of classes between which votes on an item are split,
	// most frequent first.
	Confusions []Confusion `json:"confusions"`
	Raters     []Rater     `json:"raters"`
	RaterGraph *RaterGraph `json:"rater_graph"`
	Support    Support     `json:"support"`
	// Designs are predictions for other numbers of items and votes, by votes and
	// then items. It is empty if no item has two votes.
	Designs  []Design `json:"designs"`
	Warnings Messages `json:"warnings"`
	// Contested are the items with the most disagreement between votes.
	Contested []ContestedItem `json:"contested"`
}

// VotesPerItem is the number of items that have a given number of votes.
type VotesPerItem struct {
	Votes Number `json:"votes"`
	Items int    `json:"items"`
}

// ClassUse is the number and share of votes for a class.
type ClassUse struct {
	Class string `json:"class"`
	Votes Number `json:"votes"`
	Share Number `json:"share"`
	// Agreement is the probability that another vote on the same item is also for
	// the class, given one that is.
	Agreement IntervalEstimate `json:"agreement"`
}

// Confusion is a pair of classes that votes on the same item were split between.
type Confusion struct {
	First  string `json:"first"`
	Second string `json:"second"`
	// Share is the pair's share of all disagreement, Chance the share expected if
	// votes were assigned at random.
	Share  Number `json:"share"`
	Chance Number `json:"chance"`
}

// ContestedItem is an item with votes that disagree.
type ContestedItem struct {
	Item      string    `json:"item"`
	Agreement Number    `json:"agreement"` // share of pairs of votes that agree
	Votes     []float64 `json:"votes"`
}

// listed is the maximum length of the lists of confusions and contested items.
const listed = 10

// Check examines the votes of ds before any training: how far raters agree,
// where they do not, which raters differ, and whether the votes can support
// intervals. Standard errors are bootstrap errors over items, or over the groups of ds.
func Check(ds *dataset.Dataset, o CheckOptions) (*CheckResult, error) {
	if err := ds.Check(); err != nil {
		return nil, err
	}
	votes := NewVotes(ds)
	if err := votes.check(); err != nil {
		return nil, err
	}
	if !whole(votes.Counts) {
		return nil, ErrFractions
	}
	unit, units, err := unitsOf(votes.Len(), ds.Groups)
	if err != nil {
		return nil, err
	}
	// Empty lists are [] in JSON, not null.
	r := &CheckResult{Items: votes.Len(), Votes: Number(sum(votes.Counts)), Warnings: Messages{},
		Confusions: []Confusion{}, Raters: []Rater{}, Contested: []ContestedItem{}}
	r.count(votes, ds.Classes)
	r.agree(votes, unit, units, ds.Classes, o)
	r.confuse(votes, ds.Classes)
	r.contest(votes, ds.Items)
	// Ratings are incomplete if a row of the data stands for several votes.
	if float64(len(ds.Ratings)) == sum(votes.Counts) && len(ds.Ratings) > 0 {
		if err := checkRatings(ds.Ratings, votes); err != nil {
			return nil, err
		}
		r.Raters = append(r.Raters, compareRaters(ds.Ratings, votes, ds.Raters)...)
	}
	by := newDesigner(votes)
	r.Support = supportOf(votes, by)
	r.RaterGraph = newRaterGraph(ds, votes, by)
	items, each, err := r.planned(o)
	if err != nil {
		return nil, err
	}
	r.Designs = by.designs(items, each)
	r.advise(units)
	return r, nil
}

// agree computes the agreement between votes, with standard errors.
func (r *CheckResult) agree(votes Votes, unit []int, units int, classes []string, o CheckOptions) {
	d := votes.Classes
	t := newTally(units)
	pairs, k := t.column(d*d), t.column(kappaColumns+d)
	for j := range votes.Len() {
		addCoincidences(votes.Item(j), func(c, l int, v float64) { t.add(unit[j], pairs+c*d+l, v) })
		addKappa(votes.Item(j), func(column int, v float64) { t.add(unit[j], k+column, v) })
	}
	values := classValues(classes)
	for _, a := range []struct {
		into  *IntervalEstimate
		scale scale
		known bool
	}{
		{&r.AlphaNominal, nominal, true},
		{&r.AlphaOrdinal, ordinal, d > 2 && (values != nil || o.Ordered)},
		{&r.AlphaInterval, byValue, d > 2 && values != nil},
	} {
		*a.into = unknownInterval
		if a.known {
			t.interval(a.into, func(s []float64) float64 { return alpha(s[pairs:pairs+d*d], d, a.scale, values) })
		}
	}
	t.interval(&r.FleissKappa, func(s []float64) float64 { return kappa(s[k : k+kappaColumns+d]) })
	t.interval(&r.PairAgreement, func(s []float64) float64 { return s[k+kappaAgreement] / s[k+kappaPairs] })
	for c := range r.Classes {
		t.interval(&r.Classes[c].Agreement, func(s []float64) float64 {
			row := s[pairs+c*d : pairs+(c+1)*d]
			return row[c] / sum(row)
		})
	}
	t.run(o.Bootstrap)
}

// classValues returns the values of the classes if all are numbers, otherwise nil.
func classValues(classes []string) []float64 {
	values := make([]float64, len(classes))
	for i, c := range classes {
		x, err := strconv.ParseFloat(c, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		values[i] = x
	}
	return values
}

// count fills in the numbers of votes per item and per class.
func (r *CheckResult) count(votes Votes, names []string) {
	items := newHistogram(votes.Len(), votes.Total)
	r.VotedItems = votes.Len() - int(items.times[0])
	for _, m := range items.values {
		r.VotesPerItem = append(r.VotesPerItem, VotesPerItem{Number(m), int(items.times[m])})
	}
	perClass := make([]float64, votes.Classes)
	for j := range votes.Len() {
		kernel.Axpy64(1, votes.Item(j), perClass)
	}
	for c, v := range perClass {
		r.Classes = append(r.Classes, ClassUse{Class: names[c], Votes: Number(v), Share: Number(v) / r.Votes})
	}
}

// confuse fills in the pairs of classes between which votes are split.
func (r *CheckResult) confuse(votes Votes, names []string) {
	d := votes.Classes
	pairs := make([]float64, d*d)
	for j := range votes.Len() {
		addCoincidences(votes.Item(j), func(c, k int, v float64) { pairs[c*d+k] += v })
	}
	observed, expected := Number(0), Number(0)
	n := marginals(pairs, d)
	for c := range d {
		for k := c + 1; k < d; k++ {
			x := Confusion{names[c], names[k], Number(pairs[c*d+k]), Number(n[c] * n[k])}
			observed += x.Share
			expected += x.Chance
			if x.Share > 0 {
				r.Confusions = append(r.Confusions, x)
			}
		}
	}
	for i := range r.Confusions {
		r.Confusions[i].Share /= observed
		r.Confusions[i].Chance /= expected
	}
	slices.SortStableFunc(r.Confusions, func(a, b Confusion) int { return cmp.Compare(b.Share, a.Share) })
	r.Confusions = r.Confusions[:min(listed, len(r.Confusions))]
}

// contest fills in the items with the most disagreement, those with more votes
// first among equals.
func (r *CheckResult) contest(votes Votes, names []string) {
	for j := range votes.Len() {
		item := votes.Item(j)
		if sum(item) < 2 {
			continue
		}
		if a := PairAgreement(item); a < 1 {
			r.Contested = append(r.Contested, ContestedItem{names[j], Number(a), slices.Clone(item)})
		}
	}
	slices.SortStableFunc(r.Contested, func(a, b ContestedItem) int {
		return cmp.Or(cmp.Compare(a.Agreement, b.Agreement), cmp.Compare(sum(b.Votes), sum(a.Votes)))
	})
	r.Contested = r.Contested[:min(listed, len(r.Contested))]
}

// advise adds the warnings.
func (r *CheckResult) advise(units int) {
	warn := r.Warnings.add
	if r.Support.Intervals != "yes" {
		r.Warnings = append(r.Warnings, r.Support.Reasons...)
	}
	if units < 2 {
		warn("fewer than two independent items or groups: there are no standard errors")
	}
	if r.Support.PairedItems > 0 && !r.AlphaNominal.Value.Known() {
		warn("all votes are for one class: agreement beyond chance is not defined")
	}
	if r.AlphaNominal.Lo.Known() && r.AlphaNominal.Lo <= 0 {
		warn("the interval of alpha includes 0, so votes on an item may agree by chance alone (alpha %.2f, 95%% interval %.2f to %.2f)",
			r.AlphaNominal.Value, r.AlphaNominal.Lo, r.AlphaNominal.Hi)
	}
	differ := 0
	for _, x := range r.Raters {
		if x.Differs {
			differ++
		}
	}
	if differ > 0 {
		warn("%d of %d raters vote differently from the others: votes are assumed to be exchangeable, so intervals describe a rater picked at random and may be too narrow",
			differ, len(r.Raters))
	}
}

// checkRatings returns an error unless the ratings add up to the votes.
func checkRatings(ratings []dataset.Rating, votes Votes) error {
	got := make([]float64, len(votes.Counts))
	for _, r := range ratings {
		got[int(r.Item)*votes.Classes+int(r.Class)]++
	}
	for k, c := range got {
		if c != votes.Counts[k] {
			return fmt.Errorf("item %d, class %d: expected ratings for %v votes, found %v", k/votes.Classes, k%votes.Classes, votes.Counts[k], c)
		}
	}
	return nil
}
