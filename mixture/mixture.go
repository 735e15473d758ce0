// Package mixture is about one object: the distribution of the probabilities of
// an item's classes, as a mixture of Beta distributions (two classes) or of
// Dirichlet distributions (any number).
//
// A [Dirichlet] describes all classes jointly; [Dirichlet.Marginal] is the
// one-versus-all distribution of a single class, a [Beta]. From them come
//
//   - densities, distribution and survival functions, quantiles:
//     [Beta.LogPDF], [Beta.CDF], [Beta.Survival], [Beta.QuantileBoth],
//     [Dirichlet.LogPDF];
//   - credible intervals, two-sided and one-sided, and highest-density sets:
//     [Beta.Interval], [Beta.HighestDensity], [IntervalsInto] for many items,
//     [Dirichlet.Region] for all classes at once;
//   - moments and entropies: [Beta.Moments], [Dirichlet.Covariance],
//     [Dirichlet.Entropy];
//   - decisions: P(p > t) is [Beta.Survival], [Dirichlet.TopClass] says how
//     likely each class is to be the most probable;
//   - the effect of further votes: [Dirichlet.Update] conditions on them,
//     [Dirichlet.LogVotes], [Dirichlet.LogCounts] and [Beta.VoteCounts] predict
//     them, [Dirichlet.Gain] is the variance that they are expected to take away;
//   - calibration: [Dirichlet.PairError] is what pairs of votes say of the error of
//     a mean, [Dirichlet.PairVariance] how far chance alone moves it, [Dispersion]
//     compares many items' pairs with their laws, and [Dirichlet.Rescale] scales a
//     law about its mean.
//
// [Reported] is what users are told of an item: a law, recalibrated, at the
// resolution that the votes behind it support.
//
// The package knows nothing of networks. Everything is float64.
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
// [Beta.QuantileLogit] still tells it apart. One close to 1 loses its digits as
// 1 − x would, so [Beta.QuantileBoth] returns both.
//
// # Votes
//
// Votes are counts, one per class, and need not be whole numbers. Likelihoods are
// those of votes in a given order; only [Dirichlet.LogCounts] and
// [Beta.VoteCounts] count the orders.
//
// # Concurrency
//
// Mixtures are immutable. All methods may be called from several goroutines.
package mixture

import (
	"errors"
	"fmt"
	"math"
)

// ErrInvalid is wrapped by every error about parameters that describe no
// mixture: weights that do not sum to one, a parameter that is not positive,
// lengths that do not match. The message says which and where.
var ErrInvalid = errors.New("invalid mixture")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
}

// weightTolerance is how far from one the weights may sum.
const weightTolerance = 1e-9

// checkWeights returns the sum of the weights.
func checkWeights(weights []float64) (float64, error) {
	if len(weights) == 0 {
		return 0, invalid("no weights: a mixture has at least one component")
	}
	sum := 0.0
	for k, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return 0, invalid("weight %d is %v: weights are finite and not negative", k, w)
		}
		sum += w
	}
	if math.Abs(sum-1) > weightTolerance {
		return 0, invalid("weights sum to %v: they sum to one (within %g)", sum, weightTolerance)
	}
	return sum, nil
}

// Parameters beyond these bounds have no meaning that float64 could carry: the
// distribution is a point, or sits at the ends alone.
const minParameter, maxParameter = 1e-100, 1e15

func checkParameter(v float64, format string, args ...any) error {
	want := ""
	switch {
	case !(v > 0) || math.IsInf(v, 1):
		want = "parameters are positive and finite"
	case v < minParameter || v > maxParameter:
		want = fmt.Sprintf("parameters lie between %g and %g", minParameter, maxParameter)
	default:
		return nil
	}
	return invalid("%s is %v: %s", fmt.Sprintf(format, args...), v, want)
}
