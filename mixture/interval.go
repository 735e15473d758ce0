package mixture

import (
	"fmt"
	"math"
)

// Interval is a set of probabilities between two ends, both included.
type Interval struct {
	Lo, Hi float64
}

// Length returns Hi − Lo.
func (i Interval) Length() float64 { return i.Hi - i.Lo }

// Contains reports whether Lo ≤ x ≤ Hi.
func (i Interval) Contains(x float64) bool { return i.Lo <= x && x <= i.Hi }

// Side says which ends of a credible interval are free. With γ = 1 − level and
// Q the quantile function, the three intervals are those of Wu et al. 2019.
type Side int

const (
	TwoSided Side = iota // [Q(γ/2), Q(1−γ/2)]
	Upper                // [0, Q(1−γ)]: an upper bound
	Lower                // [Q(γ), 1]: a lower bound
)

// String returns "two-sided", "upper" or "lower".
func (s Side) String() string {
	if s < TwoSided || s > Lower {
		return fmt.Sprintf("Side(%d)", int(s))
	}
	return [...]string{"two-sided", "upper", "lower"}[s]
}

// Interval returns the credible interval of the given side and level, which
// must lie strictly between 0 and 1 (otherwise both ends are NaN).
func (m *Beta) Interval(side Side, level float64) Interval {
	if !(level > 0 && level < 1) {
		return Interval{math.NaN(), math.NaN()}
	}
	gamma := 1 - level
	switch side {
	case Upper:
		hi, _ := m.ComplementaryQuantile(gamma)
		return Interval{0, hi}
	case Lower:
		return Interval{m.Quantile(gamma), 1}
	}
	lo, hi := m.between(gamma/2, gamma/2)
	return Interval{lo, hi}
}
