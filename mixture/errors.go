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
