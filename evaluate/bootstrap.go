package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"

	"credence/internal/par"
	"credence/internal/rng"
)

// Bootstrap configures the standard errors, which come from resampling the items
// (or, if items come in groups, the groups) with replacement. The fitted model is
// held fixed, so an error measures how a number varies between samples of items,
// not between trainings.
type Bootstrap struct {
	// Replicates is the number of resamples; 0 means 1,000, or 200 if there are
	// more than 50,000 items, which are then drawn in blocks.
	Replicates int
	// Seed fixes the draws: the same seed gives the same errors, on any number
	// of cores.
	Seed uint64

	ctx context.Context // of [EvaluateContext], or nil
}

func (b Bootstrap) replicates(units int) int {
	switch {
	case b.Replicates > 0:
		return b.Replicates
	case units > manyUnits:
		return 200
	}
	return 1000
}

// draw sets times[u] to the number of times that unit u occurs in replicate r.
func (b Bootstrap) draw(times []int32, r int) {
	clear(times)
	s := rng.New(b.Seed, "evaluate.Bootstrap", uint64(r))
	n := uint64(len(times))
	for range times {
		u, _ := bits.Mul64(s.Uint64(), n)
		times[u]++
	}
}

// each calls body once for every replicate, with the number of times that each unit
// occurs in it, on all cores. What body writes must depend on r alone.
func (b Bootstrap) each(units int, body func(r int, times []int32)) {
	par.Chunks(b.replicates(units), 8, func(lo, hi int) {
		times := make([]int32, units)
		for r := lo; r < hi && (b.ctx == nil || b.ctx.Err() == nil); r++ {
			b.draw(times, r)
			body(r, times)
		}
	})
}

// unitsOf numbers the units of resampling 0 … n−1 in order of appearance. A nil
// groups makes every item its own unit.
func unitsOf[G comparable](items int, groups []G) (of []int, n int, err error) {
	of = make([]int, items)
	if groups == nil {
		for j := range of {
			of[j] = j
		}
		return of, items, nil
	}
	if len(groups) != items {
		return nil, 0, fmt.Errorf("expected groups of %d items, found %d", items, len(groups))
	}
	number := map[G]int{}
	for j, g := range groups {
		u, ok := number[g]
		if !ok {
			u = len(number)
			number[g] = u
		}
		of[j] = u
	}
	return of, len(number), nil
}

// A tally sums columns unit by unit. All statistics are functions of the column
// sums, so one pass over a replicate serves them all.
type tally struct {
	columns int
	units   [][]unitSums // contributions of each unit
	outputs []output
	after   []func()
}

type unitSums struct {
	column int32
	value  float64
}

type output struct {
	value, se, lo, hi, p *Number // all but value may be nil
	f                    func(sums []float64) float64
}

func newTally(units int) *tally { return &tally{units: make([][]unitSums, units)} }

// column reserves n neighboring columns and returns the first.
func (t *tally) column(n int) int {
	t.columns += n
	return t.columns - n
}

// add adds v to a column on behalf of unit u.
func (t *tally) add(u, column int, v float64) {
	if v != 0 {
		t.units[u] = append(t.units[u], unitSums{int32(column), v})
	}
}

// addAll adds values to neighboring columns on behalf of unit u.
func (t *tally) addAll(u, first int, values ...float64) {
	for i, v := range values {
		t.add(u, first+i, v)
	}
}

// totals returns the sums of the columns.
func (t *tally) totals() []float64 {
	sums := make([]float64, t.columns)
	for _, unit := range t.units {
		for _, u := range unit {
			sums[u.column] += u.value
		}
	}
	return sums
}

// estimate arranges for value and se (which may be nil) to be set to the statistic
// f of the column sums and to its standard error when the tally is run.
func (t *tally) estimate(value, se *Number, f func(sums []float64) float64) {
	t.outputs = append(t.outputs, output{value: value, se: se, f: f})
}

// interval is like estimate, with a percentile interval.
func (t *tally) interval(e *IntervalEstimate, f func(sums []float64) float64) {
	t.outputs = append(t.outputs, output{&e.Value, &e.SE, &e.Lo, &e.Hi, nil, f})
}

// difference is like interval, with the p-value for a difference of zero.
func (t *tally) difference(d *Difference, f func(sums []float64) float64) {
	t.outputs = append(t.outputs, output{&d.Value, &d.SE, &d.Lo, &d.Hi, &d.PValue, f})
}

// then arranges for f to be called when the tally is run, after all estimates are set.
func (t *tally) then(f func()) { t.after = append(t.after, f) }

// estimateOf is estimate over the given number of items: with fewer than two there is
// no standard error.
func (t *tally) estimateOf(items int, value, se *Number, f func(sums []float64) float64) {
	if items < 2 {
		*se = unknown
		se = nil
	}
	t.estimate(value, se, f)
}

// ratio returns the statistic Σ numerator / Σ denominator of two columns.
func ratio(numerator, denominator int) func(sums []float64) float64 {
	return func(sums []float64) float64 { return sums[numerator] / sums[denominator] }
}

// run computes every estimate and its standard error: the standard deviation
// over the replicates in which the statistic is defined. With fewer than two
// units the standard error is unknown.
func (t *tally) run(b Bootstrap) {
	sums := make([]float64, t.columns)
	for _, unit := range t.units {
		for _, c := range unit {
			sums[c.column] += c.value
		}
	}
	for _, o := range t.outputs {
		*o.value = Number(o.f(sums))
		for _, n := range []*Number{o.se, o.lo, o.hi, o.p} {
			if n != nil {
				*n = unknown
			}
		}
	}
	if len(t.units) >= 2 && len(t.outputs) > 0 {
		t.spread(b)
	}
	for _, f := range t.after {
		f()
	}
}

// spread finds the standard errors, intervals and p-values from replicates.
func (t *tally) spread(b Bootstrap) {
	drawn := slices.DeleteFunc(slices.Clone(t.outputs), func(o output) bool { return o.se == nil })
	draws := t.draws(b, drawn)
	column := make([]float64, 0, b.replicates(len(t.units)))
	for k, o := range drawn {
		if !o.value.Known() {
			continue
		}
		column = column[:0]
		for r := k; r < len(draws); r += len(drawn) {
			column = append(column, draws[r])
		}
		*o.se = Number(deviation(column))
		if o.lo != nil && o.se.Known() {
			column = slices.DeleteFunc(column, math.IsNaN)
			slices.Sort(column)
			*o.lo, *o.hi = Number(sortedQuantile(column, 0.025)), Number(sortedQuantile(column, 0.975))
			if o.p != nil {
				*o.p = Number(signP(column))
			}
		}
	}
}

// signP returns the two-sided p-value for a statistic of zero, from its sorted replicates.
func signP(sorted []float64) float64 {
	below := sort.Search(len(sorted), func(i int) bool { return sorted[i] > 0 })
	above := len(sorted) - sort.SearchFloat64s(sorted, 0)
	return min(1, 2*float64(1+min(below, above))/float64(len(sorted)+1))
}

// If there are more than manyUnits units, manyBlocks blocks of units are drawn instead:
// units are independent, so errors stay the same, and the time does not grow further.
const (
	manyUnits  = 50_000
	manyBlocks = 10_000
)

// blocks returns what is resampled: the units, or blocks of units if there are many.
func (t *tally) blocks() [][]unitSums {
	if len(t.units) <= manyUnits {
		return t.units
	}
	sums := make([]float64, manyBlocks*t.columns)
	for u, unit := range t.units {
		block := sums[u%manyBlocks*t.columns:][:t.columns]
		for _, c := range unit {
			block[c.column] += c.value
		}
	}
	blocks := make([][]unitSums, manyBlocks)
	for i := range blocks {
		for c, v := range sums[i*t.columns:][:t.columns] {
			if v != 0 {
				blocks[i] = append(blocks[i], unitSums{int32(c), v})
			}
		}
	}
	return blocks
}

// draws returns the statistics of all replicates, [replicates × outputs].
func (t *tally) draws(b Bootstrap, outputs []output) []float64 {
	k, units := len(outputs), t.blocks()
	b.Replicates = b.replicates(len(t.units))
	draws := make([]float64, b.Replicates*k)
	b.each(len(units), func(r int, times []int32) {
		s := make([]float64, t.columns)
		for u, n := range times {
			if n == 0 {
				continue
			}
			w := float64(n)
			for _, c := range units[u] {
				s[c.column] += w * c.value
			}
		}
		for i, o := range outputs {
			draws[r*k+i] = o.f(s)
		}
	})
	return draws
}

// deviation returns the standard deviation of the finite numbers of s, or NaN if
// more than half of s is not finite.
func deviation(s []float64) float64 {
	n, mean, m2 := 0.0, 0.0, 0.0
	for _, x := range s {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		n++
		d := x - mean
		mean += d / n
		m2 += d * (x - mean)
	}
	if n < 2 || 2*n < float64(len(s)) {
		return math.NaN()
	}
	return math.Sqrt(m2 / (n - 1))
}

// sortedQuantile interpolates linearly between order statistics (the method of
// Hyndman and Fan's type 7).
func sortedQuantile(s []float64, q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	h := q * float64(len(s)-1)
	i := min(int(h), len(s)-1)
	k := min(i+1, len(s)-1)
	return s[i] + (h-float64(i))*(s[k]-s[i])
}
