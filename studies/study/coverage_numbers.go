package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// coverageResults are the repetitions of a study, to be aggregated.
type coverageResults struct {
	*Coverage
	cells []cellResult
}

// settings are those that were repeated, in order.
func (r *coverageResults) settings() (list []setting) {
	for _, c := range r.cells {
		if !slices.Contains(list, c.Cell.setting()) {
			list = append(list, c.Cell.setting())
		}
	}
	return list
}

// of returns the repetitions of a setting.
func (r *coverageResults) of(s setting) (list []cellResult) {
	for _, c := range r.cells {
		if c.Cell.setting() == s {
			list = append(list, c)
		}
	}
	return list
}

// network returns the numbers of one network or of the defaults.
func (c cellResult) network(name string) network {
	for _, n := range c.Networks {
		if n.Name == name {
			return n
		}
	}
	return network{}
}

// as returns the numbers of reported intervals, or of raw ones.
func (c classResult) as(reported bool) coverageOf {
	if reported {
		return c.Reported
	}
	return c.Raw
}

// estimate is a mean over seeds.
type estimate struct {
	Mean    float64   `json:"mean"`
	SE      *float64  `json:"se"`      // between seeds: sd/√seeds; nil with one seed
	ItemSE  float64   `json:"item_se"` // of a share among the images of one seed; 0 for what is no share
	PerSeed []float64 `json:"per_seed"`
}

// newEstimate aggregates the numbers of all seeds. They are shares of images
// if images is positive.
func newEstimate(values []float64, images int) estimate {
	e := estimate{PerSeed: values}
	for _, v := range values {
		e.Mean += v / float64(len(values))
	}
	if n := float64(len(values)); n > 1 {
		ss := 0.0
		for _, v := range values {
			ss += (v - e.Mean) * (v - e.Mean)
		}
		se := math.Sqrt(ss / (n - 1) / n)
		e.SE = &se
	}
	if images > 0 {
		e.ItemSE = itemSE(e.Mean, images)
	}
	return e
}

// se is the error between seeds, NaN where there is one seed.
func (e estimate) se() float64 {
	if e.SE == nil {
		return math.NaN()
	}
	return *e.SE
}

// curve is the coverage of a class's intervals at each of curveLevels.
func (r *coverageResults) curve(s setting, name string, class int, reported bool) []estimate {
	list := make([]estimate, len(curveLevels))
	cells := r.of(s)
	for l := range list {
		var values []float64
		for _, c := range cells {
			values = append(values, c.network(name).Classes[class].as(reported).Coverage[l])
		}
		list[l] = newEstimate(values, cells[0].Images)
	}
	return list
}

// width is the mean width of a class's intervals at each of paperLevels.
func (r *coverageResults) width(s setting, name string, class int, reported bool) []estimate {
	return r.estimates(s, func(c cellResult) []float64 { return c.network(name).Classes[class].as(reported).Width }, false)
}

// estimates aggregates the values that of returns for each repetition.
func (r *coverageResults) estimates(s setting, of func(c cellResult) []float64, share bool) []estimate {
	var columns [][]float64
	images := 0
	for _, c := range r.of(s) {
		for i, v := range of(c) {
			if i == len(columns) {
				columns = append(columns, nil)
			}
			columns[i] = append(columns[i], v)
		}
		if share {
			images = c.Images
		}
	}
	var list []estimate
	for _, v := range columns {
		list = append(list, newEstimate(v, images))
	}
	return list
}

// number is the estimate of one quantity.
func (r *coverageResults) number(s setting, of func(c cellResult) float64, share bool) estimate {
	return r.estimates(s, func(c cellResult) []float64 { return []float64{of(c)} }, share)[0]
}

// accuracy is that of one network or of the defaults, by the digit.
func (r *coverageResults) accuracy(s setting, name string) estimate {
	return r.number(s, func(c cellResult) float64 { return c.network(name).Accuracy }, true)
}

// atPaperLevels picks the levels of the paper out of a curve.
func atPaperLevels(curve []estimate) (list []estimate) {
	for _, level := range paperLevels {
		list = append(list, curve[levelIndex(level)])
	}
	return list
}

// levelIndex is the place of a level in curveLevels.
func levelIndex(level float64) int { return levelIn(curveLevels, level) }

// levelIn is the place of a level in a list.
func levelIn(levels []float64, level float64) int {
	return slices.IndexFunc(levels, func(l float64) bool { return math.Abs(l-level) < 1e-9 })
}

// bar is a target for a result.
type bar struct {
	What   string   `json:"what"`
	Value  float64  `json:"value"`
	Low    *float64 `json:"low"`  // nil for any
	High   *float64 `json:"high"` // nil for any
	Passed bool     `json:"passed"`
}

// Wanted writes the bounds of the bar.
func (b bar) Wanted() string {
	switch {
	case b.High == nil:
		return fmt.Sprintf("at least %g", *b.Low)
	case b.Low == nil:
		return fmt.Sprintf("at most %g", *b.High)
	}
	return fmt.Sprintf("%g to %g", *b.Low, *b.High)
}

// bars are the targets for seed means, in percentage points, for the headline setting
// with the defaults.
func bars(curve []estimate) []bar {
	at := atPaperLevels(curve)
	worst, gap := math.Inf(1), 0.0
	for l, e := range at {
		d := 100 * (e.Mean - paperLevels[l])
		worst = min(worst, d)
		gap += math.Abs(d) / float64(len(at))
	}
	list := []bar{
		{What: "coverage at 95%", Value: 100 * at[len(at)-1].Mean, Low: new(94.), High: new(99.5)},
		{What: "smallest coverage less nominal over 75, 80, 85, 90, 95%", Value: worst, Low: new(-3.)},
		{What: "mean |coverage less nominal| over 75, 80, 85, 90, 95%", Value: gap, High: new(5.)},
	}
	for i := range list {
		b := &list[i]
		b.Passed = (b.Low == nil || b.Value >= *b.Low) && (b.High == nil || b.Value <= *b.High)
	}
	return list
}

// quantile returns the smallest value that at least the share q does not exceed.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(max(int(math.Ceil(q*float64(len(sorted))))-1, 0), len(sorted)-1)]
}

// withError writes a share with its error between seeds.
func withError(e estimate) string {
	if e.SE == nil {
		return percent(e.Mean)
	}
	return percent(e.Mean) + " ± " + percent(*e.SE)
}

// eachSeed writes the shares of all seeds.
func eachSeed(e estimate) string {
	var list []string
	for _, v := range e.PerSeed {
		list = append(list, percent(v))
	}
	return strings.Join(list, ", ")
}

// exact writes a number in full for a table.
func exact(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 8, 64)
}
