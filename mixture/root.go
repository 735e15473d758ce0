package mixture

import "math"

// tailRoot finds the u at which a tail has the mass q: the root of h(u) = ln(mass(u)/q), which is nearly linear far out and
// concave for a single component. It reverts h's Taylor series to third order (so that the error is of the fourth), inside a
// bracket that every evaluation tightens. Where the series is of no use, as on the plateau between two separated modes, the
// bracket is halved.
type tailRoot struct {
	u      float64 // where h is to be evaluated, and the root in the end
	lo, hi float64 // the bracket
	reach  float64 // how far a step may go beyond a one-sided bracket
	last   float64 // |h| at the previous evaluation
}

func newTailRoot(start float64) tailRoot {
	return tailRoot{start, math.Inf(-1), math.Inf(1), 1 + math.Abs(start), math.Inf(1)}
}

// step moves u, given at u h, the step of Newton's method d = −h/h′, a = d h″/(2h′) and b = d² h‴/(6h′), all but h NaN or
// infinite where there are no derivatives. It reports whether u is the root.
func (r *tailRoot) step(h, d, a, b float64) (done bool) {
	if h == 0 {
		return true
	}
	u := r.u
	if h < 0 {
		r.lo = u
	} else {
		r.hi = u
	}
	if r.hi-r.lo <= 0x1p-51*math.Abs(u) {
		return true
	}
	next := math.NaN()
	if d*h < 0 && !math.IsInf(d, 0) {
		// size is how fast the series shrinks.
		size := max(math.Abs(h), math.Abs(a), math.Sqrt(math.Abs(b)))
		if size < 0.35 {
			step := d * (1 - a + 2*a*a - b)
			next = u + step
			if s3 := size * size * size; s3*size < 1e-15 && s3*math.Abs(d) < 1e-14 ||
				math.Abs(step) <= 0x1p-52*math.Abs(u) {
				if next > r.lo && next < r.hi {
					r.u = next
				}
				return true
			}
		} else if k := 1 + a; k > 0.2 {
			next = u + d/k // Halley's method
		} else {
			next = u + d
		}
	}
	switch {
	case next > r.lo && next < r.hi && math.Abs(next-u) <= r.reach && math.Abs(h) < 0.7*r.last:
	case !math.IsInf(r.lo, 0) && !math.IsInf(r.hi, 0):
		next = r.lo + (r.hi-r.lo)/2
	case h < 0:
		next = u + r.reach
		r.reach *= 2
	default:
		next = u - r.reach
		r.reach *= 2
	}
	r.last = math.Abs(h)
	r.u = next
	return false
}
