package mixture

import (
	"fmt"
	"math"

	"credence/internal/special"
)

// cumulativeStep is the distance of the logits at which the mean over raters of ordered classes is tabulated; linear
// interpolation is off by at most 2e-5.
const cumulativeStep = 1.0 / 32

// NewOrderedAverage returns the average of raters of ordered classes with the given weights, not all 0. Rater r votes for
// one of the classes up to k with the probability
//
//	(1−g_r) σ(s_r logit(p_0 + … + p_k) − b_r) + g_r (π_r0 + … + π_rk),
//
// given the logarithms of s, the biases b, the guess rates g and the distributions π of guesses, taste [R, d].
func NewOrderedAverage(classes int, weights, biases, logScales, taste, guesses []float64) (*AverageRater, error) {
	n := len(weights)
	if len(guesses) != n || len(biases) != n || len(logScales) != n || len(taste) != n*classes {
		return nil, fmt.Errorf("average of %d raters: found %d biases, %d scales, %d guess rates and %d tastes", n, len(biases), len(logScales), len(guesses), len(taste))
	}
	a, err := NewAverage(classes, weights, nil, taste, guesses)
	if err != nil {
		return nil, err
	}
	whole := special.Sum(weights)
	a.cumulative = make([]float64, int(2*special.MaxLogit/cumulativeStep)+1)
	for r, w := range weights {
		if w == 0 {
			continue
		}
		s, share := math.Exp(logScales[r]), w/whole*(1-guesses[r])
		for i := range a.cumulative {
			a.cumulative[i] += share * special.Sigmoid(s*(cumulativeStep*float64(i)-special.MaxLogit)-biases[r])
		}
	}
	return a, nil
}

// Ordered reports whether the raters have biases on the scale of ordered classes.
func (a *AverageRater) Ordered() bool { return a != nil && a.cumulative != nil }

// AtLogits fills p̄ [d] at a p whose cumulative probabilities have the logits [d−1], for raters of ordered classes.
func (a *AverageRater) AtLogits(p, logits []float64) {
	before := 0.0
	for k := range p {
		to := a.scale
		if k < len(logits) {
			at := (logits[k] + special.MaxLogit) / cumulativeStep
			i := min(max(int(at), 0), len(a.cumulative)-2)
			f := at - float64(i)
			to = (1-f)*a.cumulative[i] + f*a.cumulative[i+1]
		}
		p[k] = max(to-before, 0) + a.offset[k]
		before = to
	}
}

// orderedMoments fills mean [d] with the mean of p̄ under a Dirichlet distribution and returns the trace of its
// covariance. Sums over nodes are of the differences from p, whose moments are known, so that raters without bias
// leave the distribution unchanged.
func (a *AverageRater) orderedMoments(mean []float64, grid *special.SimplexGrid, alpha []float64, total float64) (trace float64) {
	d := len(alpha)
	work := make([]float64, 5*d)
	logA, p, q, logits, raw := work[:d], work[d:2*d], work[2*d:3*d], work[3*d:4*d-1], work[4*d:]
	square := 0.0 // E Σ p̄²
	for i, x := range alpha {
		logA[i] = math.Log(x)
		mean[i] = x / total
		square += x * (x + 1) / (total * (total + 1))
	}
	grid.Place(logA)
	rows := make([][]float64, len(logits))
	for k := range rows {
		rows[k] = grid.Logits(k)
	}
	const share = 1.0 / special.SimplexNodes
	rawSquare := 0.0
	for s := range special.SimplexNodes {
		grid.Probabilities(p, s)
		for k := range logits {
			logits[k] = rows[k][s]
		}
		a.AtLogits(q, logits)
		for i := range mean {
			mean[i] += share * (q[i] - p[i])
			square += share * (q[i]*q[i] - p[i]*p[i])
			raw[i] += share * q[i]
			rawSquare += share * q[i] * q[i]
		}
	}
	for i := range mean {
		if !(mean[i] > 0) { // α so small that the nodes miss most of the mass
			copy(mean, raw)
			square = rawSquare
			break
		}
	}
	for _, m := range mean {
		square -= m * m
	}
	return max(square, 0)
}
