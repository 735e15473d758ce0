package main

import (
	"strconv"

	"github.com/spf13/pflag"

	"credence/model"
)

// reporting is how intervals are reported: as the model's training found, unless told otherwise.
type reporting struct {
	resolution, calibrate string
}

func (o *reporting) declare(f *pflag.FlagSet) {
	f.StringVar(&o.calibrate, "calibrate", "auto",
		"scale distributions to the spread that held-out votes\nshowed in training: `auto` or off")
	f.StringVar(&o.resolution, "resolution", "auto",
		"`distance` from 0 and 1 within which intervals do not end:\nauto (by the number of votes), off, or a number up to 0.1")
}

// epsilon returns the resolution that was asked for as a number, negative for off; 0 is auto.
func (o *reporting) epsilon() (float64, error) {
	switch o.resolution {
	case "auto":
		return 0, nil
	case "off":
		return -1, nil
	}
	e, err := strconv.ParseFloat(o.resolution, 64)
	if err != nil || !(e > 0 && e <= 0.1) {
		return 0, usagef("--resolution %q: expected auto, off or a number above 0, at most 0.1", o.resolution)
	}
	return e, nil
}

func (o *reporting) check() error {
	if o.calibrate != "auto" && o.calibrate != "off" {
		return usagef("--calibrate %q: expected auto or off", o.calibrate)
	}
	_, err := o.epsilon()
	return err
}

// apply makes the model report as it was told to. The flags were checked.
func (o *reporting) apply(m *model.Model) {
	if m.Calibration == nil {
		return
	}
	c := *m.Calibration
	if o.calibrate == "off" {
		c.Scale = 1
	}
	if e, err := o.epsilon(); err == nil && e != 0 {
		c.Resolution = max(e, 0)
	}
	m.Calibration = &c
}
