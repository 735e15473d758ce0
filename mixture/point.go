package mixture

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/internal/special"
)

// Score is a distance between the shares of the classes among the votes on an item and one prediction of them, its
// point. The expected distance is smallest at another functional of the distribution for each score.
type Score uint8

const (
	// MeanScore is the squared distance or the cross-entropy: the point is the mean.
	MeanScore Score = iota + 1
	// WassersteinScore is Σ_k |C_k − (n₁+…+n_k)/m| over cumulative shares. Classes have to be in order; steps of any
	// size between them have the same point.
	WassersteinScore
	// ManhattanScore is Σ_k |q_k − n_k/m|.
	ManhattanScore
	// AbsoluteScore is the distance between one class and each vote, in steps: the point is all on the median class.
	// Classes have to be in order.
	AbsoluteScore
	// ZeroOneScore counts the votes for other classes: the point is all on the class of largest mean.
	ZeroOneScore
)

var scoreNames = []string{"wasserstein", "manhattan", "absolute", "zero-one", "mean"}
var scores = []Score{WassersteinScore, ManhattanScore, AbsoluteScore, ZeroOneScore, MeanScore}

// ScoreNames returns the names of the scores.
func ScoreNames() []string { return slices.Clone(scoreNames) }

// ParseScore returns the score of a name.
func ParseScore(name string) (Score, error) {
	if i := slices.Index(scoreNames, name); i >= 0 {
		return scores[i], nil
	}
	return 0, fmt.Errorf("expected one of %s, found %q", strings.Join(scoreNames, ", "), name)
}

// String returns the name of the score.
func (s Score) String() string {
	if i := slices.Index(scores, s); i >= 0 {
		return scoreNames[i]
	}
	return ""
}

// Ordered reports whether the score depends on the order of the classes.
func (s Score) Ordered() bool { return s == WassersteinScore || s == AbsoluteScore }

// MostVotesExpected is the largest number of votes of a [Dirichlet.Point]. Shares of more votes hardly differ from
// the probabilities.
const MostVotesExpected = 1000

// tieTolerance is how close two values of a distribution function of vote counts have to be to count as equal. Whether
// a median is unique must not depend on rounding.
const tieTolerance = 1e-12

// Point appends the point of a score to dst: d numbers from 0 to 1 whose sum is 1, at which the expected distance from
// the shares of the given number of votes, at most [MostVotesExpected], is smallest; with 0 votes, that from the
// class probabilities. It is
//
//	Wasserstein:  C_k is the median of (n₁+…+n_k)/m;
//	Manhattan:    q_k = F_k⁻¹(t), with F_k the distribution function of n_k/m and one t for which Σ_k q_k = 1.
//
// Where several points are optimal, it is the one in their middle.
func (m *Dirichlet) Point(dst []float64, score Score, votes int) []float64 {
	n := len(dst)
	switch score {
	case MeanScore:
		return m.Mean(dst)
	case ManhattanScore:
		if votes > 0 {
			return m.manhattanVotes(dst, votes)
		}
		return m.manhattan(dst)
	case WassersteinScore:
		before := 0.0
		for k := range m.Classes() {
			c := 1.0
			if k < m.Classes()-1 {
				c = max(before, m.Cumulative(k).medianShare(votes))
			}
			dst = append(dst, c-before)
			before = c
		}
		return dst
	}
	dst = m.Mean(dst)
	mean := dst[n:]
	best := slices.Index(mean, slices.Max(mean))
	if score == AbsoluteScore {
		best = MedianClass(mean)
	}
	clear(mean)
	mean[best] = 1
	return dst
}

// MedianClass returns the first class at which the cumulative probability reaches 1/2.
func MedianClass(p []float64) int {
	c := 0.0
	for k, x := range p {
		if c += x; c >= 0.5-tieTolerance {
			return k
		}
	}
	return len(p) - 1
}

// Cumulative returns the distribution of p₀ + … + p_k, the probability of a class up to k, for 0 ≤ k < d − 1.
func (m *Dirichlet) Cumulative(k int) *Beta {
	c := &Beta{components: make([]component, 0, len(m.weights))}
	for i, w := range m.weights {
		c.add(w, special.Sum(m.row(i)[:k+1]), special.Sum(m.row(i)[k+1:]))
	}
	return c
}

// medianShare returns the median of the share of the class among the given number of votes, or of its probability
// with 0 votes. If the median is an interval, it is the middle.
func (m *Beta) medianShare(votes int) float64 {
	if votes == 0 {
		return m.Quantile(0.5)
	}
	lo, hi, f := -1, votes, 0.0
	for s, p := range m.VoteCounts(nil, votes) {
		f += p
		if lo < 0 && f >= 0.5-tieTolerance {
			lo = s
		}
		if f > 0.5+tieTolerance {
			hi = s
			break
		}
	}
	return float64(lo+hi) / float64(2*votes)
}

// manhattanVotes appends the point of the Manhattan distance from the shares of n votes. The expected distance is
// linear in q_k between s/n and (s+1)/n, with the slope 2F_k(s) − 1, which rises with s. So the minimum with Σq = 1
// takes the n of all these steps of length 1/n that have the smallest slopes; equal ones share what is left.
func (m *Dirichlet) manhattanVotes(dst []float64, n int) []float64 {
	d := m.Classes()
	steps := make([]float64, 0, d*n) // F_k(s), s < n
	for k := range d {
		f := 0.0
		for _, p := range m.Marginal(k).VoteCounts(nil, n)[:n] {
			f += p
			steps = append(steps, f)
		}
	}
	last := slices.Sorted(slices.Values(steps))[n-1]
	below, tied := 0, 0
	for _, f := range steps {
		switch {
		case f < last-tieTolerance:
			below++
		case f <= last+tieTolerance:
			tied++
		}
	}
	share := float64(n-below) / float64(tied)
	for k := range d {
		q := 0.0
		for _, f := range steps[k*n : (k+1)*n] {
			switch {
			case f < last-tieTolerance:
				q++
			case f <= last+tieTolerance:
				q += share
			}
		}
		dst = append(dst, q/float64(n))
	}
	return dst
}

// manhattan appends the point of the Manhattan distance from the class probabilities: the quantiles at the t for
// which their sum is 1. Between adjacent numbers t, as on a plateau between modes, it is interpolated.
func (m *Dirichlet) manhattan(dst []float64) []float64 {
	d := m.Classes()
	classes := make([]*Beta, d)
	for k := range classes {
		classes[k] = m.Marginal(k)
	}
	quantiles := func(t float64) (q []float64, sum float64) {
		for _, c := range classes {
			x := c.Quantile(t)
			q, sum = append(q, x), sum+x
		}
		return q, sum
	}
	lo, hi := 0.0, 1.0
	below, above := make([]float64, d), slices.Repeat([]float64{1}, d)
	less, more := 0.0, float64(d)
	for range 80 {
		t := lo + (hi-lo)/2
		if t <= lo || t >= hi || more-less < 1e-12 {
			break
		}
		if q, sum := quantiles(t); sum < 1 {
			lo, below, less = t, q, sum
		} else {
			hi, above, more = t, q, sum
		}
	}
	at := 0.0
	if more > less {
		at = (1 - less) / (more - less)
	}
	total := 0.0
	for k := range d {
		x := math.Min(math.Max(below[k]+at*(above[k]-below[k]), 0), 1)
		dst = append(dst, x)
		total += x
	}
	for k := range dst[len(dst)-d:] {
		dst[len(dst)-d+k] /= total
	}
	return dst
}
