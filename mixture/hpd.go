package mixture

import (
	"context"
	"math"

	"credence/internal/special"
)

// HighestDensity returns the shortest set of the given level: all x whose
// density exceeds a threshold, a union of disjoint intervals in increasing
// order, more than one if the density has several modes. A flat density has no
// unique such set; the two-sided interval is returned. Pieces with less than
// 1e-12 of its mass, as around a pole of minute weight, are left out. The
// result is nil unless 0 < level < 1.
func (m *Beta) HighestDensity(level float64) []Interval {
	set, _ := m.HighestDensityContext(context.Background(), level)
	return set
}

// HighestDensityContext is [Beta.HighestDensity], which for a mixture of a thousand components may take
// seconds. When ctx is done it stops and returns the context's error.
func (m *Beta) HighestDensityContext(ctx context.Context, level float64) ([]Interval, error) {
	if !(level > 0 && level < 1) || len(m.components) == 0 {
		return nil, ctx.Err()
	}
	sh := m.shape(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if sh.flat {
		return []Interval{m.Interval(TwoSided, level)}, nil
	}
	s := newLevelSet(ctx, m, sh, end{z: math.Inf(-1), log: m.LogPDF(0), upper: 1}, end{z: math.Inf(1), log: m.LogPDF(1), lower: 1})
	s.solve(level, 1-level)
	return s.intervals(1e-12 * level), ctx.Err()
}

// A branch is a stretch between two turns, where the density is monotone.
type branch struct {
	lo, hi    end // the ends of the branch
	rises     bool
	at        end     // where the density crosses the threshold, between lo and hi
	slope     float64 // of the log-density there; 0 if it does not cross
	threshold float64 // for which at was found
}

// end is a point with its log-density and the mass on either side.
type end struct {
	z            float64 // its logit; ±Inf at 0 and 1
	log          float64 // the log-density
	lower, upper float64 // the mass on either side
}

// levelSet is the set {x : ln f(x) ≥ threshold}; solve finds the threshold.
//
// Once ctx is done nothing more is computed, and the set is meaningless.
type levelSet struct {
	ctx      context.Context
	m        *Beta
	branches []branch
}

// newLevelSet cuts the stretch from lo to hi at the turns of the density.
func newLevelSet(ctx context.Context, m *Beta, sh shape, lo, hi end) *levelSet {
	s := &levelSet{ctx: ctx, m: m, branches: make([]branch, 0, len(sh.turns)+1)}
	rises := sh.rising
	next := func(to end) {
		s.branches = append(s.branches, branch{lo: lo, hi: to, rises: rises, at: end{z: math.NaN()}})
		lo = to
	}
	for _, z := range sh.turns {
		if z >= hi.z || ctx.Err() != nil {
			break
		}
		if z > lo.z {
			next(m.endAt(z))
		}
		rises = !rises
	}
	next(hi)
	return s
}

// endAt returns the point with the logit z, which is finite.
func (m *Beta) endAt(z float64) end {
	log, _, _ := m.logPDFCurve(z)
	return m.endWith(z, log)
}

// endWith returns the point with the logit z, which is finite, and the log-density there.
func (m *Beta) endWith(z, log float64) end {
	p := special.AtLogit(z)
	lower, upper := m.tailsAt(&p)
	return end{z, log, lower, upper}
}

// solve moves the threshold to where the set has the mass level and the rest of
// the stretch gamma, by Newton's method within a bracket on the logarithm of the
// odds of lying outside, which is nearly linear both far up a pole and far out in a
// tail. If the threshold moves by δ, an end of the set moves by δ/slope and the mass
// outside by that times the density.
func (s *levelSet) solve(level, gamma float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range s.branches {
		b := &s.branches[i]
		lo = min(lo, b.lo.log, b.hi.log)
		hi = max(hi, b.lo.log, b.hi.log)
	}
	t := s.start(gamma, lo)
	reach, last := 1.0, math.Inf(1)
	for range 200 {
		out, in, rate := s.masses(t)
		if s.ctx.Err() != nil {
			return
		}
		h, slope := math.Log(out/gamma)-math.Log(in/level), rate/out+rate/in
		if math.Abs(h) < 1e-15 {
			return
		}
		if h < 0 {
			lo = t
		} else {
			hi = t
		}
		if hi-lo <= 1e-15*max(1, math.Abs(t)) {
			return
		}
		next := t - h/slope
		switch {
		case next > lo && next < hi && math.Abs(next-t) <= reach && math.Abs(h) < 0.7*last:
			// Each step about doubles the digits, so that this one is the last.
			if math.Abs(h) < 1e-8 || math.Abs(next-t) < 1e-15*max(1, math.Abs(t)) {
				s.masses(next)
				return
			}
		case !math.IsInf(lo, 0) && !math.IsInf(hi, 0):
			next = lo + (hi-lo)/2
		case h < 0:
			next = t + reach
		default:
			next = t - reach
		}
		if !(next > lo && next < hi) {
			next = inside(lo, hi)
		}
		reach *= 2
		t, last = next, math.Abs(h)
	}
}

// start returns a first guess for the threshold: the density at the end of the
// upper or lower bound if the density falls or rises throughout, between those at
// the ends of the two-sided interval if it falls to both sides, and slightly
// above the lowest dip if it rises to both.
func (s *levelSet) start(gamma, lowest float64) float64 {
	m := s.m
	rises, falls := s.branches[0].rises, !s.branches[len(s.branches)-1].rises
	log := func(q, qc float64) float64 {
		l, _, _ := m.logPDFCurve(m.solve(q, qc))
		return l
	}
	switch {
	case rises && falls:
		a, b := log(gamma/2, 1-gamma/2), log(1-gamma/2, gamma/2)
		return min(a, b) + math.Abs(a-b)/2
	case falls:
		return log(1-gamma, gamma)
	case rises:
		return log(gamma, 1-gamma)
	}
	return lowest + 0.1
}

// masses sets the crossings for the threshold t and returns the mass where the
// density is below it and where it is above, and the derivative of the former
// with respect to t.
func (s *levelSet) masses(t float64) (outside, inside, rate float64) {
	for i := range s.branches {
		if s.ctx.Err() != nil {
			return
		}
		b := &s.branches[i]
		s.cross(b, t)
		left, right := between(&b.lo, &b.at), between(&b.at, &b.hi)
		if b.rises {
			outside, inside = outside+left, inside+right
		} else {
			outside, inside = outside+right, inside+left
		}
		if b.slope != 0 {
			p := special.AtLogit(b.at.z)
			rate += math.Exp(t+p.LogX+p.LogY) / math.Abs(b.slope)
		}
	}
	return outside, inside, rate
}

// cross finds where the log-density crosses t on the branch, by Halley's method
// within a bracket, starting from the previous crossing, extrapolated to t.
func (s *levelSet) cross(b *branch, t float64) {
	sign := -1.0
	if b.rises {
		sign = 1
	}
	z := b.at.z
	if b.slope != 0 {
		if moved := z + (t-b.threshold)/b.slope; moved > b.lo.z && moved < b.hi.z && math.Abs(moved-z) < 1 {
			z = moved
		}
	}
	// The crossing lies at an end if the whole branch is on one side of t.
	b.slope, b.threshold = 0, t
	if sign*(b.lo.log-t) >= 0 {
		b.at = b.lo
		return
	}
	if sign*(b.hi.log-t) <= 0 {
		b.at = b.hi
		return
	}
	lo, hi := b.lo.z, b.hi.z
	if !(z > lo && z < hi) || math.IsInf(z, 0) {
		z = inside(lo, hi)
	}
	reach, last := 1.0, math.Inf(1)
	for range 300 {
		l, d, d2 := s.m.logPDFCurve(z)
		b.slope = d
		h := sign * (l - t)
		if h < 0 {
			lo = z
		} else {
			hi = z
		}
		// Halley's step is Newton's, −(l−t)/d, over 1 + bend; its error is of the
		// order of step·bend² or, if the log-density bends little, of step·h².
		step := -(l - t) / d
		bend := step * d2 / (2 * d)
		if bend > -0.8 {
			step /= 1 + bend
		}
		next, exact := z+step, 1e-15*max(1, math.Abs(z))
		if math.Abs(step) <= exact || h == 0 || hi-lo <= exact {
			break
		}
		if math.Abs(h) < 1e-5 && math.Abs(step)*max(h*h, bend*bend) <= exact && next > lo && next < hi {
			z = next
			b.slope += d2 * step
			break
		}
		switch {
		case next > lo && next < hi && math.Abs(next-z) <= reach && math.Abs(h) < 0.7*last:
		case !math.IsInf(lo, 0) && !math.IsInf(hi, 0):
			next = lo + (hi-lo)/2
		case h < 0:
			next = min(z+reach, hi)
		default:
			next = max(z-reach, lo)
		}
		reach *= 2
		z, last = next, math.Abs(h)
	}
	b.at = s.m.endWith(z, t)
}

// inside returns a finite number between lo and hi.
func inside(lo, hi float64) float64 {
	switch {
	case math.IsInf(lo, 0) && math.IsInf(hi, 0):
		return 0
	case math.IsInf(lo, 0):
		return hi - 1
	case math.IsInf(hi, 0):
		return lo + 1
	}
	return lo + (hi-lo)/2
}

// between returns the mass between two points, from whichever tails are smaller.
func between(from, to *end) float64 {
	switch {
	case !(from.z < to.z):
		return 0
	case to.lower < from.upper:
		return max(0, to.lower-from.lower)
	}
	return max(0, from.upper-to.upper)
}

// intervals returns the set as intervals of x, without pieces of at most the given
// mass.
func (s *levelSet) intervals(least float64) []Interval {
	var set []Interval
	add := func(from, to *end) {
		if between(from, to) > least {
			set = append(set, Interval{special.AtLogit(from.z).X, special.AtLogit(to.z).X})
		}
	}
	// A dip that stays above the threshold does not end a piece.
	last := len(s.branches) - 1
	from, open := &s.branches[0].lo, !s.branches[0].rises
	for i := range s.branches {
		b := &s.branches[i]
		switch {
		case b.rises && !open:
			from, open = &b.at, true
		case !b.rises && (b.at.z < b.hi.z || i == last):
			add(from, &b.at)
			open = false
		}
	}
	if open && s.branches[last].rises {
		add(from, &s.branches[last].hi)
	}
	return set
}

// cellSet computes highest-density sets of a distribution that is constant on the cells [0, ε]
// and [1−ε, 1]: as the threshold falls, the set between them grows continuously, and
// each cell is added as a whole at its own density.
type cellSet struct {
	c      ReportedClass
	middle *levelSet
	mass   float64 // of the part between the cells
	cells  []cell  // in order of falling density
}

// cell is an end of [0, 1] with its mass.
type cell struct {
	high bool // whether it is [1−ε, 1]
	mass float64
}

func newCellSet(ctx context.Context, c ReportedClass, sh shape) *cellSet {
	e := c.resolution
	z := math.Log(e) - math.Log1p(-e)
	lo, hi := c.Dist.endAt(-math.Abs(z)), c.Dist.endAt(math.Abs(z))
	lo.lower, hi.upper = c.below, c.above
	s := &cellSet{c: c, middle: newLevelSet(ctx, c.Dist, sh, lo, hi), mass: between(&lo, &hi)}
	s.cells = []cell{{false, c.below}, {true, c.above}}
	if c.above > c.below {
		s.cells[0], s.cells[1] = s.cells[1], s.cells[0]
	}
	return s
}

// find returns the set of the given level.
func (s *cellSet) find(level float64) (set []Interval, atLeast bool) {
	in := 0.0 // mass of the cells in the set
	for n, cell := range s.cells {
		// The mass of the middle where its density is above the cell's.
		_, above, _ := s.middle.masses(math.Log(cell.mass / s.c.resolution))
		if in+above >= level {
			return s.with(n, level-in)
		}
		if in += cell.mass; in+above >= level {
			return s.join(n+1, s.middle.intervals(1e-12*level))
		}
	}
	return s.with(len(s.cells), level-in)
}

// with returns the first n cells and the part of the middle that has the given mass.
func (s *cellSet) with(n int, mass float64) ([]Interval, bool) {
	if rest := s.mass - mass; rest > 0 {
		s.middle.solve(mass, rest)
		return s.join(n, s.middle.intervals(1e-12*mass))
	}
	e := s.c.resolution
	return s.join(n, []Interval{{e, 1 - e}}) // only rounding leaves a rest
}

// join returns the union of the first n cells and pieces of the middle.
func (s *cellSet) join(n int, pieces []Interval) ([]Interval, bool) {
	e := s.c.resolution
	// The ends of the middle are logits, which may round to a neighbour of ε or 1−ε.
	const digits = 1e-12
	set := pieces
	for _, c := range s.cells[:n] {
		switch last := len(set) - 1; {
		case c.high && last >= 0 && set[last].Hi >= (1-e)*(1-digits):
			set[last].Hi = 1
		case c.high:
			set = append(set, Interval{1 - e, 1})
		case last >= 0 && set[0].Lo <= e*(1+digits):
			set[0].Lo = 0
		default:
			set = append([]Interval{{0, e}}, set...)
		}
	}
	return set, len(pieces) == 0
}
