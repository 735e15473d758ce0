package main

import (
	"credence/internal/config"
	"credence/model"
)

// reportAs makes the model report as it was told to, not as its training found.
func reportAs(m *model.Model, o *config.Settings) {
	if m.Calibration == nil {
		return
	}
	c := *m.Calibration
	if o.Fit.Calibrate == "off" {
		c.Scale = 1
	}
	if e := o.Fit.Resolution; e != 0 {
		c.Resolution = max(e, 0)
	}
	m.Calibration = &c
}
