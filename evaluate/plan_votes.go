package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"credence/head"
	"credence/mixture"
)

// Cost is the cost of a vote of a rater, in any unit.
type Cost struct {
	Rater int // the rater's number in the model
	Cost  float64
}

// PlannedVote is a vote to request: the item and the rater, its cost, and the expected reduction in
// the variance of the class probabilities, summed over classes, given the votes planned
// before it.
type PlannedVote struct {
	Item, Rater int
	Cost, Gain  float64
}

// PlanOptions limits the votes that [PlanVotes] may request.
type PlanOptions struct {
	Budget float64 // in the unit of costs
	Most   int     // maximum number of further votes per item
	// Voted, if not nil, reports whether a rater has already voted on an item. No rater votes
	// twice on an item.
	Voted func(item, rater int) bool
}

// PlanVotes spends a budget on votes. It greedily adds the vote with the largest expected reduction in
// variance per unit of cost among those that the remaining budget allows. All votes are cast in
// one round, so the gain of a second vote on an item is the mean over the outcomes of the first. Votes
// are returned in the order in which they were chosen.
func PlanVotes(dists []*mixture.Dirichlet, model *head.RaterModel, costs []Cost, o PlanOptions) ([]PlannedVote, error) {
	if err := checkPlan(dists, model, costs, o); err != nil {
		return nil, err
	}
	left := o.Budget * (1 + 1e-9) // sums of costs are rounded
	items := make([]plannedItem, len(dists))
	err := tryItems(context.Background(), len(dists), func(j int) error {
		items[j] = plannedItem{outcomes: []voteOutcome{{dist: dists[j], chance: 1}}, asked: make([]bool, len(costs))}
		for k, c := range costs {
			items[j].asked[k] = o.Voted != nil && o.Voted(j, c.Rater)
		}
		return items[j].value(model, costs, o.Most, left)
	})
	if err != nil {
		return nil, err
	}
	var list []PlannedVote
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
		if err := x.add(model, costs, o.Most, left); err != nil {
			return nil, fmt.Errorf("item %d: %w", best, err)
		}
	}
}

// maxPairs bounds the number of items times that of raters.
const maxPairs = 50_000_000

// maxPlanOutcomes bounds the number of outcomes of the votes on an item.
const maxPlanOutcomes = 1024

func checkPlan(dists []*mixture.Dirichlet, model *head.RaterModel, costs []Cost, o PlanOptions) error {
	switch {
	case model == nil:
		return errors.New("raters are not modelled: the value of their votes is unknown")
	case !(o.Budget >= 0) || math.IsInf(o.Budget, 0):
		return fmt.Errorf("budget: expected a finite number of at least 0, found %v", o.Budget)
	case o.Most < 1:
		return fmt.Errorf("expected at least 1 vote per item, found a limit of %d", o.Most)
	case len(dists)*len(costs) > maxPairs:
		return fmt.Errorf("expected at most %d pairs of items and raters, found %d × %d", maxPairs, len(dists), len(costs))
	}
	seen := make(map[int]bool, len(costs))
	for _, c := range costs {
		switch {
		case c.Rater < 0 || c.Rater >= len(model.Votes):
			return fmt.Errorf("costs: expected raters from 0 to %d, found %d", len(model.Votes)-1, c.Rater)
		case !(c.Cost > 0) || math.IsInf(c.Cost, 0):
			return fmt.Errorf("cost of rater %d: expected a finite number above 0, found %v", c.Rater, c.Cost)
		case seen[c.Rater]:
			return fmt.Errorf("expected one cost of rater %d, found two", c.Rater)
		}
		seen[c.Rater] = true
	}
	for j, m := range dists {
		if m == nil {
			return fmt.Errorf("item %d has no distribution", j)
		}
		if n := math.Pow(float64(m.Classes()), float64(o.Most-1)); n > maxPlanOutcomes {
			return fmt.Errorf("up to %d votes on an item of %d classes: expected at most %d outcomes, found %.3g",
				o.Most, m.Classes(), maxPlanOutcomes, n)
		}
	}
	return nil
}

// plannedItem is an item with the votes planned so far.
type plannedItem struct {
	outcomes []voteOutcome // of these votes
	votes    int
	asked    []bool    // by index in the costs: the rater has voted, or is planned to
	gains    []float64 // of one more vote of each rater
	best     int       // the rater with the largest gain per cost within the budget, −1 if there is none
	rate     float64   // gain per cost of that vote
}

// voteOutcome is the distribution after an outcome of the votes, and the probability of the outcome.
type voteOutcome struct {
	dist   *mixture.Dirichlet
	chance float64
}

// value computes the gain of one more vote of each rater, the mean over outcomes, and chooses the best.
func (x *plannedItem) value(model *head.RaterModel, costs []Cost, most int, left float64) error {
	x.gains = make([]float64, len(costs))
	for k, c := range costs {
		if x.asked[k] || x.votes >= most {
			continue
		}
		for _, o := range x.outcomes {
			g, err := model.Gain(o.dist, c.Rater)
			if err != nil {
				return err
			}
			x.gains[k] += o.chance * g
		}
		if g := x.gains[k]; g-g != 0 {
			return fmt.Errorf("gain of a vote of rater %d: expected a finite number, found %v", c.Rater, g)
		}
	}
	x.choose(costs, left)
	return nil
}

// choose selects the rater with the largest gain per cost within the budget.
func (x *plannedItem) choose(costs []Cost, left float64) {
	x.best, x.rate = -1, 0
	for k, g := range x.gains {
		if rate := g / costs[k].Cost; rate > x.rate && costs[k].Cost <= left {
			x.best, x.rate = k, rate
		}
	}
}

// add adds the best vote: every outcome is split into one per class.
func (x *plannedItem) add(model *head.RaterModel, costs []Cost, most int, left float64) error {
	k := x.best
	x.asked[k] = true
	x.votes++
	if x.votes < most {
		var after []voteOutcome
		for _, o := range x.outcomes {
			chances, err := model.Chances(o.dist, costs[k].Rater)
			if err != nil {
				return err
			}
			for class, p := range chances {
				if p <= 0 {
					continue
				}
				dist, err := model.Update(o.dist, []head.Rating{{Rater: int32(costs[k].Rater), Class: int32(class)}})
				if err != nil {
					return err
				}
				after = append(after, voteOutcome{dist, o.chance * p})
			}
		}
		x.outcomes = after
	}
	return x.value(model, costs, most, left)
}
