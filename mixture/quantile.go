package mixture

import (
	"cmp"
	"fmt"
	"math"

	"credence/internal/par"
	"credence/internal/special"
)

// Quantile returns the x below which the distribution has the mass q, for q in [0, 1]; NaN for other q. It is
// accurate to a relative 1e-10 in x; for an x close to 1, [Beta.QuantileBoth] gives 1 − x with the same accuracy. A
// quantile below the smallest positive float64 is 0; [Beta.QuantileLogit] distinguishes it from 0.
func (m *Beta) Quantile(q float64) float64 {
	x, _ := m.QuantileBoth(q)
	return x
}

// QuantileBoth returns the q-quantile x and 1 − x, both to a relative 1e-10.
func (m *Beta) QuantileBoth(q float64) (x, complement float64) {
	return m.quantile(q, 1-q)
}

// ComplementaryQuantile returns the x above which the distribution has the mass
// q, and 1 − x. It is QuantileBoth(1−q) for a q too small to be subtracted from one.
func (m *Beta) ComplementaryQuantile(q float64) (x, complement float64) {
	return m.quantile(1-q, q)
}

// QuantileLogit returns the logit ln(x/(1−x)) of the q-quantile, which stays finite where x or 1 − x underflows: the
// 2.5% quantile of Beta(0.001, 1) is about 10⁻¹⁶⁰².
func (m *Beta) QuantileLogit(q float64) float64 {
	return m.logit(q, 1-q)
}

// quantile returns the point x with mass q below and qc above it, and 1 − x.
func (m *Beta) quantile(q, qc float64) (x, y float64) { return special.Logistic(m.logit(q, qc)) }

// logit returns the logit of the point with mass q below and qc above it, −Inf and +Inf for those without mass on one
// side. It is NaN if a mass is negative.
func (m *Beta) logit(q, qc float64) float64 {
	switch {
	case !(q >= 0 && qc >= 0) || len(m.components) == 0:
		return math.NaN()
	case q == 0:
		return math.Inf(-1)
	case qc == 0:
		return math.Inf(1)
	}
	return m.solve(q, qc)
}

// solve returns the logit of the point with mass q below and qc above it. It solves for the smaller of the two.
func (m *Beta) solve(q, qc float64) float64 {
	ends := [1]laneEnd{laneEndAt(0, q, qc)}
	m.solveEnds(ends[:])
	return ends[0].logit()
}

// between returns the point with the mass low on its left and the point with the mass high on its right. It is faster
// than two calls of quantile.
func (m *Beta) between(low, high float64) (lo, hi float64) {
	if !(low > 0 && low < 1 && high > 0 && high < 1) || len(m.components) == 0 {
		lo, _ = m.quantile(low, 1-low)
		hi, _ = m.quantile(1-high, high)
		return lo, hi
	}
	ends := [2]laneEnd{laneEndAt(0, low, 1-low), laneEndAt(0, 1-high, high)}
	m.solveEnds(ends[:])
	lo, _ = special.Logistic(ends[0].logit())
	hi, _ = special.Logistic(ends[1].logit())
	return lo, hi
}

// tail is the mass beyond a point on the logit scale, with derivatives.
type tail struct {
	mass       float64
	d1, d2, d3 float64
}

// tailAt evaluates the lower tail at the logit u or, if upper, the upper tail at −u, so that it increases with u
// either way. The derivative of a component's tail is its logit density φ = xᵃyᵇ/B, whose own derivatives are
//
//	φ′ = φ λ,   φ″ = φ (λ² − (a+b)xy),   λ = ay − bx.
func (m *Beta) tailAt(u float64, upper bool) (t tail) {
	if upper {
		u = -u
	}
	p := special.AtLogit(u)
	xy := p.X * p.Y
	for i := range m.components {
		c := &m.components[i]
		lower, above, density := c.Tails(&p)
		if upper {
			lower = above
		}
		t.mass += c.weight * lower
		density *= c.weight
		l := c.A*p.Y - c.B*p.X
		t.d1 += density
		t.d2 += density * l
		t.d3 += density * (l*l - (c.A+c.B)*xy)
	}
	if upper {
		t.d2 = -t.d2
	}
	return t
}

// solveTail returns the u at which the tail of tailAt has the mass q ≤ ½.
func (m *Beta) solveTail(q float64, upper bool) float64 {
	r := newTailRoot(m.start(q, upper))
	for range 200 {
		t := m.tailAt(r.u, upper)
		h := math.Inf(-1)
		if t.mass > 0 {
			h = math.Log(t.mass / q)
		}
		h1, r2 := t.d1/t.mass, t.d2/t.mass
		h2 := r2 - h1*h1
		h3 := t.d3/t.mass - 3*h1*r2 + 2*h1*h1*h1
		d := -h / h1
		e2, e3 := h2/(2*h1), h3/(6*h1)
		if r.step(h, d, e2*d, e3*d*d) {
			break
		}
	}
	return r.u
}

// start returns a first guess for solveTail. If a component's weight w exceeds q, the mixture's quantile lies below
// that component's quantile of q/w, and usually close to the smallest of these.
func (m *Beta) start(q float64, upper bool) float64 {
	best, mean := math.Inf(1), 0.0
	logQ := math.Log(q)
	for i := range m.components {
		c := &m.components[i]
		if t := q / c.weight; t < 0.95 {
			best = min(best, c.GuessLogit(t, logQ-c.logWeight, upper))
		} else if math.IsInf(best, 1) {
			mean += c.weight * c.GuessLogit(q, logQ, upper)
		}
	}
	if math.IsInf(best, 1) {
		return mean
	}
	return best
}

// tailRoot finds the u at which a tail has the mass q: the root of h(u) = ln(mass(u)/q), which is nearly linear far out
// and concave for a single component. It reverts h's Taylor series to third order (so that the error is of the fourth),
// inside a bracket that every evaluation tightens. Where the series does not converge, as on the plateau between two
// separated modes, the bracket is halved.
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

// Interval is a set of probabilities between two ends, both included.
type Interval struct {
	Lo, Hi float64
}

// Length returns Hi − Lo.
func (i Interval) Length() float64 { return i.Hi - i.Lo }

// Contains reports whether Lo ≤ x ≤ Hi.
func (i Interval) Contains(x float64) bool { return i.Lo <= x && x <= i.Hi }

// Side specifies which ends of a credible interval are free. With γ = 1 − level and
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

// BetaBatch holds many Beta mixtures of K components each, row by row: the mixture
// of row i is Weights[i·K : (i+1)·K], A and B likewise.
type BetaBatch struct {
	K             int
	Weights, A, B []float64
}

// Len returns the number of rows.
func (r BetaBatch) Len() int {
	if r.K <= 0 {
		return 0
	}
	return len(r.Weights) / r.K
}

func (r BetaBatch) check() error {
	if r.K <= 0 {
		return invalid("expected at least 1 component per row, found %d", r.K)
	}
	if len(r.Weights)%r.K != 0 || len(r.A) != len(r.Weights) || len(r.B) != len(r.Weights) {
		return invalid("expected rows of %d components, found %d weights, %d values of a and %d of b",
			r.K, len(r.Weights), len(r.A), len(r.B))
	}
	return nil
}

// rowsPerPiece is the number of rows per piece of work: about 0.1 ms.
const rowsPerPiece = 256

// IntervalsInto sets dst[i] to the credible interval of row i, as [Beta.Interval] would, on all cores. The result
// does not depend on their number, and there is no allocation per row. If some rows are not mixtures, the error names
// the first of them; the intervals of all other rows are set.
func IntervalsInto(dst []Interval, rows BetaBatch, side Side, level float64) error {
	if err := rows.check(); err != nil {
		return err
	}
	n := rows.Len()
	if len(dst) < n {
		return fmt.Errorf("expected room for %d intervals, one per row, found %d", n, len(dst))
	}
	if !(level > 0 && level < 1) {
		return fmt.Errorf("level: expected a number between 0 and 1, found %v", level)
	}
	errs := make([]error, (n+rowsPerPiece-1)/rowsPerPiece)
	workers := make([]intervalWorker, par.Threads())
	par.ForWorker(len(errs), func(worker, piece int) {
		from := piece * rowsPerPiece
		errs[piece] = workers[worker].intervals(dst, rows, from, min(n, from+rowsPerPiece), side, level)
	})
	return cmp.Or(errs...)
}

// intervalWorker computes intervals of rows in its own scratch memory.
type intervalWorker struct {
	lanes laneSolver
	dist  Beta
	rows  []int // rows that were added to the lanes
}

// intervals sets the intervals of rows from … to−1. If some are not mixtures, the error names the first of them.
func (v *intervalWorker) intervals(dst []Interval, rows BetaBatch, from, to int, side Side, level float64) (err error) {
	gamma := 1 - level
	if side == TwoSided {
		gamma /= 2
	}
	lanes := min(gamma, 1-gamma) >= laneMass
	v.lanes.begin(to-from, rows.K, 2)
	v.rows = room(v.rows, to-from)
	for i := from; i < to; i++ {
		w, a, b := rows.row(i)
		sum, e := checkMixture(w, a, b)
		switch {
		case e != nil:
			if err == nil {
				err = fmt.Errorf("row %d: %w", i, e)
			}
		case lanes && v.lanes.add(w, a, b, sum):
			if side != Upper {
				v.lanes.ends = append(v.lanes.ends, laneEndAt(len(v.rows), gamma, 1-gamma))
			}
			if side != Lower {
				v.lanes.ends = append(v.lanes.ends, laneEndAt(len(v.rows), 1-gamma, gamma))
			}
			v.rows = append(v.rows, i)
		default:
			v.dist.fill(w, a, b, sum)
			dst[i] = v.dist.Interval(side, level)
		}
	}
	v.lanes.solve()
	ends := v.lanes.ends
	next := func(i int) float64 {
		e := &ends[0]
		ends = ends[1:]
		if math.IsNaN(e.root) { // not solved by the lanes
			w, a, b := rows.row(i)
			sum, _ := checkMixture(w, a, b)
			v.dist.fill(w, a, b, sum)
			e.root = v.dist.solveTail(e.q, e.upper)
		}
		x, _ := special.Logistic(e.logit())
		return x
	}
	for _, i := range v.rows {
		dst[i] = Interval{0, 1}
		if side != Upper {
			dst[i].Lo = next(i)
		}
		if side != Lower {
			dst[i].Hi = next(i)
		}
	}
	return err
}

// row returns the weights and parameters of row i.
func (r BetaBatch) row(i int) (w, a, b []float64) {
	from, to := i*r.K, (i+1)*r.K
	return r.Weights[from:to], r.A[from:to], r.B[from:to]
}
