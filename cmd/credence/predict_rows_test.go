package main

import (
	"slices"
	"testing"

	"credence/evaluate"
	"credence/mixture"
)

// Every end of a highest-density set is held to the resolution, those between
// its intervals too: what lies below ρ is not told apart.
func TestHighestDensityFollowsResolution(t *testing.T) {
	// Two separate modes: at 0 or within ρ = 0.02 of it, and about 0.3.
	spike, err := mixture.NewBeta([]float64{0.5, 0.5}, []float64{0.05, 60}, []float64{100, 140})
	if err != nil {
		t.Fatal(err)
	}
	// Three, of which two lie below ρ = 0.3.
	three, err := mixture.NewBeta([]float64{0.3, 0.3, 0.4}, []float64{40, 400, 700}, []float64{3960, 3600, 300})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		f         *mixture.Beta
		low, high float64
		ends      func(set []mixture.Interval) []mixture.Interval
	}{
		{"spike", spike, 0.02, 0.02, func(set []mixture.Interval) []mixture.Interval {
			return []mixture.Interval{{Lo: 0, Hi: 0.02}, set[1]}
		}},
		{"two below", three, 0.3, 0.02, func(set []mixture.Interval) []mixture.Interval {
			return []mixture.Interval{{Lo: 0, Hi: 0.3}, set[2]}
		}},
		{"above", three, 0.001, 0.6, func(set []mixture.Interval) []mixture.Interval {
			return []mixture.Interval{set[0], set[1], {Lo: 0.4, Hi: 1}}
		}},
		{"untouched", three, 0.001, 0.02, slices.Clone[[]mixture.Interval]},
	} {
		r := &evaluate.Resolution{Low: []float64{c.low, c.high}, High: []float64{c.high, c.low}}
		o := &predictOptions{hpd: true, resolution: "on"}
		set := c.f.HighestDensity(0.8)
		want := c.ends(set)
		if got := o.answer(c.f, 0, r, 0.8); !slices.Equal(got.hpd, want) {
			t.Errorf("%s: %v became %v, want %v", c.name, set, got.hpd, want)
		}
		o.resolution = "off"
		if got := o.answer(c.f, 0, r, 0.8); !slices.Equal(got.hpd, set) || got.below {
			t.Errorf("%s without the rule: %v, want %v", c.name, got.hpd, set)
		}
	}
}
