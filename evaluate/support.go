package evaluate

import (
	"fmt"
	"slices"
)

// Support says whether votes can support intervals. The votes on an item
// identify the moments of the distribution of its probabilities up to their
// number: with one vote an item, no more than the mean.
type Support struct {
	// Intervals is "no", "weak" or "yes".
	Intervals string `json:"intervals"`
	// PairedItems are those with two or more votes.
	PairedItems int `json:"paired_items"`
	// MixedItems are those whose votes differ.
	MixedItems int `json:"mixed_items"`
	// Order is the highest number of votes that at least a hundred items have:
	// up to which moments can be learned from the votes.
	Order int `json:"order"`
	// RatioSE is the standard error that is predicted for the dispersion ratio R of
	// a model that is trained on these votes, if features explain half of the spread
	// between items; see [Design]. Above 0.25 intervals are weak, above 0.5 there is
	// no support.
	RatioSE Number `json:"ratio_se"`
	// Reasons say why, in words.
	Reasons []string `json:"reasons"`
}

// enoughItems is how many items it takes to learn a moment from their votes.
const enoughItems = 100

// supportOf judges the votes; by predicts what they tell, nil if nothing does.
func supportOf(votes Votes, by *designer) Support {
	s := Support{RatioSE: unknown}
	have, items := newHistogram(votes.Len(), votes.Total), 0.0
	voted := votes.Len() - int(have.times[0])
	for _, m := range slices.Backward(have.values) {
		if items += have.times[m]; items >= enoughItems && s.Order == 0 {
			s.Order = int(m)
		}
		if m >= 2 {
			s.PairedItems = int(items)
		}
	}
	for j := range votes.Len() {
		if item := votes.Item(j); item[argmax(item)] < sum(item) {
			s.MixedItems++
		}
	}
	say := func(format string, args ...any) { s.Reasons = append(s.Reasons, fmt.Sprintf(format, args...)) }
	switch {
	case voted == 0:
		s.Intervals = "no"
		say("there are no votes")
		return s
	case s.PairedItems == 0:
		s.Intervals = "no"
		say("no item has two votes: one vote an item tells the mean probability and nothing of its spread")
		return s
	}
	s.Intervals = "yes"
	s.judgeRatio(votes, by, say)
	if s.PairedItems < enoughItems {
		s.weaken()
		if s.PairedItems == 1 {
			say("only one item has two votes or more: the spread is learned from it alone")
		} else {
			say("only %d items have two votes or more: the spread is learned from them alone", s.PairedItems)
		}
	}
	if s.MixedItems == 0 {
		s.weaken()
		say("votes never differ on an item: intervals would rest on the shape of the distribution assumed")
	}
	if 2*s.PairedItems < voted {
		say("%d of %d items have a single vote: the spread is learned from the others, which must be like them", voted-s.PairedItems, voted)
	}
	if s.Order >= 2 {
		say("items with %d votes or more are enough to learn %d moments of the distribution; the rest of its shape is assumed", s.Order, s.Order)
	}
	return s
}

// weaken makes "yes" into "weak".
func (s *Support) weaken() {
	if s.Intervals == "yes" {
		s.Intervals = "weak"
	}
}

// noSpread is a correlation between votes on an item below which they agree as if all
// items had the same probabilities.
const noSpread = 0.02

// judgeRatio judges by how well the spread of the class probabilities would be known.
func (s *Support) judgeRatio(votes Votes, by *designer, say func(format string, args ...any)) {
	if by == nil {
		return
	}
	se := by.ratioSE(votes)
	s.RatioSE, s.Intervals = Number(se), verdict(se)
	switch {
	case s.Intervals == "yes":
	case by.correlation() < noSpread:
		say("votes on an item agree hardly more than votes on different items: " +
			"there is no spread between items to learn")
	case se > 1:
		say("so few votes do not tell the variance that intervals rest on: " +
			"more items, or more votes per item, help")
	default:
		say("the variance that intervals rest on would be known to about ±%.0f%%: "+
			"more items, or more votes per item, help", 100*se)
	}
}
