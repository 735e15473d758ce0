package mixture

import (
	"math"
	"sync"
)

// summaryWork recycles the memory of tables.
var summaryWork = sync.Pool{New: func() any { return new(classTables) }}

// classTables are the tables of one class, constructed when they are first needed. All methods work on a nil
// receiver, which has no tables.
type classTables struct {
	marginal
	all *marginals // to which the marginal distribution belongs

	mu              sync.Mutex
	tables          [len(tableGrades)]quantileTable
	outside         float64 // bound of the mass that is not within ε of the nearer end
	made            [len(tableGrades)]bool
	good            [len(tableGrades)]bool // tables that were constructed and can be used
	exact           *Beta                  // see dist
	reader          tableReader
	known           []tableQuantile  // see prepare
	resolution, end float64          // the logit of the resolution
	one             [1]tableQuantile // of quantile
}

// set prepares the tables of classes from … to−1, of which use selects one, given the moments of all classes.
func (t *classTables) set(m *Dirichlet, mean, variance []float64, from, to int) {
	if t.all == nil {
		t.all = new(marginals)
	}
	t.all.set(m, mean, variance, from, to)
}

// use selects a class, which is reported at a resolution.
func (t *classTables) use(class int, resolution float64) {
	t.marginal = t.all.class(class)
	clear(t.made[:])
	t.exact, t.known = nil, t.known[:0]
	t.outside = outsideOf(min(t.mean, 1-t.mean), t.variance, resolution)
}

// outsideOf returns a bound of the mass above ε of a distribution with the given moments: the inequalities of Markov and of Cantelli,
//
//	P(p > ε) ≤ μ/ε,   P(p > ε) ≤ σ²/(σ² + (ε−μ)²)   for μ < ε.
func outsideOf(mean, variance, resolution float64) float64 {
	if !(mean < resolution) {
		return 1
	}
	d := resolution - mean
	return min(mean/resolution, variance/(variance+d*d))
}

// dist returns the mixture, with its narrowest components as wide as in a table, so that quantiles from both are in
// the order of their masses.
func (t *classTables) dist() *Beta {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exact == nil {
		t.exact = &Beta{components: make([]component, 0, len(t.w))}
		for k, w := range t.w {
			a, b := t.terms.A[k], t.terms.B[k]
			r := tooNarrow(a, b)
			t.exact.add(w, r*a, r*b)
		}
	}
	return t.exact
}

// table returns the table for a q-quantile, or nil if there is none. Where one cannot be used, a finer one often can. For medians
// alone, all that is needed of most distributions at an end, there is a coarser one.
// The caller holds the lock.
func (t *classTables) table(q float64) *quantileTable {
	for i := range tableGrades {
		if q < tableGrades[i].quantile || i == medianGrade && !(t.outside < outsideMost) {
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

// prepare computes quantiles together: list of q and qc as quantile takes them.
func (t *classTables) prepare(list []tableQuantile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = append(t.known, list...)
	t.read(t.known)
}

// read computes quantiles from tables, where there are any. The caller holds the lock.
func (t *classTables) read(list []tableQuantile) {
	for i := range list {
		x := &list[i]
		if table := t.table(min(x.q, x.qc)); table != nil {
			table.read(&t.reader, x)
		}
	}
	t.reader.flush()
}

// quantile returns the logit of the point with mass q below and qc above it, if there is a table for it.
func (t *classTables) quantile(q, qc float64) (z float64, ok bool) {
	if t == nil {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.known {
		if x := &t.known[i]; x.q == q && x.qc == qc {
			return x.z, x.ok
		}
	}
	t.one[0] = tableQuantile{q: q, qc: qc}
	t.read(t.one[:])
	return t.one[0].z, t.one[0].ok
}

// tails returns the masses below and above logits, at most as many as lanes, if there is a table, with the error of one for
// q-quantiles.
func (t *classTables) tails(q float64, lower, upper, z []float64) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	table := t.table(q)
	if table != nil && len(table.nodes) == 0 {
		table = t.table(tableGrades[medianGrade+1].quantile)
	}
	if table != nil {
		table.tails(&t.reader, lower, upper, z)
	}
	return table != nil
}

// ends sets the masses at the ends of a class, if there is a table, and reports whether it did.
func (t *classTables) ends(c *ReportedClass) bool {
	if t == nil {
		return false
	}
	if t.resolution != c.resolution {
		t.resolution, t.end = c.resolution, math.Log(c.resolution)-math.Log1p(-c.resolution)
	}
	z := t.end
	var below, above [2]float64
	ok := t.tails(tableGrades[medianGrade+1].quantile, below[:], above[:], []float64{z, -z})
	if ok {
		c.below, c.above, c.rough = below[0], above[1], true
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
