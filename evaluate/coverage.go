package evaluate

import (
	"cmp"
	"slices"

	"credence/mixture"
)

// Coverage is the share of items for which the two-sided interval of a class
// contains its true probability.
type Coverage struct {
	Class string  `json:"class"`
	Level float64 `json:"level"`
	// Stratum is "" for all items, or a stratum of the predicted mean or of the
	// width of the interval (thirds).
	Stratum   string `json:"stratum,omitempty"`
	Items     int    `json:"items"`
	Empirical Number `json:"empirical"`
	SE        Number `json:"se"`
	Width     Number `json:"width"` // mean
}

// meanStrata are the strata of the predicted mean: below each of the bounds, and from
// the last bound upwards.
var (
	meanStrata = []string{"mean below 0.05", "mean 0.05 to 0.2", "mean 0.2 to 0.8", "mean 0.8 to 0.95", "mean from 0.95"}
	meanBounds = []float64{0.05, 0.2, 0.8, 0.95}

	widthStrata = []string{"narrowest third", "middle third", "widest third"}
)

// tallyCoverage adds the coverage of the true probabilities at every
// level: for each class overall and by stratum.
func tallyCoverage(t *tally, s *sample, r *Result, levels []float64) {
	inside := make([]bool, s.n*len(levels))
	width := make([]float64, s.n*len(levels)) // [levels × N]
	for c := range s.d {
		forItems(s.ctx, s.n, func(j int) {
			row := s.Truth[j*s.d : (j+1)*s.d]
			m := NewCovered(s.Predictions[j].Reported(), c, row[c], sum(row[:c])+sum(row[c+1:]))
			for l, level := range levels {
				at := l*s.n + j
				var in mixture.ReportedInterval
				inside[at], in = m.At(level)
				width[at] = in.Length()
			}
		})
		for l, level := range levels {
			at := l * s.n
			s.tallyStrata(t, r, c, level, inside[at:at+s.n], width[at:at+s.n])
		}
	}
}

// tallyStrata adds one class and level: the strata of the mean, which together are
// all items, and those of the width.
func (s *sample) tallyStrata(t *tally, r *Result, class int, level float64, inside []bool, width []float64) {
	byWidth, _ := equalMass(width, slices.Repeat([]float64{1}, s.n), len(widthStrata))
	family := func(names []string, of func(j int) int) (items, hits, widths int) {
		k := len(names)
		items, hits, widths = t.column(k), t.column(k), t.column(k)
		counts := make([]int, k)
		for j := range s.n {
			b := of(j)
			counts[b]++
			t.add(s.unit[j], items+b, 1)
			t.add(s.unit[j], widths+b, width[j])
			if inside[j] {
				t.add(s.unit[j], hits+b, 1)
			}
		}
		for b, name := range names {
			c := &Coverage{Class: s.Classes[class], Level: level, Stratum: name, Items: counts[b]}
			t.estimateOf(counts[b], &c.Empirical, &c.SE, ratio(hits+b, items+b))
			t.estimate(&c.Width, nil, ratio(widths+b, items+b))
			t.then(func() { r.CoverageStrata = append(r.CoverageStrata, *c) })
		}
		return items, hits, widths
	}
	items, hits, widths := family(meanStrata, func(j int) int {
		b := 0
		for b < len(meanBounds) && s.means(j)[class] >= meanBounds[b] {
			b++
		}
		return b
	})
	k := len(meanStrata)
	all := &Coverage{Class: s.Classes[class], Level: level, Items: s.n}
	t.estimate(&all.Empirical, &all.SE, func(x []float64) float64 {
		return sum(x[hits:hits+k]) / sum(x[items:items+k])
	})
	t.estimate(&all.Width, nil, func(x []float64) float64 {
		return sum(x[widths:widths+k]) / sum(x[items:items+k])
	})
	t.then(func() { r.Coverage = append(r.Coverage, *all) })
	family(widthStrata, func(j int) int { return byWidth[j] })
}

// Covered decides whether the reported intervals of a class contain a true probability x, given with
// y = 1 − x. Without a resolution it compares masses, not ends: lo ≤ x is F(x) ≥ γ/2, so that
// neither quantiles nor the rounding of 1 − x matter.
type Covered struct {
	class        mixture.ReportedClass
	lower, upper float64 // the masses below and above x
	x, y         float64
	resolved     bool
}

// NewCovered returns a Covered for a true probability x = 1 − y of a class.
func NewCovered(r mixture.Reported, class int, x, y float64) *Covered {
	c := &Covered{class: r.Class(class), x: x, y: y, resolved: r.Resolution > 0}
	if !c.resolved {
		if r.Average != nil {
			c.lower, c.upper = c.class.CDF(x), c.class.Survival(x)
		} else {
			c.lower, c.upper = tails(c.class.Dist, x, y)
		}
	}
	return c
}

// tails returns the masses below and above x = 1 − y.
func tails(m *mixture.Beta, x, y float64) (lower, upper float64) {
	if x <= y {
		return m.CDF(x), m.Survival(x)
	}
	m = m.Reflect()
	return m.Survival(y), m.CDF(y)
}

// At reports whether the two-sided interval of the level contains x, and returns the interval.
func (c *Covered) At(level float64) (inside bool, in mixture.ReportedInterval) {
	in = c.class.Interval(mixture.TwoSided, level)
	if !c.resolved {
		tail := (1 - level) / 2
		return c.lower >= tail && c.upper >= tail, in
	}
	// Only the ends 0 and 1 lie where x or y lose digits.
	above := c.x >= in.Lo || c.y <= 1-in.Lo
	below := c.x <= in.Hi || c.y >= 1-in.Hi
	return above && below, in
}

// WidthGroup is the width of intervals among items with unanimous or with mixed
// votes: the width of the two-sided interval of each item's predicted class.
type WidthGroup struct {
	// Group is "unanimous" or "mixed".
	Group string `json:"group"`
	// Class is the class that all votes are for, or "" for all classes together.
	Class  string   `json:"class"`
	Items  int      `json:"items"`
	Mean   Estimate `json:"mean"`
	Median Estimate `json:"median"`
}

// widths returns, for every item, the width of the two-sided interval of its predicted class at a
// level, and the numbers of intervals that lie within the resolution of 0 or 1 or are [0, 1].
func (s *sample) widths(level float64) (width []float64, atLeast, vacuous int) {
	width = make([]float64, s.n)
	intervals := make([]mixture.ReportedInterval, s.n)
	forItems(s.ctx, s.n, func(j int) {
		intervals[j] = s.Predictions[j].Reported().Class(s.top[j]).Interval(mixture.TwoSided, level)
	})
	for j, in := range intervals {
		width[j] = in.Length()
		if in.AtLeast {
			atLeast++
		}
		if in.Lo == 0 && in.Hi == 1 {
			vacuous++
		}
	}
	return width, atLeast, vacuous
}

// tallyWidths adds the width by agreement of the votes, over items with two
// votes or more.
func tallyWidths(t *tally, s *sample, r *Result, width []float64, b Bootstrap) {
	r.Widths = []WidthGroup{{Group: "unanimous"}, {Group: "mixed"}}
	for _, name := range s.Classes {
		r.Widths = append(r.Widths, WidthGroup{Group: "unanimous", Class: name})
	}
	members := make([][]int, len(r.Widths))
	for _, j := range s.itemsWith(2) {
		votes := s.Votes.Item(j)
		if most := argmax(votes); votes[most] == s.total[j] {
			members[0] = append(members[0], j)
			members[2+most] = append(members[2+most], j)
		} else {
			members[1] = append(members[1], j)
		}
	}
	for g := range r.Widths {
		w := &r.Widths[g]
		w.Items = len(members[g])
		w.Median = s.median(members[g], width, b)
		mean := s.ratio(t, members[g], func(j int) (total, items float64) { return width[j], 1 })
		t.estimateOf(w.Items, &w.Mean.Value, &w.Mean.SE, mean)
	}
}

// median returns the median of a value over some items, and its standard error.
func (s *sample) median(items []int, value []float64, b Bootstrap) Estimate {
	if len(items) == 0 {
		return Estimate{unknown, unknown}
	}
	order := slices.Clone(items)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(value[i], value[j]) })
	sorted := make([]float64, len(order))
	for i, j := range order {
		sorted[i] = value[j]
	}
	median := Number(sortedQuantile(sorted, 0.5))
	if s.units < 2 || len(items) < 2 {
		return Estimate{median, unknown}
	}
	draws := make([]float64, b.replicates(s.units))
	b.each(s.units, func(r int, times []int32) {
		n := int32(0)
		for _, j := range order {
			n += times[s.unit[j]]
		}
		draws[r] = float64(unknown)
		seen := int32(0)
		for i, j := range order {
			if seen += times[s.unit[j]]; n > 0 && 2*seen >= n {
				draws[r] = sorted[i]
				break
			}
		}
	})
	return Estimate{median, Number(deviation(draws))}
}
