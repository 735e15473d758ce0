package study

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// strataResult has all numbers of the page.
type strataResult struct {
	Study *Strata       `json:"study"`
	Cases []*caseResult `json:"cases"`
}

// caseResult has the results of a case: by seed, and their means over seeds by stratum.
type caseResult struct {
	Name   string            `json:"name"`
	Label  string            `json:"label"`
	Strata []stratumCoverage `json:"strata"`
	Seeds  []strataOutcome   `json:"-"` // strata.csv has them
}

// Measure implements [Study].
func (s *Strata) Measure(ctx context.Context, f *Folder) (Results, error) {
	outcomes, err := s.measure(ctx, f)
	if err != nil {
		return nil, err
	}
	r := &strataResult{Study: s}
	for c, name := range s.Cases {
		x := &caseResult{Name: name, Label: caseNamed(name).label, Seeds: outcomes[c]}
		for k := range outcomes[c][0].Strata {
			x.Strata = append(x.Strata, meanCoverage(outcomes[c], k))
		}
		r.Cases = append(r.Cases, x)
	}
	return r, nil
}

// meanCoverage returns the mean over seeds of stratum k. Where many intervals are equally wide, a third by width may
// have no items: such seeds are left out.
func meanCoverage(seeds []strataOutcome, k int) stratumCoverage {
	m := stratumCoverage{Name: seeds[0].Strata[k].Name}
	n := 0.0
	for _, o := range seeds {
		x := o.Strata[k]
		if x.Items == 0 {
			continue
		}
		n++
		m.Items += x.Items
		m.At75 += x.At75
		m.At95 += x.At95
		m.Raw75 += x.Raw75
		m.Raw95 += x.Raw95
		m.Width += x.Width
		m.Oracle += x.Oracle
	}
	m.Items /= len(seeds)
	for _, v := range []*float64{&m.At75, &m.At95, &m.Raw75, &m.Raw95, &m.Width, &m.Oracle} {
		*v /= n
	}
	return m
}

// All returns the coverage of all items.
func (c *caseResult) All() stratumCoverage { return c.Strata[0] }

// Worst returns the stratum whose coverage at 75% and 95% is farthest from nominal, in sum.
func (c *caseResult) Worst() stratumCoverage {
	worst, gap := c.Strata[0], -1.0
	for _, s := range c.Strata[1:] {
		if g := math.Abs(s.At75-0.75) + math.Abs(s.At95-0.95); g > gap && s.Items >= 50 {
			worst, gap = s, g
		}
	}
	return worst
}

// Gap75 and Gap95 return the largest distance from nominal over strata.
func (c *caseResult) Gap75() float64 {
	return c.gap(func(s stratumCoverage) float64 { return s.At75 - 0.75 })
}
func (c *caseResult) Gap95() float64 {
	return c.gap(func(s stratumCoverage) float64 { return s.At95 - 0.95 })
}

func (c *caseResult) gap(of func(s stratumCoverage) float64) float64 {
	gap := 0.0
	for _, s := range c.Strata {
		if s.Items >= 50 {
			gap = max(gap, math.Abs(of(s)))
		}
	}
	return gap
}

// Short counts the seeds whose coverage at 75% is more than 3 percentage points below nominal.
func (c *caseResult) Short() int {
	return c.count(func(o *strataOutcome) bool { return o.Strata[0].At75 < 0.72 })
}

// Warned counts the seeds with a warning about the calibration.
func (c *caseResult) Warned() int {
	return c.count(func(o *strataOutcome) bool { return o.Calibration.Uncertain() || o.Calibration.Leak })
}

func (c *caseResult) count(is func(o *strataOutcome) bool) int {
	n := 0
	for k := range c.Seeds {
		if is(&c.Seeds[k]) {
			n++
		}
	}
	return n
}

// Range returns the smallest and largest coverage at 75% and 95% of a seed.
func (c *caseResult) Range() string {
	lo75, hi75, lo95, hi95 := 1.0, 0.0, 1.0, 0.0
	for _, o := range c.Seeds {
		s := o.Strata[0]
		lo75, hi75, lo95, hi95 = min(lo75, s.At75), max(hi75, s.At75), min(lo95, s.At95), max(hi95, s.At95)
	}
	return fmt.Sprintf("%.0f–%.0f / %.0f–%.0f", 100*lo75, 100*hi75, 100*lo95, 100*hi95)
}

// WriteTables implements [Results].
func (r *strataResult) WriteTables(f *Folder) error {
	rows := [][]string{{"case", "seed", "stratum", "items", "at_75", "at_95", "raw_75", "raw_95", "width", "oracle", "scale", "ratio", "ratio_se"}}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
	for _, c := range r.Cases {
		for k, o := range c.Seeds {
			for _, s := range o.Strata {
				rows = append(rows, []string{c.Name, strconv.FormatUint(r.Study.Seeds[k], 10), s.Name, strconv.Itoa(s.Items), number(s.At75), number(s.At95),
					number(s.Raw75), number(s.Raw95), number(s.Width), number(s.Oracle), number(o.Calibration.Scale), number(o.Calibration.Ratio),
					number(o.Calibration.RatioSE)})
			}
		}
	}
	return f.writeCSV("strata.csv", rows)
}

// WriteFigures implements [Results]; the study has none.
func (r *strataResult) WriteFigures(*Folder) error { return nil }

// Numbers implements [Results].
func (r *strataResult) Numbers() any { return r }

// Page implements [Results].
func (r *strataResult) Page(*Folder) (any, error) { return r, nil }

// SeedRange describes the seeds.
func (s *Strata) SeedRange() string {
	if len(s.Seeds) == 1 {
		return strconv.FormatUint(s.Seeds[0], 10)
	}
	return fmt.Sprintf("%d to %d", s.Seeds[0], s.Seeds[len(s.Seeds)-1])
}

// Ratios returns the scale of each seed, with the ratio that pairs of votes show and its standard error.
func (c *caseResult) Ratios() string {
	var list []string
	for _, o := range c.Seeds {
		list = append(list, fmt.Sprintf("%.2f (%.2f ± %.2f)", o.Calibration.Scale, o.Calibration.Ratio, o.Calibration.RatioSE))
	}
	return strings.Join(list, "; ")
}

// RelativeWidth returns the width at 95% relative to that of the true distributions, or nothing if there are none.
func (c *caseResult) RelativeWidth() string {
	if a := c.All(); a.Oracle > 0 {
		return fmt.Sprintf("%.2f", a.Width/a.Oracle)
	}
	return "–"
}
