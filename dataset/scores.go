package dataset

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
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

// fitScores sets the knots of a number from its training values, which are finite.
func (p *fitted) fitScores(values []float32) {
	work := rankWork.Get().(*ranks)
	defer rankWork.Put(work)
	work.sort(values)
	n := len(work.knots)
	if n <= 2 {
		return
	}
	if n <= maxKnots {
		p.Knots = slices.Clone(work.knots)
		for i := range n {
			p.Scores = append(p.Scores, work.score(i))
		}
		return
	}
	first, last := work.score(0), work.score(n-1)
	for k := range maxKnots {
		at := first + (last-first)*float32(k)/(maxKnots-1)
		i := min(sort.Search(n, func(i int) bool { return work.score(i) >= at }), n-1)
		if k == maxKnots-1 {
			i = n - 1
		}
		if m := len(p.Knots); m == 0 || work.knots[i] > p.Knots[m-1] {
			p.Knots, p.Scores = append(p.Knots, work.knots[i]), append(p.Scores, work.score(i))
		}
	}
}

// ranks are the values of a number in order, each once, and the sums of the first rank of each and of that behind its last.
type ranks struct {
	knots      []float32
	sums       []int
	n          int // values
	keys, room []uint32
}

// rankWork recycles the memory of ranks.
var rankWork = sync.Pool{New: func() any { return new(ranks) }}

// score returns the normal score of knot i.
func (r *ranks) score(i int) float32 {
	return float32(math.Sqrt2 * math.Erfinv(float64(r.sums[i])/float64(r.n)-1))
}

// sort sets r to the ranks of values, by a radix sort of their bits, of which negative ones are turned so that they ascend.
func (r *ranks) sort(values []float32) {
	n := len(values)
	r.n, r.knots, r.sums = n, r.knots[:0], r.sums[:0]
	r.keys, r.room = slices.Grow(r.keys[:0], n)[:n], slices.Grow(r.room[:0], n)[:n]
	const digit = 11
	var counts [3][1 << digit]int
	for i, v := range values {
		key := math.Float32bits(v + 0) // −0 is 0
		key ^= uint32(int32(key)>>31) | 1<<31
		r.keys[i] = key
		for d := range counts {
			counts[d][key>>(d*digit)%(1<<digit)]++
		}
	}
	for d := range counts {
		at := 0
		for k, c := range counts[d] {
			counts[d][k] = at
			at += c
		}
		for _, key := range r.keys {
			k := key >> (d * digit) % (1 << digit)
			r.room[counts[d][k]] = key
			counts[d][k]++
		}
		r.keys, r.room = r.room, r.keys
	}
	for lo := 0; lo < n; {
		hi := lo + 1
		for hi < n && r.keys[hi] == r.keys[lo] {
			hi++
		}
		key := r.keys[lo]
		if key>>31 == 1 {
			key ^= 1 << 31
		} else {
			key = ^key
		}
		r.knots, r.sums = append(r.knots, math.Float32frombits(key)), append(r.sums, lo+hi)
		lo = hi
	}
}

// score returns the normal score of a value.
func (p *fitted) score(x float32) float32 {
	if x != x {
		return 0
	}
	knots := p.Knots
	last := len(knots) - 1
	// The number of knots below x, by halving without branches, which would be hard to predict: a difference is
	// negative if its sign bit is set.
	i, n := 0, len(knots)
	for n > 0 {
		half := (n + 1) / 2
		i += half & int(int32(math.Float32bits(knots[i+half-1]-x))>>31)
		n -= half
	}
	switch {
	case i == 0:
		return p.Scores[0]
	case i > last:
		return p.Scores[last]
	}
	lo, hi := float64(knots[i-1]), float64(knots[i])
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
