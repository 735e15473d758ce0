package mixture

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"credence/internal/par"
	"credence/internal/rng"
	"credence/internal/special"
)

// drawDist draws a distribution of d classes of one of the kinds that models give, or of an extreme one.
func drawDist(r *rand.Rand, d int) *Dirichlet {
	kind := r.IntN(7)
	k := []int{15, 15, 3, 6, 1 + r.IntN(4), 30, 15}[kind]
	weights, alpha := make([]float64, k), make([][]float64, k)
	center := make([]float64, d)
	for i := range center {
		center[i] = 2 * r.NormFloat64()
	}
	center[r.IntN(d)] += 6 * r.Float64()
	largest := 16.0
	for c := range k {
		alpha[c] = make([]float64, d)
		weights[c] = r.ExpFloat64()
		total := 2 + 1.5*r.NormFloat64()
		for i := range d {
			switch kind {
			case 0, 1, 5: // networks that more or less agree, most components with little weight
				alpha[c][i] = total + center[i] + 0.5*r.NormFloat64()
				weights[c] = math.Exp(-12 * r.Float64())
			case 2: // those of credence bench intervals
				alpha[c][i] = 1 + 1.5*r.NormFloat64()
			case 3: // modes far apart, some of them narrow
				alpha[c][i] = 3 * (r.NormFloat64() + 1)
				weights[c] = math.Exp(3 * r.NormFloat64())
			case 4: // all of the range
				alpha[c][i] = -6.9 + 23*r.Float64()
				weights[c] = math.Exp(6 * r.NormFloat64())
			case 6: // networks that are all but certain, each of something else
				alpha[c][i] = 4*total + 2*center[i] + 2*r.NormFloat64()
				weights[c] = math.Exp(-20 * r.Float64())
				largest = 30
				if c < 5 {
					alpha[c][i] += 12
					weights[c] = 1
				}
			}
			alpha[c][i] = math.Exp(min(max(alpha[c][i], -6.9), largest))
		}
	}
	total := special.Sum(weights)
	for c := range weights {
		weights[c] /= total
	}
	m, err := NewDirichlet(weights, alpha)
	if err != nil {
		panic(err)
	}
	return m
}

// sameEnd returns an error if the end of an interval is farther from the exact one than [SixDigits] allows.
func sameEnd(m *Beta, got, want float64) error {
	if math.Abs(got-want) <= 1e-7 {
		return nil
	}
	f, s := m.CDF(want), m.Survival(want)
	if off := math.Abs(m.CDF(got) - f); off <= 1e-7*min(f, s) {
		return nil
	}
	return fmt.Errorf("%.12g, want %.12g: mass below it %.12g, want %.12g", got, want, m.CDF(got), f)
}

// sameSummary returns an error if a summary to six digits differs from the full one by more than is allowed.
func sameSummary(r Reported, levels []float64) error {
	want, _ := r.WithPrecision(Full).Summarize(context.Background(), levels, true)
	got, _ := r.WithPrecision(SixDigits).Summarize(context.Background(), levels, true)
	lowest, highest := 0.0, 0.0
	for i := range got {
		m := r.Dist.Marginal(i)
		g, w := &got[i], &want[i]
		if g.Mean != w.Mean || g.SD != w.SD {
			return fmt.Errorf("class %d: moments differ", i)
		}
		if math.Abs(g.Top-w.Top) > 1e-7 {
			return fmt.Errorf("class %d: on top with %v, want %v", i, g.Top, w.Top)
		}
		if err := sameEnd(m, g.Median, w.Median); err != nil {
			return fmt.Errorf("class %d: median: %w", i, err)
		}
		for k, level := range levels {
			a, b := &g.Intervals[k], &w.Intervals[k]
			for _, ends := range [][2]ReportedInterval{{a.TwoSided, b.TwoSided}, {a.Upper, b.Upper}, {a.Lower, b.Lower}} {
				for _, end := range [][2]float64{{ends[0].Lo, ends[1].Lo}, {ends[0].Hi, ends[1].Hi}} {
					if err := sameEnd(m, end[0], end[1]); err != nil {
						return fmt.Errorf("class %d, level %v: %w", i, level, err)
					}
				}
				if ends[0].AtLeast != ends[1].AtLeast && math.Abs(ends[0].Hi-ends[1].Hi)+math.Abs(ends[0].Lo-ends[1].Lo) == 0 {
					return fmt.Errorf("class %d, level %v: at least: %v", i, level, ends[0].AtLeast)
				}
			}
			// The ends of the second of two classes are one minus those of the first, which rounds.
			if g.Mean < a.TwoSided.Lo-1e-14 || g.Mean > a.TwoSided.Hi+1e-14 {
				return fmt.Errorf("class %d, level %v: %v leaves out the mean %v", i, level, a.TwoSided, g.Mean)
			}
			if k > 0 && !(a.TwoSided.Lo <= g.Intervals[k-1].TwoSided.Lo && a.TwoSided.Hi >= g.Intervals[k-1].TwoSided.Hi) {
				return fmt.Errorf("class %d: %v of level %v does not contain %v", i, a.TwoSided, level, g.Intervals[k-1].TwoSided)
			}
		}
		lowest += g.Intervals[0].TwoSided.Lo
		highest += g.Intervals[0].TwoSided.Hi
	}
	if lowest > 1+1e-12 || highest < 1-1e-12 {
		return fmt.Errorf("lower ends sum to %v, upper ones to %v", lowest, highest)
	}
	return nil
}

// TestSixDigits compares summaries to six digits with full ones: a hundred thousand distributions of two
// classes, and some of more.
func TestSixDigits(t *testing.T) {
	for _, c := range []struct{ classes, dists int }{{2, mixtures()}, {3, mixtures() / 50}, {10, mixtures() / 100}} {
		const each = 100
		var mu sync.Mutex
		failed := 0
		par.For((c.dists+each-1)/each, func(piece int) {
			r := rand.New(rng.New(7, "six digits", uint64(c.classes), uint64(piece)))
			for i := range each {
				reported := Reported{Dist: drawDist(r, c.classes), Resolution: 0.02 * r.Float64()}
				levels := []float64{0.95}
				switch i % 10 {
				case 0:
					levels, reported.Resolution = []float64{0.5, 0.9, 0.99}, 0
				case 1:
					levels = []float64{0.2, 0.95, 0.999, 0.9999}
				}
				if err := sameSummary(reported, levels); err != nil {
					mu.Lock()
					if failed++; failed <= 5 {
						t.Errorf("%d classes, distribution %d of piece %d, resolution %v: %v", c.classes, i, piece, reported.Resolution, err)
					}
					mu.Unlock()
				}
			}
		})
		if failed > 0 {
			t.Errorf("%d classes: %d of %d distributions", c.classes, failed, c.dists)
		}
	}
}

// TestSixDigitsAtAnEnd: distributions within the resolution of an end, most of which have no masses at the ends, have the summaries of full
// ones, also for levels that depend on these masses.
func TestSixDigitsAtAnEnd(t *testing.T) {
	r := rand.New(rng.New(11, "six digits"))
	assumed, beyond := 0, 0
	const dists = 4000
	for i := range dists {
		k := 1 + r.IntN(12)
		w, small, large := make([]float64, k), make([]float64, k), make([]float64, k)
		size := math.Exp(-14 * r.Float64())
		for c := range w {
			w[c] = r.ExpFloat64()
			total := math.Exp(12 * r.Float64())
			small[c] = max(total*size*math.Exp(r.NormFloat64()), 1e-9)
			large[c] = total
		}
		special.Normalize(w)
		alpha := make([][]float64, k)
		for c := range alpha {
			if alpha[c] = []float64{small[c], large[c]}; i%2 == 0 {
				alpha[c] = []float64{large[c], small[c]}
			}
		}
		reported := Reported{Dist: mustDirichlet(t, w, alpha), Resolution: 0.02 * r.Float64()}
		if err := sameSummary(reported, []float64{0.6, 0.95, 0.99, 0.9999}); err != nil {
			t.Errorf("distribution %d, resolution %v: %v", i, reported.Resolution, err)
		}
		if c := reported.WithPrecision(SixDigits).Class(0); c.outside > 0 {
			assumed++
			if c.QuantileBoth(0.5); len(c.tables.tables[medianGrade].nodes) == 0 {
				beyond++
			}
		}
	}
	if assumed < dists/4 || beyond < dists/50 {
		t.Errorf("of %d distributions the masses at the ends of %d were not computed, and %d had a median beyond all nodes", dists, assumed, beyond)
	}
}

// TestSixDigitsSymmetric: the rule of [ReportedClass.Interval] has a case of its own for equal masses at both ends.
func TestSixDigitsSymmetric(t *testing.T) {
	for _, a := range []float64{0.01, 0.1, 0.3, 0.9, 1, 2, 10, 300} {
		m := mustDirichlet(t, []float64{1}, [][]float64{{a, a}})
		if err := sameSummary(Reported{Dist: m, Resolution: 0.02}, []float64{0.5, 0.8, 0.95}); err != nil {
			t.Errorf("Beta(%v, %v): %v", a, a, err)
		}
	}
}

// TestSixDigitsSameBits: a class requested alone has the same bits, by several goroutines at once.
func TestSixDigitsSameBits(t *testing.T) {
	r := rand.New(rng.New(8, "six digits"))
	for range 200 {
		reported := Reported{Dist: drawDist(r, 2+r.IntN(3)), Resolution: 0.01, Precision: SixDigits}
		levels := []float64{0.8, 0.95, 0.999}
		all, _ := reported.Summarize(t.Context(), levels, true)
		top := reported.TopClass(nil)
		for i := range all {
			if top[i] != all[i].Top {
				t.Fatalf("class %d on top with %v, alone %v", i, all[i].Top, top[i])
			}
			c := reported.Class(i)
			if x, _ := c.QuantileBoth(0.5); x != all[i].Median {
				t.Fatalf("median of class %d is %v, alone %v", i, all[i].Median, x)
			}
			par.For(len(levels), func(k int) {
				for side, want := range []ReportedInterval{all[i].Intervals[k].TwoSided, all[i].Intervals[k].Upper, all[i].Intervals[k].Lower} {
					if got := c.Interval(Side(side), levels[k]); got != want {
						t.Errorf("class %d, %v: %v, alone %v", i, Side(side), want, got)
					}
				}
			})
		}
	}
}

// TestTableRange: beyond the ends that a table gives a component there is no more mass than claimed.
func TestTableRange(t *testing.T) {
	r := rand.New(rng.New(9, "table"))
	for range 20000 {
		a, b := math.Exp(18*r.Float64()-7), math.Exp(18*r.Float64()-7)
		var table quantileTable
		g := &tableGrades[r.IntN(len(tableGrades))]
		m, err := NewBeta([]float64{1}, []float64{a}, []float64{b})
		if err != nil {
			t.Fatal(err)
		}
		var of marginals
		of.set(m.Dirichlet(), nil, nil, 0, 1)
		class := of.class(0)
		if !table.make(g, &class) {
			continue
		}
		lo, hi := table.terms.Range(0)
		lower, upper := m.CDF(1/(1+math.Exp(-lo))), m.Reflect().CDF(1/(1+math.Exp(hi)))
		if lo > -tableEnd && lower > g.missing() || hi < tableEnd && upper > g.missing() {
			t.Fatalf("Beta(%v, %v): masses %v and %v beyond %v and %v", a, b, lower, upper, lo, hi)
		}
	}
}

// TestTableToTheEnds: mixtures that extend to both ends of the logits have a table, however many nodes that is. The coarse
// one does not suffice for some.
func TestTableToTheEnds(t *testing.T) {
	r := rand.New(rng.New(10, "table"))
	const pairs = 2000
	coarse := 0
	for range pairs {
		var a, b [3]float64
		for k := range a {
			a[k], b[k] = math.Exp(8*r.Float64()), math.Exp(-3*r.Float64())
		}
		for _, m := range []*Beta{mustBeta(t, a[:], b[:]), mustBeta(t, b[:], a[:])} {
			var table quantileTable
			var of marginals
			of.set(m.Dirichlet(), nil, nil, 0, 1)
			class := of.class(0)
			if table.make(&tableGrades[medianGrade+1], &class) {
				coarse++
			} else if !table.make(&tableGrades[medianGrade+2], &class) {
				t.Errorf("no table of parameters %v and %v with %d nodes, total mass %v", a, b, len(table.nodes), table.total)
			}
		}
	}
	if coarse < 2*pairs*95/100 {
		t.Errorf("%d of %d mixtures have a coarse table", coarse, 2*pairs)
	}
}

// mustBeta returns a mixture of equal weights.
func mustBeta(t *testing.T, a, b []float64) *Beta {
	t.Helper()
	w := make([]float64, len(a))
	for i := range w {
		w[i] = 1 / float64(len(w))
	}
	m, err := NewBeta(w, a, b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func BenchmarkSummarize(b *testing.B) {
	for _, d := range []int{2, 5, 10} {
		list := ensembles(b, 200, d)
		for name, p := range map[string]Precision{"full": Full, "six": SixDigits} {
			b.Run(fmt.Sprintf("classes=%d/digits=%s", d, name), func(b *testing.B) {
				i := 0
				for b.Loop() {
					Reported{Dist: list[i%len(list)], Resolution: 0.01, Precision: p}.Summarize(b.Context(), []float64{0.95}, true)
					i++
				}
			})
		}
	}
}
