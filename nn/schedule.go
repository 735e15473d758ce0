package nn

import (
	"fmt"
	"math"
)

// Schedule is how the learning rate changes over the steps of a run: a linear
// warm-up from zero, then constant or along a half cosine down to Final:
//
//	rate(t)/rate = (t+1)/WarmUp                                    t < WarmUp
//	             = Final + (1−Final)·½(1 + cos(π(t−WarmUp)/(Total−WarmUp)))
type Schedule struct {
	Kind   string  // "constant" or "cosine"; empty means constant
	WarmUp uint64  // steps of the warm-up
	Total  uint64  // steps of the run, for cosine
	Final  float64 // share of the rate that is left at the end, for cosine
}

func (s *Schedule) check() error {
	switch s.Kind {
	case "", "constant":
		return nil
	case "cosine":
		if s.Total <= s.WarmUp {
			return fmt.Errorf("schedule: cosine over %d steps with a warm-up of %d, want more steps", s.Total, s.WarmUp)
		}
		if !(s.Final >= 0 && s.Final <= 1) {
			return fmt.Errorf("schedule: final share %v, want between 0 and 1", s.Final)
		}
		return nil
	}
	return fmt.Errorf("schedule %q is not one of [constant cosine]", s.Kind)
}

// factor returns what the rate is multiplied by at step t, from 0.
func (s *Schedule) factor(t uint64) float64 {
	switch {
	case t < s.WarmUp:
		return float64(t+1) / float64(s.WarmUp)
	case s.Kind != "cosine":
		return 1
	}
	x := min(float64(t-s.WarmUp)/float64(s.Total-s.WarmUp), 1)
	return s.Final + (1-s.Final)*0.5*(1+math.Cos(math.Pi*x))
}
