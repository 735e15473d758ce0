package calibrate

import (
	"fmt"
	"math"

	"credence/head"
	"credence/mixture"
)

// Recalibration adjusts the distributions of a model to votes that arrived after its training. It is applied after the
// [Calibration].
type Recalibration struct {
	From  string `json:"from"` // SHA-256 of the model that was adjusted
	Items int    `json:"items"`
	Votes int    `json:"votes"`
	// Gain is the reduction of the negative log-likelihood per item of the later votes, each predicted by the
	// adjustment that the votes before it give; GainSE is its standard error.
	Gain   float64 `json:"gain"`
	GainSE float64 `json:"gain_se"`

	// Shift [d] is added to the log odds of the classes, of the mean of every component; Concentration multiplies the
	// parameters.
	Shift         []float64 `json:"shift"`
	Concentration float64   `json:"concentration"`
	// Feature, if set, is a categorical feature with further shifts: Shifts [levels, d] by Levels.
	Feature string      `json:"feature,omitempty"`
	Levels  []string    `json:"levels,omitempty"`
	Shifts  [][]float64 `json:"shifts,omitempty"`
}

// Check returns an error if a recalibration of d classes read from a file is invalid.
func (r *Recalibration) Check(d int) error {
	if r == nil {
		return nil
	}
	if !(r.Concentration >= 1e-3 && r.Concentration <= 1e3) {
		return fmt.Errorf("recalibration: concentration: expected a factor from 0.001 to 1000, found %v", r.Concentration)
	}
	if len(r.Shifts) != len(r.Levels) || (r.Feature == "") != (len(r.Levels) == 0) {
		return fmt.Errorf("recalibration: expected a feature with a shift for each level, found %q with %d levels and %d shifts", r.Feature, len(r.Levels), len(r.Shifts))
	}
	for _, shift := range append([][]float64{r.Shift}, r.Shifts...) {
		if len(shift) != d {
			return fmt.Errorf("recalibration: expected shifts of %d classes, found %d", d, len(shift))
		}
		for _, x := range shift {
			if !(math.Abs(x) <= 20) {
				return fmt.Errorf("recalibration: expected shifts from −20 to 20, found %v", x)
			}
		}
	}
	return nil
}

// Apply adjusts a prediction; level is that of Feature, or −1. A nil recalibration leaves it unchanged.
func (r *Recalibration) Apply(a *head.Decoded, level int) {
	if r == nil || a.Dist == nil || a.Err != nil {
		return
	}
	shift := r.Shift
	if level >= 0 && level < len(r.Shifts) {
		shift = make([]float64, len(r.Shift))
		for i := range shift {
			shift[i] = r.Shift[i] + r.Shifts[level][i]
		}
	}
	dist, err := Shifted(a.Dist, shift, r.Concentration)
	if err != nil {
		*a = head.Decoded{Err: err}
		return
	}
	*a = a.WithDist(dist)
}

// Shifted returns a distribution with shift [d] added to the log odds of the mean of every component, and its parameters
// multiplied by a factor.
func Shifted(dist *mixture.Dirichlet, shift []float64, factor float64) (*mixture.Dirichlet, error) {
	weights, alphas := make([]float64, dist.K()), make([][]float64, dist.K())
	odds := make([]float64, len(shift))
	for i, s := range shift {
		odds[i] = math.Exp(s)
	}
	for k := range weights {
		w, changed := dist.Component(k)
		before, after := 0.0, 0.0
		for i, a := range changed {
			changed[i] = a * odds[i]
			before, after = before+a, after+changed[i]
		}
		for i := range changed {
			changed[i] *= factor * before / after
		}
		weights[k], alphas[k] = w, changed
	}
	return mixture.NewDirichlet(weights, alphas)
}
