package evaluate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
