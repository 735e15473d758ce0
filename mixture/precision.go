package mixture

import (
	"context"
	"math"
	"sort"
	"sync"

	"credence/internal/kernel"
	"credence/internal/special"
)

// Precision is the accuracy of reported numbers. Results depend only on the mixture and the precision, to the last
// bit, not on batching or the number of cores.
type Precision int

const (
	// Full has relative errors below 1e-10, as [Beta.Quantile] and [Dirichlet.TopClass] have them.
	Full Precision = iota
	// SixDigits is for numbers that are shown with at most six digits, and several times as fast. The
	// error of the end Q̂ of an interval, or of the median, is at most 1e-7 or, where the distribution is too
	// flat for that, |F(Q̂) − F(Q)| ≤ 1e-7 min(F(Q), 1−F(Q)) with F the distribution function. The
	// error of the probabilities of being the most probable class is at most 1e-7.
	SixDigits
)

// PrecisionOf returns the precision for numbers shown with the given number of significant digits.
func PrecisionOf(digits int) Precision {
	if digits <= 6 {
		return SixDigits
	}
	return Full
}

// WithPrecision returns r with the given precision.
func (r Reported) WithPrecision(p Precision) Reported {
	r.Precision = p
	return r
}

// ClassSummary summarizes the reported distribution of one class.
type ClassSummary struct {
	Mean, SD, Median float64
	// Top is the probability that the class is the most probable one, 0 if it was not requested.
	Top float64
	// Intervals has one entry for each level.
	Intervals []ClassIntervals
}

// ClassIntervals are the intervals of a class at one level.
type ClassIntervals struct{ TwoSided, Upper, Lower ReportedInterval }

// Mirror returns the intervals of 1 − p.
func (i ClassIntervals) Mirror() ClassIntervals {
	return ClassIntervals{i.TwoSided.Mirror(), i.Lower.Mirror(), i.Upper.Mirror()}
}

// Summarize returns the summaries of all classes; top requests the probabilities of being the most probable
// class. The numbers are those of [Reported.Class] and [Reported.TopClass], which take more time separately.
// With many classes or levels it can take long: when ctx is done, it stops and returns the context's error.
func (r Reported) Summarize(ctx context.Context, levels []float64, top bool) ([]ClassSummary, error) {
	d := r.Dist.Classes()
	list := make([]ClassSummary, d)
	room := make([]ClassIntervals, d*len(levels))
	work := summaryWork.Get().(*classTables)
	defer summaryWork.Put(work)
	if r.Precision != Full {
		work.set(r.Dist, 0, d)
	}
	complement := 0.0
	for i := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := &list[i]
		s.Intervals, room = room[:len(levels):len(levels)], room[len(levels):]
		c := r.classIn(work, i)
		var variance float64
		s.Mean, variance = c.Moments()
		s.SD = math.Sqrt(variance)
		second := i == 1 && d == 2
		if second && r.Resolution > 0 {
			s.Median = complement
			for k := range levels {
				s.Intervals[k] = list[0].Intervals[k].Mirror()
			}
			continue
		}
		c.begin()
		if s.Median = complement; !second {
			s.Median, complement = c.QuantileBoth(0.5)
		}
		for k, level := range levels {
			if k%64 == 63 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			s.Intervals[k] = ClassIntervals{c.Interval(TwoSided, level), c.Interval(Upper, level), c.Interval(Lower, level)}
		}
		if top && i == 0 && d == 2 && r.Average == nil {
			list[0].Top, list[1].Top = c.topOfTwo()
		}
	}
	if top && (d > 2 || r.Average != nil) {
		p, err := r.topClass(ctx, nil)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Top = p[i]
		}
	}
	return list, nil
}

// classIn returns the reported class i, one of those that work was set to. The caller has to call begin.
func (r Reported) classIn(work *classTables, i int) ReportedClass {
	c := ReportedClass{resolution: r.Resolution, average: r.Average, class: i}
	if r.Precision != Full {
		work.use(i)
		c.tables = work
	}
	if r.Precision == Full || r.Average != nil {
		c.Dist = r.Dist.Marginal(i)
	}
	return c
}

// topOfTwo returns the probabilities that the first and the second of two classes are the more probable one.
func (c *ReportedClass) topOfTwo() (first, second float64) {
	lower, upper, ok := c.tables.tails(0)
	if !ok {
		half := special.At(0.5)
		lower, upper = c.dist().tailsAt(&half)
	}
	return upper / (upper + lower), lower / (upper + lower)
}

// sixDigitsTop bounds the error of TopClass with SixDigits.
const sixDigitsTop = 1e-7

// summaryWork recycles the memory of tables.
var summaryWork = sync.Pool{New: func() any { return new(classTables) }}

// classTables are the tables of one class, constructed when they are first needed. All methods work on a nil
// receiver, which has no tables.
type classTables struct {
	marginal
	all *marginals // to which the marginal distribution belongs

	mu     sync.Mutex
	tables [len(tableGrades)]quantileTable
	made   [len(tableGrades)]bool
	good   [len(tableGrades)]bool // tables that were constructed and can be used
	exact  *Beta                  // see dist
}

// set prepares the tables of classes from … to−1, of which use selects one.
func (t *classTables) set(m *Dirichlet, from, to int) {
	if t.all == nil {
		t.all = new(marginals)
	}
	t.all.set(m, from, to)
}

// use selects a class.
func (t *classTables) use(class int) {
	t.marginal = t.all.class(class)
	clear(t.made[:])
	t.exact = nil
}

// dist returns the mixture, with its narrowest components as wide as in a table, so that quantiles from both are in
// the order of their masses.
func (t *classTables) dist() *Beta {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exact == nil {
		t.exact = &Beta{components: make([]component, 0, len(t.w))}
		for k, w := range t.w {
			r := tooNarrow(t.a[k], t.b[k])
			t.exact.add(w, r*t.a[k], r*t.b[k])
		}
	}
	return t.exact
}

// table returns the table for a q-quantile, or nil if there is none. Where one cannot be used, a finer one often can.
func (t *classTables) table(q float64) *quantileTable {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range tableGrades {
		if q < tableGrades[i].quantile {
			continue
		}
		if !t.made[i] {
			t.made[i], t.good[i] = true, t.tables[i].make(&tableGrades[i], &t.marginal)
		}
		if t.good[i] {
			return &t.tables[i]
		}
	}
	return nil
}

// quantile returns the logit of the point with mass q below and qc above it, if there is a table for it.
func (t *classTables) quantile(q, qc float64) (z float64, ok bool) {
	return t.table(min(q, qc)).quantile(q, qc)
}

// tails returns the mass below and above the logit z, if there is a table.
func (t *classTables) tails(z float64) (lower, upper float64, ok bool) {
	table := t.table(0.5)
	if table == nil {
		return 0, 0, false
	}
	lower, upper = table.tails(z)
	return lower, upper, true
}

// ends sets the masses at the ends of a class, if there is a table, and reports whether it did.
func (t *classTables) ends(c *ReportedClass) bool {
	z := math.Log(c.resolution) - math.Log1p(-c.resolution)
	below, _, ok := t.tails(z)
	if ok {
		_, above, _ := t.tails(-z)
		c.below, c.above, c.rough = below, above, true
	}
	return ok
}

// endsError bounds the error of masses from a table, and endsLeast is the smallest mass for which that is enough.
const endsError, endsLeast = 1e-8, 0.01

// unsure reports whether the interval of a level requires more accurate masses: where cases of
// [ReportedClass.Interval] meet, and where the mass outside an end is a difference of masses.
func (c *ReportedClass) unsure(gamma float64) bool {
	if !c.rough {
		return false
	}
	f, h := max(c.below, c.above), min(c.below, c.above)
	far := f + moved*(f-h)
	near := func(x, y float64) bool { return math.Abs(x-y) <= 8*endsError }
	if near(gamma, f) || near(gamma, h) || near(1-gamma, f) || near(1-gamma, h) {
		return true
	}
	if gamma > 2*far+8*endsError {
		return false
	}
	return near(f, h) || near(gamma, far+f) || near(gamma, 2*far) || gamma > far && min(far, max(gamma-far, f)) < endsLeast
}

// beyondEnds returns the logit, beyond the last node, of the point that has the mass q beyond it; upper selects the end at
// which x is 1. A component falls there like e^{at}, where a is one of its parameters. The logarithm of Σ tail e^{at} is
// convex, so that Newton's method from t = 0 approaches the point from one side.
func (t *quantileTable) beyondEnds(q float64, upper bool) (z float64, ok bool) {
	s := laneSolvers.Get().(*laneSolver)
	defer laneSolvers.Put(s)
	terms, far := t.terms.Terms, t.far[0]
	if upper {
		far = t.far[1]
	}
	// a, the masses at the last node, these at the point, and zeros
	s.a, s.w, s.x, s.nought = room(s.a, len(terms)), room(s.w, len(terms)), room(s.x, len(terms)), room(s.nought, len(terms))
	for i, m := range far {
		if m > 0 {
			s.a, s.w = append(s.a, powerAt(&terms[i], upper)), append(s.w, m)
		}
	}
	n := len(s.a)
	masses, zeros := s.x[:n], s.nought[:n]
	clear(zeros)
	logQ, at := math.Log(q), 0.0
	for range 50 {
		kernel.ExpLinear(masses, s.a, zeros, at, 0)
		mass, slope := 0.0, 0.0
		for i, m := range masses {
			m *= s.w[i]
			mass += m
			slope += s.a[i] * m
		}
		if !(mass > 0) {
			return 0, false
		}
		step := (math.Log(mass) - logQ) * mass / slope
		at -= step
		if math.Abs(step) < 1e-9 {
			return at - tableEnd, true
		}
	}
	return 0, false
}

// quantile returns the logit of the point with the mass q below and qc above it, if the table provides it. A nil
// table provides none.
func (t *quantileTable) quantile(q, qc float64) (z float64, ok bool) {
	if t == nil || min(q, qc) < t.grade.quantile {
		return 0, false
	}
	if q > qc {
		q = t.total - qc
	}
	switch n := len(t.nodes); {
	case q <= t.mass[0]:
		return t.beyondEnds(q, false)
	case q >= t.mass[n-1]:
		z, ok = t.beyondEnds(t.total-q, true)
		return -z, ok
	}
	i := sort.SearchFloat64s(t.mass, q) - 1 // mass[i] < q ≤ mass[i+1]
	if t.step[i] == 0 {
		return 0, false
	}
	c := t.polynomial(i)
	want, whole := q-t.mass[i], t.mass[i+1]-t.mass[i]
	at, lo, hi := want/whole, 0.0, 1.0
	for range 40 {
		d, left := c.density(at), want-c.integral(at)
		if !(d > 0) {
			return 0, false
		}
		if left > 0 {
			lo = at
		} else {
			hi = at
		}
		step := left / d
		next := at + step
		if math.Abs(step) < 1e-7 { // the next one would be below 1e-13
			return t.nodes[i] + min(max(next, 0), 1)*t.step[i], true
		}
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		at = next
	}
	return 0, false
}

// tails returns the mass below and above the logit z.
func (t *quantileTable) tails(z float64) (lower, upper float64) {
	n := len(t.nodes)
	switch {
	case z <= t.nodes[0]:
		return t.mass[0], t.total
	case z >= t.nodes[n-1]:
		return t.mass[n-1], t.total - t.mass[n-1]
	}
	i := sort.SearchFloat64s(t.nodes, z) - 1
	lower = t.mass[i]
	if h := t.step[i]; h > 0 {
		c := t.polynomial(i)
		lower = min(max(lower+c.integral((z-t.nodes[i])/h), lower), t.mass[i+1])
	}
	return lower, t.total - lower
}
