package evaluate

import "fmt"

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
	// Reasons say why, in words.
	Reasons []string `json:"reasons"`
}

// enoughItems is how many items it takes to learn a moment from their votes.
const enoughItems = 100

// supportOf judges the votes.
func supportOf(votes Votes) Support {
	var s Support
	have := map[int]int{} // items by number of votes
	voted, most := 0, 0
	for j := range votes.Len() {
		item := votes.Item(j)
		m := int(sum(item))
		if m >= 1 {
			voted++
			have[m]++
			most = max(most, m)
		}
		if m >= 2 {
			s.PairedItems++
			if item[argmax(item)] < sum(item) {
				s.MixedItems++
			}
		}
	}
	items := 0
	for m := most; m >= 1 && s.Order == 0; m-- {
		if items += have[m]; items >= enoughItems {
			s.Order = m
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
	if s.PairedItems < enoughItems {
		s.Intervals = "weak"
		if s.PairedItems == 1 {
			say("only one item has two votes or more: the spread is learned from it alone")
		} else {
			say("only %d items have two votes or more: the spread is learned from them alone", s.PairedItems)
		}
	}
	if s.MixedItems == 0 {
		s.Intervals = "weak"
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
