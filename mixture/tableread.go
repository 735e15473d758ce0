package mixture

import (
	"math"

	"credence/internal/kernel"
)

// tableQuantile is the quantile z with the mass q below and qc above it, as a logit, if a table has it.
type tableQuantile struct {
	q, qc, z float64
	ok       bool
}

// tableReader computes quantiles of tables, as many at a time as there are lanes.
type tableReader struct {
	n          int // lanes in use
	of         [kernel.BetaLanes]*tableQuantile
	from       kernel.BetaPoints // node at which the cell begins
	cells      kernel.BetaCells
	root       kernel.BetaPoints // what they give
	x, nothing []float64         // of ends
	sums       [2]float64
}

// read sets the logit of x, at the next flush at the latest, if the table has it.
func (t *quantileTable) read(r *tableReader, x *tableQuantile) {
	if min(x.q, x.qc) < t.grade.quantile {
		return
	}
	q := x.q
	if q > x.qc {
		q = t.total - x.qc
	}
	switch n := len(t.mass); {
	case q <= t.mass[0]:
		x.z, x.ok = t.far[0].root(r, q)
		return
	case q >= t.mass[n-1]:
		x.z, x.ok = t.far[1].root(r, t.total-q)
		x.z = -x.z
		return
	case len(t.nodes) == 0:
		return
	}
	i := countLess(t.mass, q) - 1 // mass[i] < q ≤ mass[i+1]
	if t.step[i] == 0 {
		return
	}
	t.cell(&r.cells, r.n, i)
	r.of[r.n], r.from[r.n] = x, t.nodes[i]
	r.cells.At[r.n], r.cells.Whole[r.n] = q-t.mass[i], t.mass[i+1]-t.mass[i]
	if r.n++; r.n == kernel.BetaLanes {
		r.flush()
	}
}

// flush computes the quantiles that wait.
func (r *tableReader) flush() {
	if r.n == 0 {
		return
	}
	for lane := r.n; lane < kernel.BetaLanes; lane++ {
		r.cells.Length[lane] = 0 // without a root, which is found at once
	}
	r.cells.Roots(&r.root)
	for i, x := range r.of[:r.n] {
		x.z, x.ok = r.from[i]+r.root[i]*r.cells.Length[i], r.root[i] >= 0 // not a number if there is none
	}
	r.n = 0
}

// cell sets a lane to cell i.
func (t *quantileTable) cell(cells *kernel.BetaCells, lane, i int) {
	cells.Length[lane] = t.step[i]
	stride := len(t.f) / kernel.BetaDerivatives
	for d := range cells.Left {
		f := t.f[d*stride+i:][:2]
		cells.Left[d][lane], cells.Right[d][lane] = f[0], f[1]
	}
}

// tails sets the masses below and above logits, at most as many as lanes.
func (t *quantileTable) tails(r *tableReader, lower, upper, z []float64) {
	n, cells := len(t.nodes), &r.cells
	var cell [kernel.BetaLanes]int
	for lane, z := range z {
		i := min(max(countLess(t.nodes, z)-1, 0), n-2)
		h := max(t.step[i], math.SmallestNonzeroFloat64) // not 0, if there is nothing in the cell
		cell[lane] = i
		t.cell(cells, lane, i)
		cells.At[lane] = min(max((z-t.nodes[i])/h, 0), 1)
	}
	cells.Integrals(&r.root)
	for lane, i := range cell[:len(z)] {
		lower[lane] = min(max(t.mass[i]+r.root[lane], t.mass[i]), t.mass[i+1])
		if z[lane] >= t.nodes[n-1] {
			lower[lane] = t.mass[n-1]
		}
		upper[lane] = t.total - lower[lane]
	}
}

// countLess returns how many of x, which ascends, are less than v.
func countLess(x []float64, v float64) int {
	from, n := 0, len(x)
	for n > 0 {
		half := (n + 1) / 2
		if x[from+half-1] < v {
			from += half
		}
		n -= half
	}
	return from
}

// root returns the logit, beyond the lower end, of the point that has the mass q below it. A component falls there like e^{at}, where
// a is one of its parameters. The logarithm of Σ mass e^{at} is convex, so that Newton's method from t = 0 approaches the point
// from one side.
func (f *farTerms) root(r *tableReader, q float64) (z float64, ok bool) {
	n := len(f.mass)
	rows := f.mass[:2*n] // the masses, and their products with the powers
	for i, m := range f.mass {
		rows[n+i] = m * f.power[i]
	}
	r.x, r.nothing = room(r.x, n)[:n], room(r.nothing, n)[:n]
	clear(r.nothing)
	logQ, at := math.Log(q), 0.0
	for range 50 {
		kernel.ExpLinear(r.x, f.power, r.nothing, at, 0)
		kernel.Dots64(r.sums[:], rows, r.x)
		mass, slope := r.sums[0], r.sums[1]
		if !(mass > 0) {
			return 0, false
		}
		step := (math.Log(mass) - logQ) * mass / slope
		at -= step
		if math.Abs(step) < 1e-5 { // the next one would be below 1e-10
			return at - tableEnd, true
		}
	}
	return 0, false
}
