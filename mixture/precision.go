package mixture

import (
	"context"
	"math"
	"sync"

	"credence/internal/special"
)

// Precision is how exactly what is told of an item is computed. It decides the bits of the result: whoever asks for
// the same precision is told the same, alone or beside other items, on any number of cores.
type Precision int

const (
	// Full has relative errors below 1e-10, as [Beta.Quantile] and [Dirichlet.TopClass] have them.
	Full Precision = iota
	// SixDigits is for numbers of which at most six digits are shown, and several times as fast. The
	// end Q̂ of an interval, or the median, is off by at most 1e-7 or, where a distribution is so flat that
	// this says little, |F(Q̂) − F(Q)| ≤ 1e-7 min(F(Q), 1−F(Q)) with F the distribution function. The
	// probabilities of being the most probable class are off by at most 1e-7.
	SixDigits
)

// PrecisionOf returns the precision for numbers of which so many significant digits are shown.
func PrecisionOf(digits int) Precision {
	if digits <= 6 {
		return SixDigits
	}
	return Full
}

// WithPrecision returns what is told with the given precision.
func (r Reported) WithPrecision(p Precision) Reported {
	r.Precision = p
	return r
}

// ClassSummary is what is told of one class.
type ClassSummary struct {
	Mean, SD, Median float64
	// Top is the probability that the class is the most probable one, 0 if it was not asked for.
	Top float64
	// Intervals has one entry for each level.
	Intervals []ClassIntervals
}

// ClassIntervals are the intervals of a class at one level.
type ClassIntervals struct{ TwoSided, Upper, Lower ReportedInterval }

// Mirror returns those of 1 − p.
func (i ClassIntervals) Mirror() ClassIntervals {
	return ClassIntervals{i.TwoSided.Mirror(), i.Lower.Mirror(), i.Upper.Mirror()}
}

// Summarize returns what is told of all classes; top says whether to add the probabilities of being the most
// probable one. The numbers are those of [Reported.Class] and [Reported.TopClass], which take more time apart.
// It takes long for many classes or levels: when ctx is done, it stops and returns the context's error.
func (r Reported) Summarize(ctx context.Context, levels []float64, top bool) ([]ClassSummary, error) {
	d := r.Dist.Classes()
	list := make([]ClassSummary, d)
	room := make([]ClassIntervals, d*len(levels))
	work := summaryWork.Get().(*classTables)
	defer summaryWork.Put(work)
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

// classIn returns what is told of class i, before begin, in the memory of work.
func (r Reported) classIn(work *classTables, i int) ReportedClass {
	c := ReportedClass{resolution: r.Resolution, average: r.Average, class: i}
	if r.Precision != Full {
		work.set(r.Dist, i)
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

// sixDigitsTop bounds the error of the probabilities of being on top, to six digits.
const sixDigitsTop = 1e-7

// summaryWork keeps the memory of tables.
var summaryWork = sync.Pool{New: func() any { return new(classTables) }}

// classTables are the tables of one class, made when they are first needed. All methods may be called of nil,
// which has none.
type classTables struct {
	w, a, b []float64 // [K]: the mixture

	mu     sync.Mutex
	tables [len(tableGrades)]quantileTable
	made   [len(tableGrades)]bool
	good   [len(tableGrades)]bool // tables that were made and can be used
	exact  *Beta                  // see distribution
}

// set makes them those of a class.
func (t *classTables) set(m *Dirichlet, class int) {
	t.w, t.a, t.b = t.w[:0], t.a[:0], t.b[:0]
	for k, w := range m.weights {
		t.w, t.a, t.b = append(t.w, w), append(t.a, m.alpha[k][class]), append(t.b, special.SumExcept(m.alpha[k], class))
	}
	clear(t.made[:])
	t.exact = nil
}

// distribution returns the mixture, with its narrowest components as wide as in a table: quantiles from both then have the order of
// their masses.
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

// moments returns the mean and the variance, as [Beta.Moments] does.
func (t *classTables) moments() (mean, variance float64) {
	return moments(len(t.w), func(k int) (w, a, b float64) { return t.w[k], t.a[k], t.b[k] })
}

// table returns the table for a q-quantile, nil if there is none.
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
			t.made[i], t.good[i] = true, t.tables[i].make(&tableGrades[i], t.w, t.a, t.b)
		}
		if t.good[i] {
			return &t.tables[i]
		}
		break
	}
	return nil
}

// quantile returns the logit of the point with mass q below and qc above it, if a table can tell.
func (t *classTables) quantile(q, qc float64) (z float64, ok bool) {
	table := t.table(min(q, qc))
	if table == nil {
		return 0, false
	}
	return table.quantile(q, qc)
}

// tails returns the mass below and above the logit z, if a table can tell.
func (t *classTables) tails(z float64) (lower, upper float64, ok bool) {
	table := t.table(0.5)
	if table == nil {
		return 0, 0, false
	}
	lower, upper = table.tails(z)
	return lower, upper, true
}

// ends sets the masses at the ends of a class, if a table can tell.
func (t *classTables) ends(c *ReportedClass) bool {
	z := math.Log(c.resolution) - math.Log1p(-c.resolution)
	below, _, ok := t.tails(z)
	if ok {
		_, above, _ := t.tails(-z)
		c.below, c.above, c.rough = below, above, true
	}
	return ok
}

// endsError bounds the error of masses from a table, and endsLeast is the smallest that may have it.
const endsError, endsLeast = 1e-8, 0.01

// unsure reports whether it takes more exact masses to tell the interval of a level: where cases of
// [ReportedClass.Interval] meet, and where the mass left out at an end is a difference of them.
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
