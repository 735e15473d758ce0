package head

import (
	"fmt"
	"math"

	"credence/mixture"
)

// Calibration is how laws are reported: scaled about their means such that their spread is the one
// that pairs of held-out votes show, and at the resolution that the votes allow. It is found by
// training and travels with the model, so that whoever asks the model gets the same intervals.
type Calibration struct {
	// Scale is by how much the variance of every law is multiplied; 1 leaves laws as they are.
	Scale float64 `json:"scale"`
	// Resolution is ε, see [mixture.Reported]; 0 lets intervals end however close to 0 or 1.
	Resolution float64 `json:"resolution"`

	// Ratio is the squared error of the mean over the predicted variance that the scale was chosen
	// by, RatioSE its standard error, Classes [d] the same class by class, and Items how many items
	// had two votes or more to find it from. They are zero if it could not be found.
	Ratio   float64   `json:"ratio,omitempty"`
	RatioSE float64   `json:"ratio_se,omitempty"`
	Classes []float64 `json:"classes,omitempty"`
	Items   int       `json:"items,omitempty"`
}

// Check reports what is wrong with a calibration that was read from a file.
func (c *Calibration) Check() error {
	switch {
	case c == nil:
		return nil
	case !(c.Scale > 0 && c.Scale <= maxScale):
		return fmt.Errorf("calibration: scale %v, want above 0 and at most %v", c.Scale, maxScale)
	case !(c.Resolution >= 0 && c.Resolution <= 0.1):
		return fmt.Errorf("calibration: resolution %v, want from 0 to 0.1", c.Resolution)
	case math.IsNaN(c.Ratio) || math.IsInf(c.Ratio, 0) || !(c.RatioSE >= 0) || math.IsInf(c.RatioSE, 0):
		return fmt.Errorf("calibration: ratio %v ± %v", c.Ratio, c.RatioSE)
	}
	return nil
}

// maxScale is far beyond what any law can be widened by.
const maxScale = 1e6

// Apply makes a the answer that is reported. A nil calibration leaves it as it is.
func (c *Calibration) Apply(a *Answer) {
	if c == nil || a.Law == nil || a.Err != nil {
		return
	}
	if c.Scale != 1 {
		law, err := a.Law.Rescale(c.Scale)
		if err != nil {
			*a = Answer{Err: err}
			return
		}
		*a = a.with(law)
	}
	a.Resolution = c.Resolution
}

// Reported returns what is told of the item: of p̄ where raters are known, see Average. The answer has
// a law.
func (a *Answer) Reported() mixture.Reported {
	return mixture.Reported{Law: a.Law, Resolution: a.Resolution, Average: a.Average}
}
