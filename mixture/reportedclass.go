package mixture

import (
	"math"

	"credence/internal/kernel"
	"credence/internal/special"
)

// ReportedClass is the reported distribution of the probability of one class. Dist is the distribution of p;
// methods return numbers about p̄ if [Reported].Average is set.
type ReportedClass struct {
	Dist *Beta

	resolution   float64
	mean         float64
	below, above float64 // the mass in [0, ε] and in [1−ε, 1]
	rough        bool    // whether these come from a table
	outside      float64 // if not 0, below or above is only known to be at least 1 − outside, and counts as 1

	tables  *classTables   // nil for full precision
	mirrors *ReportedClass // the first of two classes, if this is the second

	average *AverageRater
	class   int
}

// Reported returns the reported form of the distribution m at a resolution, with full precision.
func (m *Beta) Reported(resolution float64) ReportedClass {
	c := ReportedClass{Dist: m, resolution: resolution}
	c.begin()
	return c
}

// begin computes the mean and the masses at the ends.
func (c *ReportedClass) begin() {
	if c.tables != nil {
		c.mean = c.tables.mean
	} else {
		c.mean = c.Dist.Mean()
	}
	if c.resolution == 0 {
		return
	}
	if c.tables != nil && c.tables.outside < outsideMost {
		c.outside, c.rough = c.tables.outside, true
		if c.below = 1; c.mean > 0.5 {
			c.below, c.above = 0, 1
		}
		return
	}
	c.measureEnds()
}

// outsideMost is the largest bound of the mass that is not within ε of an end with which the masses at the ends are not computed: intervals
// that leave out more do not depend on them.
const outsideMost = 0.02

// measureEnds computes the masses at the ends.
func (c *ReportedClass) measureEnds() {
	c.outside = 0
	if !c.tables.ends(c) {
		c.exactEnds()
	}
}

// exactEnds computes the masses at the ends with full precision.
func (c *ReportedClass) exactEnds() {
	// 1 − ε would have lost digits of ε, and equal masses might come out unequal.
	low := special.At(c.resolution)
	high := special.Point{X: low.Y, Y: low.X, LogX: low.LogY, LogY: low.LogX}
	dist := c.dist()
	c.below, _ = dist.tailsAt(&low)
	_, c.above = dist.tailsAt(&high)
	c.rough, c.outside = false, 0
}

// dist returns the distribution for quantiles that no table provides. With six digits it is constructed only when it is
// needed.
func (c *ReportedClass) dist() *Beta {
	if c.tables != nil {
		return c.tables.dist()
	}
	return c.Dist
}

// quantile returns the point x with mass q below and qc above it, and 1 − x.
func (c *ReportedClass) quantile(q, qc float64) (x, y float64) {
	if q == 0 || qc == 0 {
		return 1 - qc, 1 - q
	}
	if z, ok := c.tables.quantile(q, qc); ok {
		return special.Logistic(z)
	}
	return c.dist().quantile(q, qc)
}

// ReportedInterval is an interval after rounding to the resolution.
type ReportedInterval struct {
	Interval
	// AtLeast is set if the interval lies within ε of 0 or of 1 and may contain more
	// mass than its level: no smaller interval can be reported.
	AtLeast bool
}

// Mirror returns the interval of 1 − p.
func (i ReportedInterval) Mirror() ReportedInterval {
	i.Lo, i.Hi = 1-i.Hi, 1-i.Lo
	return i
}

// opposite returns the side of the interval of 1 − p.
func (s Side) opposite() Side {
	switch s {
	case Upper:
		return Lower
	case Lower:
		return Upper
	}
	return s
}

// Interval returns the interval of the given side and level, 0 < level < 1
// (otherwise both ends are NaN).
//
// The two-sided interval leaves out a mass a on the left and b on the right. Both
// are γ/2, with γ = 1 − level, unless an end would lie within ε of 0 or 1:
// with f and h the mass in [0, ε] and in [1−ε, 1], f ≥ h, and B = f + 2(f − h),
//
//	a = 0, b = 0                if γ ≤ h or f = h,
//	a = 0, b = min(γ, B)        else if γ < B + f,
//	a = γ − B, b = B            else if γ < 2B,
//	a = b = γ/2                 else,
//
// and mirrored for f < h: an end that cannot be distinguished from 0 is 0, and its tail
// is moved to the other side. The interval is then extended to contain [0, ε] and the
// mean. Its mass is at least the level, and more only where f, h or the gap between B and
// B + f require it; intervals of larger levels contain those of smaller ones, because a
// and b grow with γ; where the rule changes, ends move by at most ε; and
// Σ Lo ≤ 1 ≤ Σ Hi over the classes. The free end of a one-sided interval is moved to ε,
// or from beyond 1−ε to 1, and likewise at the other side.
func (c ReportedClass) Interval(side Side, level float64) ReportedInterval {
	return c.interval(side, level)
}

// interval is Interval.
func (c *ReportedClass) interval(side Side, level float64) ReportedInterval {
	if !(level > 0 && level < 1) {
		return ReportedInterval{Interval: Interval{math.NaN(), math.NaN()}}
	}
	if c.mirrors != nil {
		return c.mirrors.interval(side.opposite(), level).Mirror()
	}
	if gamma := 1 - level; gamma <= c.outside || c.unsure(gamma) {
		exact := *c
		if exact.measureEnds(); exact.unsure(gamma) {
			exact.exactEnds()
		}
		c = &exact
	}
	if side != TwoSided {
		return c.reported(c.bound(side, level))
	}
	i := c.twoSided(1 - level)
	i.Lo, i.Hi = min(i.Lo, c.mean), max(i.Hi, c.mean)
	return c.reported(i)
}

// prepare computes the quantiles of the median and of intervals of the given levels together, which takes less time than
// one by one.
func (c *ReportedClass) prepare(levels []float64) {
	if c.tables == nil {
		return
	}
	var room [kernel.BetaLanes]tableQuantile
	list := append(room[:0], tableQuantile{q: 0.5, qc: 0.5})
	add := func(q, qc float64) {
		for i := range list {
			if list[i].q == q && list[i].qc == qc {
				return
			}
		}
		if q > 0 && qc > 0 {
			list = append(list, tableQuantile{q: q, qc: qc})
		}
	}
	for _, level := range levels[:min(len(levels), preparedLevels)] {
		gamma := 1 - level
		if !(gamma > c.outside && gamma < 1) || c.unsure(gamma) {
			continue
		}
		low, high := c.leftOut(gamma)
		if !c.resolved(c.above, low) {
			add(low, 1-low)
		}
		if !c.resolved(c.below, high) {
			add(1-high, high)
		}
		if within, beyond := c.boundEnds(Upper, level); !within && !beyond {
			add(1-gamma, gamma)
		}
		if within, beyond := c.boundEnds(Lower, level); !within && !beyond {
			add(gamma, 1-gamma)
		}
	}
	c.tables.prepare(list)
}

// preparedLevels is the largest number of levels of which prepare takes care.
const preparedLevels = 16

// boundEnds reports whether a bound is not a quantile, because it lies within ε of the fixed end, or of the free end.
func (c *ReportedClass) boundEnds(side Side, level float64) (within, beyond bool) {
	near, far := c.below, c.above // masses at the fixed end, and at the free end
	if side == Lower {
		near, far = far, near
	}
	// The masses decide on which side of ε or 1−ε a bound lies: a quantile next to 1
	// has lost its digits.
	return c.resolution > 0 && near >= level, c.resolution > 0 && far > 1-level
}

// bound returns the one-sided interval.
func (c *ReportedClass) bound(side Side, level float64) Interval {
	gamma, i := 1-level, Interval{0, 1}
	within, beyond := c.boundEnds(side, level)
	switch {
	case within && side == Upper:
		i.Hi = c.resolution
	case within:
		i.Lo = 1 - c.resolution
	case beyond:
	case side == Upper:
		i.Hi, _ = c.quantile(1-gamma, gamma)
	default:
		i.Lo, _ = c.quantile(gamma, 1-gamma)
	}
	return i
}

// moved is the multiple of the difference between the masses at both ends that is added
// to the tail opposite the larger one before the nearer end leaves 0. The larger it is,
// the more levels have intervals of exactly their mass; at 0 an interval is either
// one-sided or has equal tails.
const moved = 2

// leftOut returns the masses that the two-sided interval leaves out on the left and on the right.
func (c *ReportedClass) leftOut(gamma float64) (low, high float64) {
	f, h := max(c.below, c.above), min(c.below, c.above)
	near, far := gamma/2, gamma/2 // mass left out at the end with more of it, and beyond
	if far0 := f + moved*(f-h); gamma < 2*far0 {
		switch {
		case gamma <= h || f == h:
			return 0, 0
		case gamma < far0+f:
			near, far = 0, min(gamma, far0)
		default:
			near, far = gamma-far0, far0
		}
	}
	if c.below >= c.above {
		return near, far
	}
	return far, near
}

// resolved reports whether the end of an interval that leaves out a mass lies within ε of the other end of the range, where there is the
// given mass, so that its place does not matter.
func (c *ReportedClass) resolved(mass, leftOut float64) bool {
	const margin = 1e-6 // more than the error of masses
	return c.rough && mass > 1-leftOut+margin
}

// twoSided returns the two-sided interval, which may leave out the mean.
func (c *ReportedClass) twoSided(gamma float64) Interval {
	low, high := c.leftOut(gamma)
	e := c.resolution
	if c.below >= c.above {
		if c.resolved(c.below, high) {
			return Interval{c.lower(low), e}
		}
		lo, hi := c.between(low, high)
		return Interval{lo, max(hi, e)}
	}
	if c.resolved(c.above, low) {
		return Interval{1 - e, c.upper(high)}
	}
	lo, hi := c.between(low, high)
	return Interval{min(lo, 1-e), hi}
}

// between returns the ends that leave out the mass low on the left and high on the right.
func (c *ReportedClass) between(low, high float64) (lo, hi float64) {
	if c.tables == nil {
		return c.Dist.between(low, high)
	}
	return c.lower(low), c.upper(high)
}

// lower returns the end that leaves out a mass on the left, upper that on the right.
func (c *ReportedClass) lower(mass float64) float64 {
	x, _ := c.quantile(mass, 1-mass)
	return x
}

func (c *ReportedClass) upper(mass float64) float64 {
	x, _ := c.quantile(1-mass, mass)
	return x
}
