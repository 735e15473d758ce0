package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"credence/internal/rng"
)

// CurveOptions configures [Curve]. The zero value is the default.
type CurveOptions struct {
	// Bootstrap configures the errors of losses; its seed also selects votes and items.
	Bootstrap Bootstrap
	// Votes are the numbers of votes per item; nil means those of 2, 3, 5, 10, 20, 50
	// and 100 that at least half of the items with two votes have, and the largest
	// number that they have.
	Votes []int
	// Shares are the shares of the items (or groups) that are kept; nil means a
	// quarter, half and all of them.
	Shares []float64
}

// CurvePoint is the evaluation of the same predictions with fewer votes and items.
type CurvePoint struct {
	// Votes is the number of votes kept per item. Items with fewer are left out.
	Votes int    `json:"votes_per_item"`
	Share Number `json:"share"`
	Items int    `json:"items"`
	// Ratio is the dispersion ratio R, with the error of [Dispersion].
	Ratio Estimate `json:"dispersion_ratio"`
	// Loss is the joint loss of an item's votes, with a bootstrap error.
	Loss Estimate `json:"nll_per_vote"`
}

// Curve measures how the dispersion ratio, the loss and their errors depend on the
// numbers of votes per item and of items, by leaving out votes and items at random:
// how many are needed to evaluate predictions. The predictions are unchanged. Smaller
// samples are subsets of larger ones. Predictions must have distributions.
func Curve(in Input, o CurveOptions) ([]CurvePoint, error) {
	s, err := newSample(context.Background(), in)
	if err != nil {
		return nil, err
	}
	if s.mixtures == nil {
		return nil, errors.New("a curve of the dispersion ratio requires distributions: found means only")
	}
	if !whole(s.Votes.Counts) {
		return nil, ErrFractions
	}
	votes, shares, err := o.grid(s)
	if err != nil {
		return nil, err
	}
	list := []CurvePoint{}
	if len(votes) == 0 {
		return list, nil
	}
	order := s.voteOrder(votes[len(votes)-1], o.Bootstrap.Seed)
	rank := rand.New(rng.New(o.Bootstrap.Seed, "evaluate.Curve.items")).Perm(s.units)
	for _, m := range votes {
		t := s.thin(order, m)
		pairs, err := t.allClasses()
		if err != nil {
			return nil, err
		}
		losses, err := t.jointLosses()
		if err != nil {
			return nil, err
		}
		for _, share := range shares {
			list = append(list, pairs.point(m, share, rank, losses, o.Bootstrap))
		}
	}
	return list, nil
}

// grid returns the numbers of votes and the shares of items, in increasing order.
func (o CurveOptions) grid(s *sample) (votes []int, shares []float64, err error) {
	for _, m := range o.Votes {
		if m < 2 {
			return nil, nil, fmt.Errorf("curve: expected at least 2 votes per item, found %d", m)
		}
	}
	for _, x := range o.Shares {
		if !(x > 0 && x <= 1) {
			return nil, nil, fmt.Errorf("curve: expected a share of the items between 0 and 1, found %v", x)
		}
	}
	votes, shares = o.Votes, o.Shares
	if votes == nil {
		votes = s.usualVotes()
	}
	if shares == nil {
		shares = []float64{0.25, 0.5, 1}
	}
	return distinct(votes), distinct(shares), nil
}

// distinct returns the distinct values of a list in increasing order.
func distinct[T cmp.Ordered](list []T) []T { return slices.Compact(slices.Sorted(slices.Values(list))) }

// usualVotes returns the default numbers of votes: those that at least half of the
// items with two votes or more have.
func (s *sample) usualVotes() []int {
	paired := slices.DeleteFunc(slices.Clone(s.total), func(m float64) bool { return m < 2 })
	if len(paired) == 0 {
		return nil
	}
	slices.Sort(paired)
	most := int(min(paired[len(paired)/2], 100))
	list := slices.DeleteFunc([]int{2, 3, 5, 10, 20, 50, 100}, func(m int) bool { return m > most })
	return append(list, most)
}

// voteOrder returns the classes of up to m votes on each item in a random order, as
// if they had been cast one by one.
func (s *sample) voteOrder(m int, seed uint64) [][]int {
	order := make([][]int, s.n)
	forItems(s.ctx, s.n, func(j int) {
		r := rand.New(rng.New(seed, "evaluate.Curve.votes", uint64(j)))
		left := slices.Clone(s.Votes.Item(j))
		for n := s.total[j]; n > 0 && len(order[j]) < m; n-- {
			u, c := r.Float64()*n, 0
			for c < s.d-1 && (left[c] == 0 || u >= left[c]) {
				u -= left[c]
				c++
			}
			for left[c] == 0 { // rounding at the upper end
				c--
			}
			left[c]--
			order[j] = append(order[j], c)
		}
	})
	return order
}

// thin returns s with the first m votes of each item in the given order, and without votes on the
// items that have fewer.
func (s *sample) thin(order [][]int, m int) *sample {
	t := *s
	t.RaterModel, t.Votes, t.total = nil, Votes{s.d, make([]float64, s.n*s.d)}, make([]float64, s.n)
	for j, classes := range order {
		if len(classes) < m {
			continue
		}
		t.total[j] = float64(m)
		for _, c := range classes[:m] {
			t.Votes.Item(j)[c]++
		}
	}
	return &t
}

// point evaluates the given share of the units, those with the lowest ranks. losses, [n], are the
// joint losses of the items.
func (p *pairDists) point(m int, share float64, rank []int, losses []float64, b Bootstrap) CurvePoint {
	s, at := p.s, CurvePoint{Votes: m, Share: Number(share)}
	kept := int(math.Ceil(share * float64(s.units)))
	sums := newTally(kept)
	spread, loss := sums.column(2), sums.column(2) // with the variance, and the number of votes
	model, predicted := 0.0, 0.0
	for j, total := range s.total {
		u := rank[s.unit[j]]
		if u >= kept || total == 0 {
			continue
		}
		v := p.variance(j)
		at.Items++
		model += p.noise[j]
		predicted += v
		sums.addAll(u, spread, p.shown[j], v)
		sums.addAll(u, loss, losses[j], total)
	}
	var boot Number // over groups
	sums.estimateOf(at.Items, &at.Ratio.Value, &boot, ratio(spread, spread+1))
	sums.estimateOf(at.Items, &at.Loss.Value, &at.Loss.SE, ratio(loss, loss+1))
	sums.run(b)
	at.Ratio.SE = Number(math.Sqrt(model) / predicted)
	if s.units < s.n && boot > at.Ratio.SE {
		at.Ratio.SE = boot
	}
	return at
}
