package mixture

import (
	"math"

	"credence/internal/special"
)

// HighestDensity returns the shortest set of the given level: all x whose
// density exceeds a threshold, a union of disjoint intervals in increasing
// order, more than one if the density has several modes. A flat density has no
// unique such set; the two-sided interval is returned. Pieces that hold less
// than 1e-12 of it, as around a pole of minute weight, are left out. The
// result is nil unless 0 < level < 1.
func (m *Beta) HighestDensity(level float64) []Interval {
	if !(level > 0 && level < 1) || len(m.components) == 0 {
		return nil
	}
	sh := m.shape()
	if sh.flat {
		return []Interval{m.Interval(TwoSided, level)}
	}
	s := newLevelSet(m, sh)
	s.solve(level)
	return s.intervals(level)
}

// A branch is a stretch between two turns, where the density is monotone.
type branch struct {
	lo, hi float64 // its ends, as logits; ±Inf at 0 and 1
	rises  bool
	at     float64 // where the density crosses the threshold, within [lo, hi]
	slope  float64 // of the log-density there; 0 if it does not cross
}

// levelSet is {x : ln f(x) ≥ threshold}, with the threshold still to be found.
type levelSet struct {
	m        *Beta
	branches []branch
}

func newLevelSet(m *Beta, sh shape) *levelSet {
	s := &levelSet{m: m}
	lo, rises := math.Inf(-1), sh.rising
	for _, z := range append(sh.turns, math.Inf(1)) {
		s.branches = append(s.branches, branch{lo: lo, hi: z, rises: rises, at: math.NaN()})
		lo, rises = z, !rises
	}
	return s
}

// solve moves the threshold to where the set has the given mass, by Newton's
// method within a bracket on the logarithm of the mass outside or inside,
// whichever is to be smaller. If the threshold moves by δ, an end of the set
// moves by δ/slope and the mass outside by that times the density.
func (s *levelSet) solve(level float64) {
	gamma := 1 - level
	// The threshold lies between the densities at the ends of the two-sided
	// interval if both ends see the same one, and near them otherwise.
	a, _ := s.m.logPDFSlope(s.m.solve(gamma/2, 1-gamma/2))
	b, _ := s.m.logPDFSlope(s.m.solve(1-gamma/2, gamma/2))
	t := min(a, b) + math.Abs(a-b)/2
	lo, hi := math.Inf(-1), math.Inf(1)
	reach, last := 1.0, math.Inf(1)
	for range 200 {
		out, in, rate := s.masses(t)
		h, slope := math.Log(out/gamma), rate/out
		if level < 0.5 {
			h, slope = math.Log(level/in), rate/in
		}
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
			if math.Abs(next-t) < 1e-15*max(1, math.Abs(t)) {
				return
			}
		case !math.IsInf(lo, 0) && !math.IsInf(hi, 0):
			next = lo + (hi-lo)/2
		case h < 0:
			next = t + reach
			reach *= 2
		default:
			next = t - reach
			reach *= 2
		}
		t, last = next, math.Abs(h)
	}
}

// masses sets the crossings for the threshold t and returns the mass where the
// density is below it and where it is above, and the derivative of the former
// with respect to t.
func (s *levelSet) masses(t float64) (outside, inside, rate float64) {
	for i := range s.branches {
		b := &s.branches[i]
		s.cross(b, t)
		left, right := s.m.between(b.lo, b.at), s.m.between(b.at, b.hi)
		if b.rises {
			outside, inside = outside+left, inside+right
		} else {
			outside, inside = outside+right, inside+left
		}
		if b.slope != 0 {
			p := special.AtLogit(b.at)
			rate += math.Exp(t+p.LogX+p.LogY) / math.Abs(b.slope)
		}
	}
	return outside, inside, rate
}

// cross finds where the log-density crosses t on the branch, by Newton's method
// within a bracket, from the crossing found last.
func (s *levelSet) cross(b *branch, t float64) {
	sign := -1.0
	if b.rises {
		sign = 1
	}
	// The crossing lies at an end if the whole branch is on one side of t.
	b.slope = 0
	if l := s.endLogPDF(b.lo); sign*(l-t) >= 0 {
		b.at = b.lo
		return
	}
	if l := s.endLogPDF(b.hi); sign*(l-t) <= 0 {
		b.at = b.hi
		return
	}
	lo, hi := b.lo, b.hi
	z := b.at
	if !(z > lo && z < hi) || math.IsInf(z, 0) {
		z = inside(lo, hi)
	}
	reach, last := 1.0, math.Inf(1)
	for range 300 {
		l, d := s.m.logPDFSlope(z)
		b.slope = d
		h := sign * (l - t)
		if h < 0 {
			lo = z
		} else {
			hi = z
		}
		next := z - (l-t)/d
		if math.Abs(next-z) <= 1e-15*max(1, math.Abs(z)) || h == 0 || hi-lo <= 1e-15*max(1, math.Abs(z)) {
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
	b.at = z
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

// endLogPDF is the log-density at the logit z, which may be infinite.
func (s *levelSet) endLogPDF(z float64) float64 {
	if math.IsInf(z, 0) {
		return s.m.LogPDF(0.5 + math.Copysign(0.5, z))
	}
	l, _ := s.m.logPDFSlope(z)
	return l
}

// between returns the mass between two logits, from whichever tails are smaller.
func (m *Beta) between(from, to float64) float64 {
	if !(from < to) {
		return 0
	}
	l0, u0 := m.tailsAtLogit(from)
	l1, u1 := m.tailsAtLogit(to)
	if l1 < u0 {
		return max(0, l1-l0)
	}
	return max(0, u0-u1)
}

func (m *Beta) tailsAtLogit(z float64) (lower, upper float64) {
	switch {
	case math.IsInf(z, -1):
		return 0, 1
	case math.IsInf(z, 1):
		return 1, 0
	}
	p := special.AtLogit(z)
	return m.tailsAt(&p)
}

// intervals returns the set as intervals of x.
func (s *levelSet) intervals(level float64) []Interval {
	var set []Interval
	add := func(from, to float64) {
		if s.m.between(from, to) > 1e-12*level {
			set = append(set, Interval{special.AtLogit(from).X, special.AtLogit(to).X})
		}
	}
	// A dip that stays above the threshold does not end a piece.
	from, open := math.Inf(-1), !s.branches[0].rises
	for i, b := range s.branches {
		switch {
		case b.rises && !open:
			from, open = b.at, true
		case !b.rises && (b.at < b.hi || i == len(s.branches)-1):
			add(from, b.at)
			open = false
		}
	}
	if open && s.branches[len(s.branches)-1].rises {
		add(from, math.Inf(1))
	}
	return set
}
