package evaluate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"credence/internal/special"
	"credence/mixture"
)

// Column is a column of the items by whose levels dispersion is reported.
type Column struct {
	Name string
	// Values, [N], are its values; "" is a level of its own. Nil stands for the
	// predicted spread, Σ_i Var p_i.
	Values []string
	// Bins, if positive, treats the values as numbers and divides items into at most
	// Bins bins of about equal size, joining bins that are not informative.
	Bins int
}

// spreadColumn is the column of the predicted spread, which is always reported.
var spreadColumn = Column{Name: "spread", Bins: 4}

// maxLevels is the maximum number of levels of a column.
const maxLevels = 100

// missingLevel is the level of items without a value.
const missingLevel = "(missing)"

// DispersionLevel is the dispersion among the items of one level of a column.
type DispersionLevel struct {
	Dispersion
	// Shrunk is the ratio shrunk towards the mean of all levels, as far as chance
	// explains the difference, with its standard error.
	Shrunk Estimate `json:"shrunk"`
}

// DispersionColumn is the dispersion by the levels of a column: whether the width of
// intervals is right at each level, not only overall.
//
// Levels differ by more than chance if their ratios R_l do. With s_l the standard
// error of R_l under distributions rescaled to the ratio of all items and weights 1/s_l²,
// Q = Σ (R_l − R̄)²/s_l² has about the χ² distribution if they do not, and τ² is
// DerSimonian and Laird's (1986) estimate of the variance of true ratios between
// levels. R is not transformed to its logarithm because it may be zero or negative if
// few votes differ, and because s_l does not depend on R_l, so that levels with a small
// ratio by chance do not get the largest weights.
type DispersionColumn struct {
	Column string            `json:"column"`
	Levels []DispersionLevel `json:"levels"`
	Common Estimate          `json:"common"` // the mean of the true ratios
	Tau    Number            `json:"tau"`    // their standard deviation
	// PValue is the p-value for one common ratio of all levels.
	PValue Number `json:"heterogeneity_p_value"`
}

// addColumns arranges for the dispersion by columns and by predicted spread to be filled in; all is that of all items.
func (p *pairDists) addColumns(t *tally, r *Result, all *Dispersion) error {
	columns := p.s.Columns
	if !slices.ContainsFunc(columns, func(c Column) bool { return c.Values == nil }) {
		columns = slices.Concat([]Column{spreadColumn}, columns)
	}
	r.DispersionBy = make([]DispersionColumn, len(columns))
	for i, c := range columns {
		x := &r.DispersionBy[i]
		x.Column = c.Name
		levels, err := p.s.levels(c, p.s.itemsWith(2), p.bins)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		models := make([]*mixture.Dispersion, len(levels))
		x.Levels = make([]DispersionLevel, len(levels))
		for l, level := range levels {
			x.Levels[l].Name = level.name
			if models[l], err = p.add(t, &x.Levels[l].Dispersion, level.items); err != nil {
				return err
			}
		}
		t.then(func() { x.compare(models, float64(all.Ratio.Value)) })
	}
	return nil
}

// level is a level of a column with its items.
type level struct {
	name  string
	items []int
}

// binner divides items by the values of all items into at most n bins.
type binner func(value []float64, items []int, n int) [][]int

// levels divides items by the levels of a column.
func (s *sample) levels(c Column, items []int, bins binner) (levels []level, err error) {
	if c.Values != nil && len(c.Values) != s.n {
		return nil, fmt.Errorf("expected values of %d items, found %d", s.n, len(c.Values))
	}
	if c.Values == nil || c.Bins > 0 {
		return s.numericLevels(c, items, bins)
	}
	of := map[string][]int{}
	for _, j := range items {
		of[c.Values[j]] = append(of[c.Values[j]], j)
	}
	if len(of) > maxLevels {
		return nil, fmt.Errorf("expected at most %d levels, found %d; numbers can be divided into bins", maxLevels, len(of))
	}
	for _, name := range slices.SortedFunc(maps.Keys(of), compareLevels) {
		levels = append(levels, level{cmp.Or(name, missingLevel), of[name]})
	}
	return levels, nil
}

// compareLevels orders numbers by value and before text; a missing value is last.
func compareLevels(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	value := func(level string) float64 {
		if x, err := strconv.ParseFloat(level, 64); err == nil {
			return x
		}
		return math.Inf(1)
	}
	return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(a, b))
}

// numericLevels divides items into bins of a numeric column.
func (s *sample) numericLevels(c Column, all []int, bins binner) (levels []level, err error) {
	values := s.spreads()
	var known, missing []int
	for _, j := range all {
		if c.Values != nil {
			if c.Values[j] == "" {
				missing = append(missing, j)
				continue
			}
			if values[j], err = strconv.ParseFloat(c.Values[j], 64); err != nil || math.IsNaN(values[j]) {
				return nil, fmt.Errorf("item %d: expected a number, to divide items into bins, found %q", j, c.Values[j])
			}
		}
		known = append(known, j)
	}
	for _, items := range bins(values, known, c.Bins) {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, j := range items {
			lo, hi = min(lo, values[j]), max(hi, values[j])
		}
		levels = append(levels, level{rangeText(lo, hi), items})
	}
	if len(missing) > 0 {
		levels = append(levels, level{missingLevel, missing})
	}
	return levels, nil
}

// rangeText formats a range of values.
func rangeText(lo, hi float64) string {
	if lo == hi {
		return fmt.Sprintf("%.3g", lo)
	}
	return fmt.Sprintf("%.3g to %.3g", lo, hi)
}

// compare compares the ratios of the levels, given the ratio of all items.
func (c *DispersionColumn) compare(levels []*mixture.Dispersion, all float64) {
	k := len(levels)
	y, v := make([]float64, k), make([]float64, k)
	for l, x := range levels {
		y[l], v[l] = x.Ratio, x.StdErrAt(all)
		v[l] *= v[l]
	}
	e := special.DerSimonianLaird(y, v)
	c.Common = Estimate{Number(e.Mean), Number(math.Sqrt(e.Variance))}
	c.Tau, c.PValue = Number(math.Sqrt(e.Tau2)), Number(e.P)
	for l := range y {
		weight := e.Tau2 / (e.Tau2 + v[l])
		variance := weight*v[l] + (1-weight)*(1-weight)*e.Variance
		c.Levels[l].Shrunk = Estimate{Number(e.Mean + weight*(y[l]-e.Mean)), Number(math.Sqrt(variance))}
	}
	if k < 2 {
		c.Tau, c.PValue = unknown, unknown
	}
}
