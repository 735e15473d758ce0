package monitor

import (
	"credence/calibrate"
	"credence/model"
)

// Plain returns the model with the distributions to monitor: at the ratio that held-out votes showed, without the
// allowance, the limits and the average over an uncertain scale that reported intervals have on top. Those make intervals
// wider on purpose, which votes would contradict. A scale that depends on the place of an item still does, without the part
// for its uncertainty.
//
// A recalibrated model was adjusted as it reports, so that only the limits are removed.
func Plain(m *model.Model) *model.Model {
	p := &model.Model{Classes: m.Classes, Ordered: m.Ordered, Method: m.Method, Raters: m.Raters, RaterModel: m.RaterModel, Transform: m.Transform,
		Members: m.Members, Trees: m.Trees, Calibration: plainCalibration(m.Calibration), Recalibration: m.Recalibration, Provenance: m.Provenance, Engine: m.Engine}
	if m.Recalibration != nil {
		p.Calibration = m.Calibration
	}
	return p
}

// leastScale is the smallest scale, which keeps distributions proper.
const leastScale = 0.05

func plainCalibration(c *calibrate.Calibration) *calibrate.Calibration {
	if c == nil {
		return nil
	}
	p := *c
	p.ScaleSE, p.Resolution = 0, 0
	if c.Place != nil {
		place := *c.Place
		place.Posterior = make([]float64, len(c.Place.Posterior))
		p.Place = &place
	}
	if c.Items > 0 && !c.Leak {
		p.Scale = c.Ratio
		if c.Network != 0 { // files of earlier versions have no trust
			p.Scale = 1 + c.Trust*(max(c.Ratio, leastScale)-1)
		}
		p.Scale = max(p.Scale, leastScale)
	}
	return &p
}
