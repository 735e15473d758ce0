// Package calibrate adjusts the distributions of a fitted model to the votes that its networks held out, so that
// reported intervals contain the truth as often as their level claims. The steps, in the order in which they act:
//
//  1. Pairs of votes on items that a network held out show the squared error of its means, and with the predicted
//     variance the ratio R ([HeldOut], [mixture.Dispersion]). Assumes that votes on an item are exchangeable, or
//     follow the rater model.
//  2. From single networks to the ensemble, R′ = (R + 1)q − 1 with q the share of the ensemble's variance that is
//     within networks ([Within]).
//  3. Where R < 1, the likelihood of the held-out votes limits how far R′ is trusted (the guard, [HeldOut]).
//  4. Where R is negative beyond chance, features appear to contain the votes: nothing is narrowed ([Calibration.Leak]).
//  5. Every distribution is scaled to the resulting ratio ([Calibration.Apply]); where the ratio is uncertain, the
//     result is a mixture over its distribution.
//  6. The scale may depend on the place of an item, where that predicts held-out votes better ([Place]); tables of few
//     columns only.
//  7. If asked for, the scale depends on the group of an item, where groups differ ([Groups]).
//  8. Intervals end no closer to 0 or 1 than the resolution that the number of votes supports.
//
// The result is a [Calibration], which is saved with the model and applied to every prediction.
package calibrate

import (
	"fmt"
	"math"
	"sync"

	"credence/head"
	"credence/mixture"
)

// Calibration adjusts distributions before they are reported: it scales them about their means to the spread
// that pairs of held-out votes show, and limits the resolution of intervals to what the votes support. It is
// found by training and saved with the model, so that all users of the model get the same intervals.
type Calibration struct {
	// Scale is the factor for the variance of every distribution; 1 leaves distributions unchanged.
	Scale float64 `json:"scale"`
	// ScaleSE is the standard error of Scale if it is so uncertain that distributions are averaged over it, else 0.
	// ScaleCenter is then the estimate that the average is around, which may be negative, unlike Scale. With 0, as in
	// models of earlier versions, it is around Scale.
	ScaleSE     float64 `json:"scale_se,omitempty"`
	ScaleCenter float64 `json:"scale_center,omitempty"`
	// Shape selects how distributions are narrowed where Scale is below 1: by [Concentrate], or as models of
	// earlier versions are, by [mixture.Dirichlet.Rescale], if it is empty.
	Shape string `json:"shape,omitempty"`
	// Resolution is ε, see [mixture.Reported]; with 0, intervals may end arbitrarily close to 0 or 1.
	Resolution float64 `json:"resolution"`

	// Ratio is the ratio of the squared error of the mean to the predicted variance, from which the scale
	// was chosen, RatioSE its standard error, Classes [d] the ratio of each class, and Items the number of
	// items with at least two votes behind it. They are zero if it could not be estimated.
	Ratio   float64   `json:"ratio,omitempty"`
	RatioSE float64   `json:"ratio_se,omitempty"`
	Classes []float64 `json:"classes,omitempty"`
	Items   int       `json:"items,omitempty"`

	// Network is the ratio R of single networks and NetworkSE its standard error; Within is the share q of the
	// variance of the ensemble that is within networks, and Trust the share of the way from 1 to Ratio that
	// the likelihood of the votes supports.
	Network   float64 `json:"network,omitempty"`
	NetworkSE float64 `json:"network_se,omitempty"`
	Within    float64 `json:"within,omitempty"`
	Trust     float64 `json:"trust,omitempty"`
	// Leak reports that the ratio of single networks is negative beyond chance: votes on an item are closer to its
	// prediction than independent votes can be, as if its features contained them.
	Leak bool `json:"leak,omitempty"`
	// Place lets the scale depend on the place of an item; nil if one scale predicts votes as well.
	Place *Place `json:"place,omitempty"`
	// Raters is whose mean intervals are for; nil in models of earlier versions, whose intervals are for these raters.
	Raters *Raters `json:"raters,omitempty"`
	// Groups lets the scale depend on the group of an item; nil if that was not asked for.
	Groups *Groups `json:"groups,omitempty"`
}

// Concentrate is the Shape with unchanged component means, [mixture.Dirichlet.Concentrate].
const Concentrate = "concentrate"

// Uncertain reports whether the scale is so uncertain that intervals can be far too wide or too narrow.
func (c *Calibration) Uncertain() bool {
	return c.Items > 0 && !c.Leak && (c.Items < fewItems || c.RatioSE > uncertain*min(c.Scale, 1))
}

const (
	// uncertain is the relative standard error of the scale above which training warns.
	uncertain = 0.35
	// fewItems is the number of items below which the standard error itself is too uncertain.
	fewItems = 100
	// averaged is the relative standard error above which distributions are averaged over the scale.
	averaged = 0.2
	// leastScale is the smallest scale, as in [mixture.Dispersion.Scale].
	leastScale = 0.1
)

// Check returns an error if a calibration read from a file is invalid.
func (c *Calibration) Check() error {
	finite := func(x float64) bool { return x-x == 0 }
	switch {
	case c == nil:
		return nil
	case !(c.Scale > 0 && c.Scale <= maxScale):
		return fmt.Errorf("calibration: scale: expected a number above 0 and at most %v, found %v", maxScale, c.Scale)
	case !(math.Abs(c.ScaleCenter) <= maxScale):
		return fmt.Errorf("calibration: center of the scale: expected a number from −%v to %v, found %v", maxScale, maxScale, c.ScaleCenter)
	case !(c.ScaleSE >= 0 && c.ScaleSE <= maxScale):
		return fmt.Errorf("calibration: standard error of the scale: expected a number from 0 to %v, found %v", maxScale, c.ScaleSE)
	case c.Shape != "" && c.Shape != Concentrate:
		return fmt.Errorf("calibration: shape: expected %q or none, found %q", Concentrate, c.Shape)
	case !(c.Resolution >= 0 && c.Resolution <= 0.1):
		return fmt.Errorf("calibration: resolution: expected a number from 0 to 0.1, found %v", c.Resolution)
	case !finite(c.Ratio) || !(c.RatioSE >= 0) || !finite(c.RatioSE):
		return fmt.Errorf("calibration: expected a finite ratio and standard error, found %v ± %v", c.Ratio, c.RatioSE)
	}
	if c.Raters != nil {
		if err := c.Raters.check(); err != nil {
			return err
		}
	}
	if c.Place != nil {
		if err := c.Place.check(); err != nil {
			return err
		}
	}
	if c.Groups != nil {
		return c.Groups.check()
	}
	return nil
}

// maxScale is far beyond the factor by which any distribution can be widened.
const maxScale = 1e6

// Apply calibrates the prediction for an item, of which only Dist needs to be set. A nil calibration leaves it unchanged.
func (c *Calibration) Apply(a *head.Decoded, item Item) {
	if c == nil || a.Dist == nil || a.Err != nil {
		return
	}
	if dist, err := c.Calibrated(a.Dist, item); err != nil {
		*a = head.Decoded{Err: err}
		return
	} else if dist != a.Dist || a.Mean == nil {
		*a = a.WithDist(dist)
	}
	a.Resolution = c.Resolution
}

// Calibrated returns the distribution of an item at the scale of the calibration, averaged over the scale if that is
// uncertain. It depends on the item only if there is a Place, or there are Groups.
func (c *Calibration) Calibrated(dist *mixture.Dirichlet, item Item) (*mixture.Dirichlet, error) {
	factor := 1.0
	if c.Place != nil {
		if len(item.Inputs) != len(c.Place.Center) {
			return nil, fmt.Errorf("calibration: expected %d network inputs, found %d", len(c.Place.Center), len(item.Inputs))
		}
		factor = c.Place.factor(dist, item.Inputs)
	}
	if c.Groups != nil {
		factor *= c.Groups.factor(item.Level)
	}
	at := c.scaleNodes()
	if at.n == 1 {
		return c.rescale(dist, factor*at.scales[0])
	}
	if largest := factor * at.scales[at.n-1]; c.Shape == Concentrate && largest < 1 {
		return c.narrowed(dist, factor, &at)
	}
	var dists [scaleMost]*mixture.Dirichlet
	for k, scale := range at.scales[:at.n] {
		var err error
		if dists[k], err = c.rescale(dist, factor*scale); err != nil {
			return nil, err
		}
	}
	return mixture.Mix(at.weights[:at.n], dists[:at.n])
}

// narrowed returns the average of a distribution over scales that all narrow it, times a factor.
func (c *Calibration) narrowed(dist *mixture.Dirichlet, factor float64, at *scaleNodes) (*mixture.Dirichlet, error) {
	var ratios, shares [scaleMost]float64
	for k, scale := range at.scales[:at.n] {
		ratios[k] = factor * scale
		shares[k] = moves(ratios[k], c.RatioSE)
	}
	r := rescalers.Get().(*mixture.Rescaler)
	defer rescalers.Put(r)
	r.Set(dist)
	return r.Mix(at.weights[:at.n], ratios[:at.n], shares[:at.n])
}

// rescalers recycles memory.
var rescalers = sync.Pool{New: func() any { return new(mixture.Rescaler) }}

// Scales returns the scales over which distributions are averaged and their weights: Scale alone if it is certain enough.
func (c *Calibration) Scales() (scales, weights []float64) {
	at := c.scaleNodes()
	return at.scales[:at.n], at.weights[:at.n]
}

// scaleNodes returns the nodes of Scales.
func (c *Calibration) scaleNodes() scaleNodes {
	if c.ScaleSE == 0 {
		return oneScale(c.Scale)
	}
	if c.ScaleCenter != 0 {
		return newScaleNodes(c.ScaleCenter, c.ScaleSE)
	}
	return newScaleNodes(c.Scale, c.ScaleSE)
}

// rescale returns a distribution whose variance is ratio times as large, in the shape of the calibration.
func (c *Calibration) rescale(dist *mixture.Dirichlet, ratio float64) (*mixture.Dirichlet, error) {
	if c.Shape == Concentrate {
		return rescaled(dist, ratio, c.RatioSE)
	}
	return dist.Rescale(ratio)
}

// rescaled is [narrowed] for a ratio below 1, else [mixture.Dirichlet.Rescale].
func rescaled(dist *mixture.Dirichlet, ratio, se float64) (*mixture.Dirichlet, error) {
	if ratio < 1 {
		return narrowed(dist, ratio, se)
	}
	return dist.Rescale(ratio)
}

// narrowed returns a distribution narrowed to a ratio below 1 of its variance: by larger parameters as far as
// [mixture.Dirichlet.Concentrate] goes, then by component means that move towards the mean.
func narrowed(dist *mixture.Dirichlet, ratio, se float64) (*mixture.Dirichlet, error) {
	return mixture.NewRescaler(dist).Narrow(ratio, moves(ratio, se))
}

// Between these ratios, a growing share of what parameters alone cannot narrow is narrowed by moving component means.
const noMoves, allMoves = 0.8, 0.4

// moves returns that share, on a logarithmic scale: with se the standard error of the ratio, 0 from ratio + se = 0.8, and 1 up
// to 0.4. Components that lie apart are the spread of p where some of it may be left, and errors of the fit where pairs
// of votes show next to none.
func moves(ratio, se float64) float64 {
	return min(max((noMoves-ratio-se)/(noMoves-allMoves), 0), 1)
}

// scaleNodes are the scales over which distributions are averaged, and their weights, n of them.
type scaleNodes struct {
	n               int
	scales, weights [scaleMost]float64
}

// outerNode is the normal quantile at the outer nodes of Gauss and Legendre.
var outerNode = math.Sqrt2 * math.Erfinv(math.Sqrt(0.6))

// scaleMost is the largest number of scales.
const scaleMost = 3

// oneScale is a single scale.
func oneScale(scale float64) scaleNodes {
	return scaleNodes{1, [scaleMost]float64{scale}, [scaleMost]float64{1}}
}

// newScaleNodes returns the scales and weights by which distributions are averaged over a normal distribution of the
// scale: its quantiles at the three nodes of Gauss and Legendre, at least leastScale, with their weights; equal ones are one.
func newScaleNodes(center, se float64) scaleNodes {
	step := se * outerNode
	if center+step <= leastScale {
		return oneScale(leastScale)
	}
	if center <= leastScale {
		return scaleNodes{2, [scaleMost]float64{leastScale, center + step}, [scaleMost]float64{13. / 18, 5. / 18}}
	}
	return scaleNodes{3, [scaleMost]float64{max(center-step, leastScale), center, center + step}, [scaleMost]float64{5. / 18, 8. / 18, 5. / 18}}
}
