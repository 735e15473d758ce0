package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"credence/mixture"
)

// Plan is an allocation of a budget of votes to N items. All votes are cast in one
// round: none waits for the outcome of another.
type Plan struct {
	// Votes, [N], are the numbers of further votes per item.
	Votes []int
	// Gain, [N], is the expected reduction in variance by them, and Total its sum.
	Gain  []float64
	Total float64
	// Bound is an upper bound on the total of any allocation of the budget.
	Bound float64
	// Even is the gain if all items got equally many votes, with the remaining
	// votes on items chosen at random.
	Even float64
	// Order, [N], are the items by their largest average gain per vote, best
	// first.
	Order []int
	// Left is the unspent budget, if every item has as many votes as its gains are
	// known for.
	Left int
}

// segment is a piece of the concave envelope of an item's gains, between two numbers
// of votes, with the average gain per vote between them.
type segment struct {
	item, from, to int
	slope          float64
}

// Allocate distributes a budget of votes over items. gains[j][n] is the gain of n
// votes on item j; gains[j][0] is 0. [Gains] computes them from distributions.
//
// A second vote on an item can gain more than the first (if only both votes together
// distinguish two modes), so greedily choosing the best next vote may miss the best
// pair. Votes are therefore bought along the concave envelope of each item's gains,
// several at once where gains are convex, in order of their average gain. That is
// optimal for every budget that it spends exactly. If the next piece does not fit,
// the remaining votes, fewer than the piece has, are spent where they add most to
// this allocation. The total is below Bound by less than the gain of that
// piece.
func Allocate(gains [][]float64, budget int) (*Plan, error) {
	if budget < 0 {
		return nil, fmt.Errorf("budget: expected at least 0 votes, found %d", budget)
	}
	p := &Plan{Votes: make([]int, len(gains)), Gain: make([]float64, len(gains)), Left: budget}
	for j, g := range gains {
		if err := checkGains(g); err != nil {
			return nil, fmt.Errorf("item %d: %w", j, err)
		}
	}
	pieces := piecesOf(gains)
	best := make([]float64, len(gains)) // negative
	for _, s := range pieces {
		best[s.item] = min(best[s.item], -s.slope)
	}
	p.Order = ascending(best)
	p.buy(gains, pieces)
	p.Even = even(gains, budget)
	return p, nil
}

// piecesOf returns the pieces of all items, those with the largest average gain
// first.
func piecesOf(gains [][]float64) []segment {
	var pieces []segment
	for j, g := range gains {
		pieces = append(pieces, envelope(j, g)...)
	}
	slices.SortStableFunc(pieces, func(a, b segment) int { return cmp.Compare(b.slope, a.slope) })
	return pieces
}

func checkGains(g []float64) error {
	if len(g) == 0 || g[0] != 0 {
		return errors.New("gains: expected 0 for no votes")
	}
	for n, x := range g {
		if !(x-x == 0) {
			return fmt.Errorf("gain of %d votes: expected a finite number, found %v", n, x)
		}
	}
	return nil
}

// envelope returns the pieces of the least concave function that is nowhere below g,
// as far as it increases.
func envelope(item int, g []float64) []segment {
	var hull []segment
	for n := 1; n < len(g); n++ {
		next := segment{item: item, from: n - 1, to: n, slope: g[n] - g[n-1]}
		for len(hull) > 0 && hull[len(hull)-1].slope <= next.slope {
			next.from = hull[len(hull)-1].from
			next.slope = (g[n] - g[next.from]) / float64(n-next.from)
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, next)
	}
	for len(hull) > 0 && !(hull[len(hull)-1].slope > 0) {
		hull = hull[:len(hull)-1]
	}
	return hull
}

// buy buys pieces in order while they fit, then spends the rest with fill.
func (p *Plan) buy(gains [][]float64, pieces []segment) {
	for _, s := range pieces {
		if n := s.to - s.from; n <= p.Left {
			p.Votes[s.item] = s.to
			p.Left -= n
			p.Bound += s.slope * float64(n)
			continue
		}
		p.Bound += s.slope * float64(p.Left)
		p.fill(gains)
		break
	}
	for j, n := range p.Votes {
		p.Gain[j] = gains[j][n]
		p.Total += p.Gain[j]
	}
	// Rounding of sums in a different order must not put the total above the bound.
	p.Bound = max(p.Bound, p.Total)
}

// fill spends the rest of the budget where it adds most to the votes so far: exactly,
// by dynamic programming over items and votes.
func (p *Plan) fill(gains [][]float64) {
	left := p.Left
	// value[r] is the largest gain of r votes on the items so far, take[j·(left+1)+r]
	// the number of them that item j then gets.
	value := make([]float64, left+1)
	take := make([]int32, len(gains)*(left+1))
	for j, g := range gains {
		has := p.Votes[j]
		for r := left; r > 0; r-- {
			was := value[r]
			for n := 1; n <= r && has+n < len(g); n++ {
				if v := value[r-n] + g[has+n] - g[has]; v > was {
					was = v
					take[j*(left+1)+r] = int32(n)
				}
			}
			value[r] = was
		}
	}
	for j := len(gains) - 1; j >= 0; j-- {
		n := int(take[j*(left+1)+p.Left])
		p.Votes[j] += n
		p.Left -= n
	}
}

// even returns the gain of the budget if items get equally many votes, and some,
// chosen at random, one more.
func even(gains [][]float64, budget int) float64 {
	if len(gains) == 0 {
		return 0
	}
	each, total := budget/len(gains), 0.0
	share := float64(budget%len(gains)) / float64(len(gains))
	for _, g := range gains {
		now, next := g[min(each, len(g)-1)], g[min(each+1, len(g)-1)]
		total += now + share*(next-now)
	}
	return total
}

// Gains returns, for each distribution, the expected reduction in variance Σ_i Var p_i by
// 0, 1, 2, … further votes on the item ([mixture.Dirichlet.Gain], by enumeration beyond
// one), up to most, as far as they matter to [Allocate] with the given budget. It uses
// all cores.
//
// Gains that cannot matter are left out, because many votes have many outcomes. From a
// few gains one obtains a lower bound on the price of a vote: the average gain λ of the
// piece that spends the budget. An item gets n votes only if they gain n λ, and they
// gain less than the same votes would if the component k were known,
//
//	Σ_k w_k (|m_k − μ|² + W_k n/(α_k0 + n)),
//
// with m_k the mean of a component and W_k the trace of its covariance.
func Gains(dists []*mixture.Dirichlet, budget, most int) ([][]float64, error) {
	if budget < 0 || most < 1 {
		return nil, fmt.Errorf("expected a budget of at least 0 and at least 1 vote per item, found %d and %d", budget, most)
	}
	if len(dists) == 0 {
		return nil, nil
	}
	for j, m := range dists {
		if m == nil {
			return nil, fmt.Errorf("item %d has no distribution", j)
		}
		if d := m.Classes(); outcomes(most, d) > maxOutcomes {
			return nil, fmt.Errorf("up to %d votes on an item of %d classes: expected at most %d outcomes, found %.3g",
				most, d, maxOutcomes, outcomes(most, d))
		}
	}
	gains := make([][]float64, len(dists))
	for j := range gains {
		gains[j] = []float64{0}
	}
	// As many as an even allocation needs, then those that could be worth the price.
	base := min(most, budget/len(dists)+1)
	if err := extend(gains, dists, func(int) int { return base }); err != nil {
		return nil, err
	}
	price := priceOf(piecesOf(gains), budget)
	err := extend(gains, dists, func(j int) int {
		n, bound := most, gainBound(dists[j])
		for n > base && bound(n) < price*float64(n)*(1-1e-9) { // a margin for rounding
			n--
		}
		return n
	})
	return gains, err
}

// extend computes the gains of item j up to the number of votes that most gives.
func extend(gains [][]float64, dists []*mixture.Dirichlet, most func(j int) int) error {
	return tryItems(context.Background(), len(dists), func(j int) error {
		for n, last := len(gains[j]), most(j); n <= last; n++ {
			g, err := dists[j].Gain(n)
			gains[j] = append(gains[j], g)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// gainBound returns an upper bound on the gain of n ≥ 1 votes; see [Gains].
func gainBound(m *mixture.Dirichlet) func(n int) float64 {
	mean := m.Mean(nil)
	between := 0.0
	within, total := make([]float64, m.K()), make([]float64, m.K())
	for k := range within {
		w, a := m.Component(k)
		total[k] = sum(a)
		trace := 1.0
		for i, x := range a {
			x /= total[k]
			trace -= x * x
			between += w * (x - mean[i]) * (x - mean[i])
		}
		within[k] = w * trace / (total[k] + 1)
	}
	return func(n int) float64 {
		g := between
		for k, v := range within {
			g += v * float64(n) / (total[k] + float64(n))
		}
		return g
	}
}

// priceOf returns the average gain of the piece that spends the budget, 0 if there
// are too few pieces.
func priceOf(pieces []segment, budget int) float64 {
	for _, s := range pieces {
		if budget -= s.to - s.from; budget <= 0 {
			return s.slope
		}
	}
	return 0
}

// maxOutcomes bounds the number of outcomes of the votes on an item: some tens of
// milliseconds per item for a mixture of fifteen components.
const maxOutcomes = 100_000

// outcomes returns the number of ways to split 1 to n votes between d classes,
// C(n+d, d) − 1.
func outcomes(n, d int) float64 {
	v := 1.0
	for i := 1; i <= d; i++ {
		v *= float64(n+i) / float64(i)
	}
	return v - 1
}

// usualOutcomes is the limit of [MostVotes] on the outcomes to enumerate: milliseconds
// per item.
const usualOutcomes = 3000

// MostVotes returns the default for the largest number of further votes on an item of
// d classes: 10, or fewer if these have more than 3,000 outcomes.
func MostVotes(d int) int {
	n := 10
	for n > 1 && outcomes(n, d) > usualOutcomes {
		n--
	}
	return n
}
