package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/mixture"
)

// Person is the number of a person in [PricedVote]; judges are numbered from 0.
const Person = -1

// PricedVote is a vote to buy, by a person or a judge, with the expected reduction in the variance of the class probabilities,
// summed over classes, given the votes bought before it.
type PricedVote struct {
	Item, Judge int
	Price, Gain float64
}

// JudgedOutcome is one outcome of the votes of judges on an item: its probability, and the distribution of the class
// probabilities given these votes.
type JudgedOutcome struct {
	Chance float64
	Dist   *mixture.Dirichlet
}

// PriceOptions are what votes cost, and the limits of [PlanPriced].
type PriceOptions struct {
	Budget float64
	Person float64   // price of a vote by a person, 0 if none is for sale
	Judges []float64 // price of a vote by each judge, 0 if it is not for sale
	Most   int       // maximum number of votes by people per item
	// MostJudges is the maximum number of votes by judges per item: their outcomes multiply.
	MostJudges int
	// Has reports whether an item has a vote of a judge already.
	Has func(item, judge int) bool
	// Outcomes returns the outcomes of the votes of some judges on an item, given what is known about it.
	Outcomes func(item int, judges []int) ([]JudgedOutcome, error)
}

// PlanPriced spends a budget on votes of people and judges on n items. It greedily adds the vote with the largest expected
// reduction in variance per price among those that the remaining budget allows. All votes are cast in one round. Before
// judges S and m people vote, the expected reduction by their votes is
//
//	Σ_o π_o (|μ_o − μ|² + G_o(m)),    μ = Σ_o π_o μ_o,
//
// over the outcomes o of the judges' votes, with μ_o the means of the class probabilities then and G_o(m) the expected
// reduction by m votes of people ([mixture.Dirichlet.Gain]).
func PlanPriced(ctx context.Context, n int, o PriceOptions) ([]PricedVote, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	left := o.Budget * (1 + 1e-9) // sums of prices are rounded
	items := make([]pricedItem, n)
	err := tryItems(ctx, n, func(j int) (err error) {
		items[j] = pricedItem{at: j}
		if items[j].outcomes, err = o.Outcomes(j, nil); err == nil {
			err = items[j].value(&o)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []PricedVote
	for ctx.Err() == nil {
		best := -1
		for j := range items {
			x := &items[j]
			if x.best != nil && x.best.price > left {
				x.choose(left)
			}
			if x.best != nil && (best < 0 || x.best.rate() > items[best].best.rate()) {
				best = j
			}
		}
		if best < 0 {
			return list, nil
		}
		x := &items[best]
		c := *x.best
		list = append(list, PricedVote{best, c.judge, c.price, c.gain})
		left = max(0, left-c.price)
		if c.judge == Person {
			x.people++
		} else {
			x.judges, x.outcomes = append(slices.Clip(x.judges), c.judge), c.outcomes
		}
		if err := x.value(&o); err != nil {
			return nil, fmt.Errorf("item %d: %w", best, err)
		}
		x.choose(left)
	}
	return nil, ctx.Err()
}

func (o *PriceOptions) check() error {
	sold := o.Person > 0
	for _, p := range append(slices.Clone(o.Judges), o.Person, o.Budget) {
		if !(p >= 0) || math.IsInf(p, 0) {
			return fmt.Errorf("expected finite prices and a finite budget of at least 0, found %v", p)
		}
	}
	sold = sold || slices.ContainsFunc(o.Judges, func(p float64) bool { return p > 0 })
	switch {
	case !sold:
		return errors.New("expected a price of at least one kind of vote, found none")
	case o.Most < 1 || o.MostJudges < 0:
		return fmt.Errorf("expected at least 1 vote per item, found limits of %d and %d", o.Most, o.MostJudges)
	}
	return nil
}

// pricedItem is an item with the votes bought so far.
type pricedItem struct {
	at       int
	judges   []int
	people   int
	outcomes []JudgedOutcome // of the judges' votes
	choices  []pricedChoice
	best     *pricedChoice // within the budget, nil if there is none
}

// pricedChoice is one more vote on an item.
type pricedChoice struct {
	judge       int
	price, gain float64
	outcomes    []JudgedOutcome // after the vote of a judge
}

func (c *pricedChoice) rate() float64 { return c.gain / c.price }

// worth returns the expected reduction in variance by votes of judges with these outcomes and of a number of people.
func worth(outcomes []JudgedOutcome, people int) (float64, error) {
	mean := make([]float64, outcomes[0].Dist.Classes())
	means := make([][]float64, len(outcomes))
	for k, o := range outcomes {
		means[k] = o.Dist.Mean(nil)
		for i, x := range means[k] {
			mean[i] += o.Chance * x
		}
	}
	gain := 0.0
	for k, o := range outcomes {
		for i, x := range means[k] {
			gain += o.Chance * (x - mean[i]) * (x - mean[i])
		}
		if people > 0 {
			g, err := o.Dist.Gain(people)
			if err != nil {
				return 0, err
			}
			gain += o.Chance * g
		}
	}
	return gain, nil
}

// value computes the choices of the next vote and chooses the best.
func (x *pricedItem) value(o *PriceOptions) error {
	now, err := worth(x.outcomes, x.people)
	if err != nil {
		return err
	}
	x.choices = x.choices[:0]
	add := func(c pricedChoice, people int) error {
		after, err := worth(c.outcomes, people)
		if c.gain = after - now; err == nil && c.gain > 0 {
			x.choices = append(x.choices, c)
		}
		return err
	}
	if o.Person > 0 && x.people < o.Most {
		if err := add(pricedChoice{judge: Person, price: o.Person, outcomes: x.outcomes}, x.people+1); err != nil {
			return err
		}
	}
	for g, price := range o.Judges {
		if price == 0 || len(x.judges) >= o.MostJudges || slices.Contains(x.judges, g) || o.Has(x.at, g) {
			continue
		}
		outcomes, err := o.Outcomes(x.at, append(slices.Clip(x.judges), g))
		if err != nil {
			return err
		}
		if err := add(pricedChoice{judge: g, price: price, outcomes: outcomes}, x.people); err != nil {
			return err
		}
	}
	x.choose(math.Inf(1))
	return nil
}

// choose selects the vote with the largest gain per price within the budget.
func (x *pricedItem) choose(left float64) {
	x.best = nil
	for k := range x.choices {
		c := &x.choices[k]
		if c.price <= left && (x.best == nil || c.rate() > x.best.rate()) {
			x.best = c
		}
	}
}
