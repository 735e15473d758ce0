// Package mixture implements the distribution of an item's class probabilities
// as a mixture of Beta distributions (two classes) or of Dirichlet distributions
// (any number).
//
// A [Dirichlet] describes all classes jointly; [Dirichlet.Marginal] returns the
// one-versus-all distribution of a single class, a [Beta]. They provide
//
//   - densities, distribution and survival functions, quantiles:
//     [Beta.LogPDF], [Beta.CDF], [Beta.Survival], [Beta.QuantileBoth],
//     [Dirichlet.LogPDF];
//   - credible intervals, two-sided and one-sided, and highest-density sets:
//     [Beta.Interval], [Beta.HighestDensity], [IntervalsInto] for many items,
//     [Dirichlet.Region] for all classes at once;
//   - moments and entropies: [Beta.Moments], [Dirichlet.Covariance],
//     [Dirichlet.Entropy];
//   - decisions: P(p > t) is [Beta.Survival], [Dirichlet.TopClass] returns the
//     probability that each class is the most probable one;
//   - the effect of further votes: [Dirichlet.Update] conditions on them,
//     [Dirichlet.LogVotes], [Dirichlet.LogCounts] and [Beta.VoteCounts] predict
//     them, [Dirichlet.Gain] is the expected reduction in variance;
//   - calibration: [Dirichlet.PairError] estimates the squared error of a mean from
//     pairs of votes, [Dirichlet.PairVariance] is its sampling variance,
//     [Dispersion] compares the pairs of many items with their distributions, and
//     [Dirichlet.Rescale] scales a distribution about its mean.
//
// [Reported] is the distribution of an item as users see it: recalibrated, and at
// the resolution that the votes behind it support.
//
// The package does not depend on networks. All numbers are float64.
//
// # Accuracy
//
// For parameters from 1e-3 to 1e7, weights down to 1e-12 and tails down to
// 1e-300, distribution and survival functions have a relative error below 1e-12,
// and so have x and 1 − x of a quantile, except where rounding x to a float64
// alone moves the distribution function by more, and on the plateau between
// separated modes, where a quantile is only as well determined as the
// distribution function it inverts. The tests compare with sums of 256 bits.
//
// A probability that is too close to 0 to be a float64 is returned as 0;
// [Beta.QuantileLogit] still distinguishes it from 0. A probability close to 1
// loses digits of 1 − x, so [Beta.QuantileBoth] returns both.
//
// # Votes
//
// Votes are counts, one per class, and need not be whole numbers. Likelihoods are
// those of votes in a given order; only [Dirichlet.LogCounts] and
// [Beta.VoteCounts] include the number of orders.
//
// # Concurrency
//
// Mixtures are immutable. All methods may be called from several goroutines.
package mixture

import (
	"errors"
	"fmt"
	"math"

	"credence/internal/special"
)

// ErrInvalid is wrapped by every error about parameters that describe no
// mixture: weights that do not sum to one, a parameter that is not positive,
// lengths that do not match. The message names the value and its place.
var ErrInvalid = errors.New("invalid mixture")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// weightTolerance is the largest deviation of the sum of the weights from one.
const weightTolerance = 1e-9

// checkWeights returns the sum of the weights.
func checkWeights(weights []float64) (float64, error) {
	if len(weights) == 0 {
		return 0, invalid("expected at least one weight, found none")
	}
	sum := 0.0
	for k, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return 0, invalid("weight %d: expected a finite number of at least 0, found %v", k, w)
		}
		sum += w
	}
	if math.Abs(sum-1) > weightTolerance {
		return 0, invalid("expected weights that sum to 1 (within %g), found %v", weightTolerance, sum)
	}
	return sum, nil
}

// Parameters beyond these bounds cannot be represented usefully in float64: the
// distribution is a point, or has all of its mass at the ends.
const minParameter, maxParameter = 1e-100, 1e15

func checkParameter(v float64, format string, args ...any) error {
	if v >= minParameter && v <= maxParameter {
		return nil
	}
	name := fmt.Sprintf(format, args...)
	return invalid("%s: expected a number from %g to %g, found %v", name, minParameter, maxParameter, v)
}

// Beta is a mixture of Beta distributions on [0, 1],
//
//	f(p) = Σ_k w_k Beta(p; a_k, b_k).
//
// It is immutable and safe for concurrent use. The zero
// value is not a distribution; use [NewBeta] or [Dirichlet.Marginal].
type Beta struct {
	components []component
}

// component is one Beta distribution with its weight.
type component struct {
	weight, logWeight float64
	special.Beta
}

// NewBeta returns the mixture with the given weights and parameters, slices of
// one length K ≥ 1. Weights are non-negative and sum to one within 1e-9, in
// which case they are rescaled to sum to one exactly; a and b lie between 1e-100
// and 1e15.
func NewBeta(weights, a, b []float64) (*Beta, error) {
	sum, err := checkMixture(weights, a, b)
	if err != nil {
		return nil, err
	}
	m := &Beta{}
	m.fill(weights, a, b, sum)
	return m, nil
}

// checkMixture returns the sum of the weights of a mixture of Beta distributions.
func checkMixture(weights, a, b []float64) (sum float64, err error) {
	if sum, err = checkWeights(weights); err != nil {
		return 0, err
	}
	if len(a) != len(weights) || len(b) != len(weights) {
		return 0, invalid("expected as many values of a and b as weights (%d), found %d and %d", len(weights), len(a), len(b))
	}
	for k := range weights {
		if err := checkParameter(a[k], "a of component %d", k); err != nil {
			return 0, err
		}
		if err := checkParameter(b[k], "b of component %d", k); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// fill sets m to the mixture with weights of the given sum.
func (m *Beta) fill(weights, a, b []float64, sum float64) {
	m.components = m.components[:0]
	for k, w := range weights {
		m.add(w/sum, a[k], b[k])
	}
}

// add appends the component w Beta(a, b) unless w is 0.
func (m *Beta) add(w, a, b float64) {
	if w != 0 {
		m.components = append(m.components, component{w, math.Log(w), special.NewBeta(a, b)})
	}
}

// K returns the number of components with positive weight.
func (m *Beta) K() int { return len(m.components) }

// Component returns the weight and parameters of component k, 0 ≤ k < K.
// Components without weight are not counted.
func (m *Beta) Component(k int) (weight, a, b float64) {
	c := &m.components[k]
	return c.weight, c.A, c.B
}

// Reflect returns the distribution of 1 − p. Its CDF at y is the survival
// function of m at 1 − y, for y too small to be written as 1 − x.
func (m *Beta) Reflect() *Beta {
	r := &Beta{components: make([]component, 0, len(m.components))}
	for _, c := range m.components {
		r.add(c.weight, c.B, c.A)
	}
	return r
}

// PDF returns the density at x: 0 outside [0, 1], +Inf at an end that carries a
// pole (a < 1 at 0, b < 1 at 1).
func (m *Beta) PDF(x float64) float64 { return math.Exp(m.LogPDF(x)) }

// LogPDF returns the logarithm of the density at x, −Inf where it is zero.
func (m *Beta) LogPDF(x float64) float64 {
	if math.IsNaN(x) {
		return math.NaN()
	}
	if x < 0 || x > 1 {
		return math.Inf(-1)
	}
	p := special.At(x)
	return m.logPDF(&p)
}

func (m *Beta) logPDF(p *special.Point) float64 {
	var l logSum
	for i := range m.components {
		c := &m.components[i]
		l.add(c.logWeight + c.logPDF(p))
	}
	return l.value()
}

// logPDF is the log-density of one component. The ends are treated separately,
// because there 0 is raised to powers that may be 0 or negative.
func (c *component) logPDF(p *special.Point) float64 {
	if p.LogX == math.Inf(-1) {
		return endLogPDF(c.A, c.B)
	}
	if p.LogY == math.Inf(-1) {
		return endLogPDF(c.B, c.A)
	}
	return c.LogFactor(p) - p.LogX - p.LogY
}

// endLogPDF is the log-density of Beta(a, b) at 0.
func endLogPDF(a, b float64) float64 {
	switch {
	case a < 1:
		return math.Inf(1)
	case a > 1:
		return math.Inf(-1)
	}
	return math.Log(b)
}

// CDF returns P(p ≤ x) with a relative error below 1e-12, however small it is.
func (m *Beta) CDF(x float64) float64 {
	lower, _ := m.tails(x)
	return lower
}

// Survival returns P(p > x) with a relative error below 1e-12, however small it is.
func (m *Beta) Survival(x float64) float64 {
	_, upper := m.tails(x)
	return upper
}

func (m *Beta) tails(x float64) (lower, upper float64) {
	switch {
	case math.IsNaN(x):
		return math.NaN(), math.NaN()
	case x <= 0:
		return 0, 1
	case x >= 1:
		return 1, 0
	}
	p := special.At(x)
	return m.tailsAt(&p)
}

func (m *Beta) tailsAt(p *special.Point) (lower, upper float64) {
	for i := range m.components {
		c := &m.components[i]
		l, u, _ := c.Tails(p)
		lower += c.weight * l
		upper += c.weight * u
	}
	return min(lower, 1), min(upper, 1)
}

// Mean returns E p.
func (m *Beta) Mean() float64 {
	mean, _ := m.Moments()
	return mean
}

// Variance returns Var p.
func (m *Beta) Variance() float64 {
	_, v := m.Moments()
	return v
}

// Moments returns the mean and the variance, by the laws of total expectation
// and total variance; every term is non-negative, so the variance is too.
func (m *Beta) Moments() (mean, variance float64) { return moments(m.K(), m.Component) }

// moments returns the mean and the variance of a mixture of n components.
func moments(n int, component func(k int) (weight, a, b float64)) (mean, variance float64) {
	for k := range n {
		w, a, b := component(k)
		mean += w * (a / (a + b))
	}
	for k := range n {
		w, a, b := component(k)
		s := a + b
		mu := a / s
		d := mu - mean
		variance += w * (mu*(b/s)/(s+1) + d*d)
	}
	return mean, variance
}

// logSum adds numbers given by their logarithms.
type logSum struct{ max, sum float64 }

func (l *logSum) add(x float64) {
	switch {
	case math.IsInf(x, -1):
	case l.sum == 0 || math.IsInf(x, 1):
		l.max, l.sum = x, 1
	case x <= l.max:
		l.sum += math.Exp(x - l.max)
	default:
		l.sum = l.sum*math.Exp(l.max-x) + 1
		l.max = x
	}
}

func (l *logSum) value() float64 {
	if l.sum == 0 {
		return math.Inf(-1)
	}
	return l.max + math.Log(l.sum)
}
