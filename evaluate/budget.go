package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"credence/mixture"
)

// Plan is a budget of votes spread over N items. All votes are cast in one round:
// none waits for the outcome of another.
type Plan struct {
	// Votes [N] is how many further votes each item gets.
	Votes []int
	// Gain [N] is the expected loss of variance by them, and Total its sum.
	Gain  []float64
	Total float64
	// Bound is what no way to spread the budget exceeds.
	Bound float64
	// Even is what the budget would gain if items got equally many votes, those
	// left over at random.
	Even float64
	// Order [N] are the items by the largest average gain per vote that they offer,
	// best first.
	Order []int
	// Left is what is left of the budget when every item has as many votes as its
	// gains are known for.
	Left int
}

// segment is a piece of the concave envelope of an item's gains, from one number of
// votes to another, with the average gain of a vote between them.
type segment struct {
	item, from, to int
	slope          float64
}

// Allocate spreads a budget of votes over items, gains[j][n] being what n votes on
// item j gain; gains[j][0] is 0. [Gains] computes them for laws.
//
// A second vote on an item can gain more than the first (votes that only together
// tell two camps apart), so that taking the best next vote over and over may pass by
// the best pair. Votes are therefore bought along the concave envelope of each
// item's gains, several at once where gains rise, in order of their average gain.
// That is the best use of every budget that it spends exactly. Where the next piece
// no longer fits, what is left, fewer votes than the piece has, goes where it adds
// most to this allocation. The total is below Bound by less than the gain of that
// piece.
func Allocate(gains [][]float64, budget int) (*Plan, error) {
	if budget < 0 {
		return nil, fmt.Errorf("a budget of %d votes: expected none or more", budget)
	}
	p := &Plan{Votes: make([]int, len(gains)), Gain: make([]float64, len(gains)), Left: budget}
	best := make([]float64, len(gains)) // negative
	for j, g := range gains {
		if err := checkGains(g); err != nil {
			return nil, fmt.Errorf("item %d: %w", j, err)
		}
		if own := envelope(j, g); len(own) > 0 {
			best[j] = -own[0].slope
		}
	}
	p.Order = ascending(best)
	p.buy(gains, piecesOf(gains))
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
		return errors.New("expected gains that begin with 0, for no votes")
	}
	for n, x := range g {
		if !(x-x == 0) {
			return fmt.Errorf("the gain of %d votes is %v", n, x)
		}
	}
	return nil
}

// envelope returns the pieces of the least concave function that is nowhere below g,
// as far as it rises.
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

// buy takes pieces in their order while they fit, then fills up.
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
	// Sums in another order must not make a plan better than the best.
	p.Bound = max(p.Bound, p.Total)
}

// fill spends what is left on what adds most to the votes that items have: exactly,
// by dynamic programming over items and votes.
func (p *Plan) fill(gains [][]float64) {
	left := p.Left
	if left == 0 {
		return
	}
	// value[r] is the most that r votes add on the items so far, take[j·(left+1)+r]
	// how many of them item j then gets.
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
// picked at random, one more.
func even(gains [][]float64, budget int) float64 {
	most := 0
	for _, g := range gains {
		most = max(most, len(g)-1)
	}
	if len(gains) == 0 {
		return 0
	}
	each := budget / len(gains)
	share := float64(budget%len(gains)) / float64(len(gains))
	if each >= most {
		each, share = most, 0
	}
	total := 0.0
	for _, g := range gains {
		now, next := g[min(each, len(g)-1)], g[min(each+1, len(g)-1)]
		total += now + share*(next-now)
	}
	return total
}

// Gains returns, for each law, the expected loss of variance Σ_i Var p_i by 0, 1, 2, …
// further votes on the item ([mixture.Dirichlet.Gain], by enumeration beyond one),
// up to most, and as far as they matter to [Allocate] with the given budget. It uses
// all cores.
//
// What does not matter is left out, because many votes have many outcomes. Knowing
// some gains, one knows at least what a vote will cost: the average gain λ of the
// piece that spends the budget. An item gets n votes only if they gain n λ, and they
// gain less than the same votes from somebody who knows the component k,
//
//	Σ_k w_k (|m_k − μ|² + W_k n/(α_k0 + n)),
//
// with m_k the mean of a component and W_k the trace of its covariance.
func Gains(laws []*mixture.Dirichlet, budget, most int) ([][]float64, error) {
	if budget < 0 || most < 1 {
		return nil, fmt.Errorf("gains of up to %d votes per item of %d: expected at least 1", most, budget)
	}
	if len(laws) == 0 {
		return nil, nil
	}
	for j, m := range laws {
		if m == nil {
			return nil, fmt.Errorf("item %d has no distribution", j)
		}
		if d := m.Classes(); outcomes(most, d) > maxOutcomes {
			return nil, fmt.Errorf("up to %d votes on an item of %d classes have %.3g outcomes, expected at most %d",
				most, d, outcomes(most, d), maxOutcomes)
		}
	}
	gains := make([][]float64, len(laws))
	for j := range gains {
		gains[j] = []float64{0}
	}
	// As many as an even spread needs, then those that could be worth their price.
	base := min(most, budget/len(laws)+1)
	if err := extend(gains, laws, func(int) int { return base }); err != nil {
		return nil, err
	}
	price := priceOf(piecesOf(gains), budget)
	err := extend(gains, laws, func(j int) int {
		n, bound := most, gainBound(laws[j])
		for n > base && bound(n) < price*float64(n)*(1-1e-9) { // a margin for rounding
			n--
		}
		return n
	})
	return gains, err
}

// extend computes the gains of item j up to the number of votes that most gives.
func extend(gains [][]float64, laws []*mixture.Dirichlet, most func(j int) int) error {
	return tryItems(context.Background(), len(laws), func(j int) error {
		for n, last := len(gains[j]), most(j); n <= last; n++ {
			g, err := laws[j].Gain(n)
			gains[j] = append(gains[j], g)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// gainBound returns what the gain of n ≥ 1 votes does not exceed; see [Gains].
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
// are too few.
func priceOf(pieces []segment, budget int) float64 {
	for _, s := range pieces {
		if budget -= s.to - s.from; budget <= 0 {
			return s.slope
		}
	}
	return 0
}

// maxOutcomes bounds the outcomes of up to so many votes on an item: some tens of
// milliseconds per item for a mixture of fifteen components.
const maxOutcomes = 100_000

// outcomes returns how many splits of 1 to n votes between d classes there are,
// C(n+d, d) − 1.
func outcomes(n, d int) float64 {
	v := 1.0
	for i := 1; i <= d; i++ {
		v *= float64(n+i) / float64(i)
	}
	return v - 1
}

// usualOutcomes is how many outcomes [MostVotes] lets be enumerated: milliseconds an
// item.
const usualOutcomes = 3000

// MostVotes returns up to how many further votes on an item of d classes are planned
// unless told otherwise: 10, or fewer if these have more than 3,000 outcomes.
func MostVotes(d int) int {
	n := 10
	for n > 1 && outcomes(n, d) > usualOutcomes {
		n--
	}
	return n
}
