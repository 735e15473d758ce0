package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"credence/head"
	"credence/mixture"
)

// Cost is what a vote of a rater costs, in any unit.
type Cost struct {
	Rater int // as the model numbers them
	Cost  float64
}

// PlannedVote is a vote that is to be asked for: of whom on what, what it costs and by how much the
// variance of the class probabilities, summed over classes, is expected to fall, after the votes
// asked for before it.
type PlannedVote struct {
	Item, Rater int
	Cost, Gain  float64
}

// PlanOptions says what may be asked for.
type PlanOptions struct {
	Budget float64 // in the unit of costs
	Most   int     // further votes on one item at most
	// Voted, if not nil, reports whether a rater has voted on an item already. Nobody is asked
	// twice.
	Voted func(item, rater int) bool
}

// PlanVotes spends a budget on votes: it asks, over and over, for the vote that is expected to take most
// off the variance per unit of cost, of those that the budget still allows. All votes are cast in
// one round, so what a second rater on an item adds is the mean over what the first may say. The
// order is that in which votes were chosen.
func PlanVotes(laws []*mixture.Dirichlet, crowd *head.RaterModel, costs []Cost, o PlanOptions) ([]PlannedVote, error) {
	if err := checkAsk(laws, crowd, costs, o); err != nil {
		return nil, err
	}
	items := make([]askedItem, len(laws))
	errs := make([]error, len(laws))
	forItems(context.Background(), len(laws), func(j int) {
		items[j] = askedItem{outcomes: []askedOutcome{{law: laws[j], chance: 1}}, asked: make([]bool, len(costs))}
		for k, c := range costs {
			items[j].asked[k] = o.Voted != nil && o.Voted(j, c.Rater)
		}
		errs[j] = items[j].value(crowd, costs, o.Most)
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var list []PlannedVote
	left := o.Budget * (1 + 1e-9) // sums of costs are rounded
	for j := range items {
		items[j].choose(costs, left)
	}
	for {
		best := -1
		for j := range items {
			x := &items[j]
			if x.best >= 0 && costs[x.best].Cost > left {
				x.choose(costs, left)
			}
			if x.best >= 0 && (best < 0 || x.rate > items[best].rate) {
				best = j
			}
		}
		if best < 0 {
			return list, nil
		}
		x := &items[best]
		c := costs[x.best]
		list = append(list, PlannedVote{best, c.Rater, c.Cost, x.gains[x.best]})
		left = max(0, left-c.Cost)
		if err := x.ask(crowd, costs, o.Most); err != nil {
			return nil, fmt.Errorf("item %d: %w", best, err)
		}
		x.choose(costs, left)
	}
}

// maxAsked bounds items times raters.
const maxAsked = 50_000_000

// maxAskedOutcomes bounds what the votes on an item may come out as.
const maxAskedOutcomes = 1024

func checkAsk(laws []*mixture.Dirichlet, crowd *head.RaterModel, costs []Cost, o PlanOptions) error {
	switch {
	case crowd == nil:
		return errors.New("raters are not modelled: what their votes tell is not known")
	case !(o.Budget >= 0) || math.IsInf(o.Budget, 0):
		return fmt.Errorf("a budget of %v: expected a number that is not negative", o.Budget)
	case o.Most < 1:
		return fmt.Errorf("up to %d votes on an item: expected at least 1", o.Most)
	case len(laws)*len(costs) > maxAsked:
		return fmt.Errorf("%d items and %d raters are more pairs than %d", len(laws), len(costs), maxAsked)
	}
	twice := make(map[int]bool, len(costs))
	for _, c := range costs {
		switch {
		case c.Rater < 0 || c.Rater >= len(crowd.Votes):
			return fmt.Errorf("a cost of rater %d: there are %d", c.Rater, len(crowd.Votes))
		case !(c.Cost > 0) || math.IsInf(c.Cost, 0):
			return fmt.Errorf("a vote of rater %d costs %v: expected more than 0", c.Rater, c.Cost)
		case twice[c.Rater]:
			return fmt.Errorf("rater %d has two costs", c.Rater)
		}
		twice[c.Rater] = true
	}
	for j, m := range laws {
		if m == nil {
			return fmt.Errorf("item %d has no distribution", j)
		}
		if n := math.Pow(float64(m.Classes()), float64(o.Most-1)); n > maxAskedOutcomes {
			return fmt.Errorf("up to %d votes on an item of %d classes may come out in %.3g ways, expected at most %d",
				o.Most, m.Classes(), n, maxAskedOutcomes)
		}
	}
	return nil
}

// askedItem is an item with the votes asked for so far.
type askedItem struct {
	outcomes []askedOutcome // of these votes
	votes    int
	asked    []bool    // by place in the costs
	gains    []float64 // of one more vote of each
	best     int       // whose vote gains most per cost within the budget, −1 if nobody's does
	rate     float64   // what it gains per cost
}

// askedOutcome is what the law would be after an outcome, and how likely that is.
type askedOutcome struct {
	law    *mixture.Dirichlet
	chance float64
}

// value finds what one more vote of each rater adds, the mean over outcomes.
func (x *askedItem) value(crowd *head.RaterModel, costs []Cost, most int) error {
	x.gains = make([]float64, len(costs))
	if x.votes >= most {
		return nil
	}
	for k, c := range costs {
		if x.asked[k] {
			continue
		}
		for _, o := range x.outcomes {
			g, err := crowd.Gain(o.law, c.Rater)
			if err != nil {
				return err
			}
			x.gains[k] += o.chance * g
		}
		if g := x.gains[k]; g-g != 0 {
			return fmt.Errorf("the gain of a vote of rater %d is %v", c.Rater, g)
		}
	}
	return nil
}

// choose finds the rater whose vote gains most per cost within the budget.
func (x *askedItem) choose(costs []Cost, left float64) {
	x.best, x.rate = -1, 0
	for k, g := range x.gains {
		if rate := g / costs[k].Cost; rate > x.rate && costs[k].Cost <= left {
			x.best, x.rate = k, rate
		}
	}
}

// ask adds the best vote: every outcome becomes one per class.
func (x *askedItem) ask(crowd *head.RaterModel, costs []Cost, most int) error {
	k := x.best
	x.asked[k] = true
	x.votes++
	if x.votes < most {
		var after []askedOutcome
		for _, o := range x.outcomes {
			chances, err := crowd.Chances(o.law, costs[k].Rater)
			if err != nil {
				return err
			}
			for class, p := range chances {
				if p <= 0 {
					continue
				}
				law, err := crowd.Update(o.law, []head.Rating{{Rater: int32(costs[k].Rater), Class: int32(class)}})
				if err != nil {
					return err
				}
				after = append(after, askedOutcome{law, o.chance * p})
			}
		}
		x.outcomes = after
	}
	return x.value(crowd, costs, most)
}
