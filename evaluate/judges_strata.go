package evaluate

import (
	"cmp"
	"math"
	"slices"

	"credence/dataset"
)

// mostLevels is the largest number of levels of a category whose levels are strata of judges.
const mostLevels = 10

// strata returns the parts of the items in which the errors of judges are reported, and sets which items each has: thirds by predicted
// disagreement, the sides of the median of each number, and the levels of each category with a few.
func (c *judgeComparison) strata() ([]JudgeStratum, error) {
	var list []JudgeStratum
	var members [][]bool
	n := c.ds.Len()
	add := func(column, name string, in func(i int) bool) {
		set := make([]bool, n)
		for i := range set {
			set[i] = in(i)
		}
		list, members = append(list, JudgeStratum{Column: column, Name: name}), append(members, set)
	}
	cut := func(column string, value []float64, names []string) {
		sorted := slices.DeleteFunc(slices.Clone(value), math.IsNaN)
		slices.Sort(sorted)
		if len(sorted) < len(names) || sorted[0] == sorted[len(sorted)-1] {
			return
		}
		for k, name := range names {
			lo, hi := math.Inf(-1), math.Inf(1)
			if k > 0 {
				lo = sorted[len(sorted)*k/len(names)]
			}
			if k+1 < len(names) {
				hi = sorted[len(sorted)*(k+1)/len(names)]
			}
			add(column, name, func(i int) bool { return value[i] >= lo && value[i] < hi })
		}
	}
	if c.options.Disagreement != nil {
		cut(DisagreementColumn, c.options.Disagreement, thirds)
	}
	values, err := c.columns()
	if err != nil {
		return nil, err
	}
	for k, p := range c.ds.Features {
		switch {
		case p.Judge || len(list) >= maxStratumFeatures:
		case p.Kind == dataset.Numeric:
			cut(p.Name, values[k], halves)
		case p.Kind == dataset.Categorical && len(p.Levels) <= mostLevels:
			for code, level := range p.Levels {
				add(p.Name, level, func(i int) bool { return values[k][i] == float64(code) })
			}
		}
	}
	c.in = make([]bool, n*len(list))
	for k, set := range members {
		for i, in := range set {
			c.in[i*len(list)+k] = in
		}
	}
	return list, nil
}

// columns returns the values of the numbers and categories that are not judges, nil for others.
func (c *judgeComparison) columns() ([][]float64, error) {
	values := make([][]float64, len(c.ds.Features))
	row := make([]float32, c.ds.Rows.Width())
	for i := range c.ds.Len() {
		if err := c.ds.Rows.ReadRow(i, row); err != nil {
			return nil, err
		}
		at := 0
		for k, p := range c.ds.Features {
			if !p.Judge && (p.Kind == dataset.Numeric || p.Kind == dataset.Categorical) {
				values[k] = append(values[k], float64(row[at]))
			}
			at += p.Width()
		}
	}
	return values, nil
}

// stratum adds the error of a judge in a stratum, and that of people.
func (c *judgeComparison) stratum(j int, s *JudgeStratum, in func(i int) bool) {
	at := c.t.column(3) // weights, errors of the judge, errors of people
	for i := range c.ds.Len() {
		own, n := c.votes.Judged[i*len(c.votes.Judges)+j], c.ds.VotesOf(i)
		if own < 0 || n < 2 || !in(i) {
			continue
		}
		s.Items++
		w, judge, people := c.weight(i), 1.0, 1.0
		for k, m := range c.ds.CountsOf(i) {
			share := float64(m) / n
			if int32(k) == own {
				judge -= share
			}
			people -= share * (float64(m) - 1) / (n - 1)
		}
		c.t.addAll(c.of[i], at, w, w*judge, w*people)
	}
	c.t.estimate(&s.Judge, nil, ratio(at+1, at))
	c.t.estimate(&s.People, nil, ratio(at+2, at))
	c.t.interval(&s.Excess, func(x []float64) float64 { return (x[at+1] - x[at+2]) / x[at] })
}

// Worst returns the n strata with the largest excess of the judge's error over that of people, the largest first.
func (s *JudgeSummary) Worst(n int) []JudgeStratum {
	list := slices.DeleteFunc(slices.Clone(s.Strata), func(x JudgeStratum) bool { return !x.Excess.Value.Known() })
	slices.SortStableFunc(list, func(a, b JudgeStratum) int { return cmp.Compare(b.Excess.Value, a.Excess.Value) })
	return list[:min(n, len(list))]
}
