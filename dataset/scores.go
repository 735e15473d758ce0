package dataset

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Normal scores are further inputs next to the numbers of a table: the value of a normal distribution with the rank of
// the number among the training items,
//
//	score = Φ⁻¹((rank − ½)/n)
//
// with the mean rank of ties. Scores between training values are interpolated, those beyond them are those of the ends,
// and a missing value has score 0. Columns of at most two values have none: it would be the number again.

const (
	// maxKnots is the largest number of values whose scores are kept; more are thinned to equal steps of the score.
	maxKnots = 128
	// scoredItems is the number of items that ranks are computed from.
	scoredItems = 100_000
)

// fitScores sets the knots of a number from its training values, which it sorts.
func (p *fitted) fitScores(values []float32) {
	slices.Sort(values)
	n := float64(len(values))
	var knots, scores []float32
	for lo := 0; lo < len(values); {
		hi := lo
		for hi < len(values) && values[hi] == values[lo] {
			hi++
		}
		knots = append(knots, values[lo])
		scores = append(scores, float32(math.Sqrt2*math.Erfinv(float64(lo+hi)/n-1)))
		lo = hi
	}
	if len(knots) <= 2 {
		return
	}
	if len(knots) <= maxKnots {
		p.Knots, p.Scores = knots, scores
		return
	}
	first, last := scores[0], scores[len(scores)-1]
	for k := range maxKnots {
		at := first + (last-first)*float32(k)/(maxKnots-1)
		i, _ := slices.BinarySearch(scores, at)
		if i = min(i, len(scores)-1); k == maxKnots-1 {
			i = len(scores) - 1
		}
		if m := len(p.Knots); m == 0 || knots[i] > p.Knots[m-1] {
			p.Knots, p.Scores = append(p.Knots, knots[i]), append(p.Scores, scores[i])
		}
	}
}

// score returns the normal score of a value.
func (p *fitted) score(x float32) float32 {
	if x != x {
		return 0
	}
	last := len(p.Knots) - 1
	i := sort.Search(len(p.Knots), func(k int) bool { return p.Knots[k] >= x })
	switch {
	case i == 0:
		return p.Scores[0]
	case i > last:
		return p.Scores[last]
	}
	lo, hi := float64(p.Knots[i-1]), float64(p.Knots[i])
	share := (float64(x) - lo) / (hi - lo)
	return float32((1-share)*float64(p.Scores[i-1]) + share*float64(p.Scores[i]))
}

// checkScores returns an error for knots that no fit produces.
func (p *fitted) checkScores() error {
	if len(p.Knots) != len(p.Scores) || len(p.Knots) > 0 && (p.Kind != Numeric || len(p.Knots) < 2) {
		return fmt.Errorf("expected the normal scores of at least two values of a number, found %d values and %d scores of a %v feature",
			len(p.Knots), len(p.Scores), p.Kind)
	}
	for k, x := range p.Knots {
		if s := p.Scores[k]; x-x != 0 || s-s != 0 || k > 0 && (x <= p.Knots[k-1] || s < p.Scores[k-1]) {
			return fmt.Errorf("expected increasing values and normal scores, found %v with %v", x, s)
		}
	}
	return nil
}

// scored returns the indices of the features with normal scores.
func (t *Transform) scored() []int {
	var list []int
	for i := range t.features {
		if len(t.features[i].Knots) > 0 {
			list = append(list, i)
		}
	}
	return list
}

// HasScores reports whether the network input has normal scores.
func (t *Transform) HasScores() bool { return len(t.scored()) > 0 }

// Plain returns the number of numbers before the normal scores, which are the last of the dense values.
func (t *Transform) Plain() int { return t.sharesAt() + t.shares.width() }

// scoreNames returns the names of the normal scores.
func (t *Transform) scoreNames() []string {
	var names []string
	for _, i := range t.scored() {
		names = append(names, t.features[i].Name+" normal score")
	}
	return names
}

// Column is a column of a table in the network input.
type Column struct {
	Name    string
	At      int // index of its value
	Missing int // index of the input that is 1 if the value is missing; −1 if there is none
	Levels  int // number of codes of a category that is a code; 0 for a number
}

// Columns returns the columns of the network input without the normal scores, whose order is that of the numbers
// themselves. It returns nil if there are images or volumes.
func (t *Transform) Columns() []Column {
	var list []Column
	offsets := t.offsets()
	for i := range t.features {
		p, at := &t.features[i], offsets[i]
		switch p.input() {
		case Grid:
			return nil
		case Codes:
			list = append(list, Column{p.Name, at, -1, p.firstLevel() + len(p.Levels)})
		case Dense:
			names := p.names()
			missing := -1
			if p.Missing && p.Kind != Tensor && p.Kind != Categorical {
				missing = at + len(names) - 1
				names = names[:len(names)-1]
			}
			for k, name := range names {
				list = append(list, Column{name, at + k, missing, 0})
			}
		}
	}
	for k, name := range t.shares.names() {
		list = append(list, Column{name, t.sharesAt() + k, -1, 0})
	}
	return list
}
