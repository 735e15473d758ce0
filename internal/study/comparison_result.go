package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"credence/evaluate"
)

// ComparisonResult is everything that came out of the study.
type ComparisonResult struct {
	Study    Comparison      `json:"study"`
	Trials   []Trial         `json:"trials,omitempty"`
	Designs  []*DesignResult `json:"designs"`
	Sizes    []SizeResult    `json:"sizes,omitempty"`
	Remedies []Remedy        `json:"remedies,omitempty"`
	Bars     []Bar           `json:"bars"`
}

// DesignResult is what came out of one design.
type DesignResult struct {
	Design     Design            `json:"design"`
	Truth      []Truth           `json:"truth"` // by seed
	Contenders []ContenderResult `json:"contenders"`
}

// ContenderResult is what came out for a method and a number of networks.
type ContenderResult struct {
	Method   string    `json:"method"`
	Label    string    `json:"label"`
	Networks int       `json:"networks"`
	Settings string    `json:"settings,omitempty"`
	Meaning  string    `json:"meaning"`
	Seeds    []Outcome `json:"-"`
}

// Bar is a number that the study promised to reach.
type Bar struct {
	Name   string          `json:"name"`
	Value  evaluate.Number `json:"value"`
	SE     evaluate.Number `json:"se"`
	Wanted string          `json:"wanted"`
	Pass   bool            `json:"pass"`
}

// over is the mean over seeds of a number.
func over(seeds []Outcome, f func(Outcome) float64) Summary {
	var x []float64
	for _, o := range seeds {
		x = append(x, f(o))
	}
	return summarise(x)
}

// overTruth is the same of what is true.
func (r *DesignResult) overTruth(f func(Truth) float64) Summary {
	var x []float64
	for _, t := range r.Truth {
		x = append(x, f(t))
	}
	return summarise(x)
}

// Numbers of a contender as means over seeds.
func (c ContenderResult) accuracy() Summary {
	return over(c.Seeds, func(o Outcome) float64 { return o.Accuracy })
}
func (c ContenderResult) correlation() Summary {
	return over(c.Seeds, func(o Outcome) float64 { return float64(o.Items.Correlation) })
}
func (c ContenderResult) sdError() Summary {
	return over(c.Seeds, func(o Outcome) float64 { return float64(o.Items.SDError) })
}
func (c ContenderResult) gridCorrelation() Summary {
	return over(c.Seeds, func(o Outcome) float64 { return float64(o.Grid.Correlation) })
}
func (c ContenderResult) gridSDError() Summary {
	return over(c.Seeds, func(o Outcome) float64 { return float64(o.Grid.SDError) })
}

// ours tells whether a contender is a mixture.
func (c ContenderResult) ours() bool { return c.Method == "mixture10" || c.Method == "mixture1" }

// covers is the coverage at a level over a stratum, as means over seeds.
func (c ContenderResult) covers(level float64, stratum string) (plain, ruled Summary, items int) {
	var a, b []float64
	for _, o := range c.Seeds {
		for _, at := range o.Coverage {
			if at.Level == level && at.Stratum == stratum && at.Items > 0 {
				a, b = append(a, at.Plain), append(b, at.Ruled)
				items += at.Items
			}
		}
	}
	return summarise(a), summarise(b), items
}

// gaps is the mean over the judged levels of |coverage − nominal|, coverage being
// the mean over seeds: without the resolution rule, and with it.
func gaps(seeds []Outcome) (plain, ruled float64) {
	c := ContenderResult{Seeds: seeds}
	n := 0.0
	for _, level := range levels {
		if judged(level) {
			p, r, _ := c.covers(level, "")
			plain += math.Abs(float64(p.Mean) - level)
			ruled += math.Abs(float64(r.Mean) - level)
			n++
		}
	}
	return plain / n, ruled / n
}

// signedGap is the mean over the judged levels of coverage − nominal for a seed.
func signedGap(o Outcome) float64 {
	var x []float64
	for _, at := range o.Coverage {
		if at.Stratum == "" && judged(at.Level) {
			x = append(x, at.Plain-at.Level)
		}
	}
	return mean(x)
}

// headline is the contender that the bars are about: K = 10, an ensemble.
func (r *DesignResult) headline() *ContenderResult { return &r.Contenders[0] }

// design returns the result of a design.
func (r *ComparisonResult) design(d Design) *DesignResult {
	i := slices.IndexFunc(r.Designs, func(x *DesignResult) bool { return x.Design == d })
	return r.Designs[i]
}

// judge measures the bars.
func (r *ComparisonResult) judge() {
	add := func(name string, value Summary, wanted string, pass bool) {
		r.Bars = append(r.Bars, Bar{name, value.Mean, value.SE, wanted, pass})
	}
	number := func(x evaluate.Number, digits int) string { return strconv.FormatFloat(float64(x), 'f', digits, 64) }
	for _, d := range r.Designs {
		ours := d.headline()
		var lost []float64
		for i, o := range ours.Seeds {
			lost = append(lost, 100*(d.Truth[i].Bayes-o.Accuracy))
		}
		s := summarise(lost)
		add(fmt.Sprintf("%s design: accuracy lost to Bayes, points", d.Design), s, "at most 0.3", s.Mean <= 0.3)
	}
	paper := r.design(Paper)
	corr := paper.headline().correlation()
	add("paper design: correlation with the true variance", corr, "at least 0.85", corr.Mean >= 0.85)
	sd := paper.headline().sdError()
	less := func(a, b evaluate.Number) bool { return a < b }
	rival, of := bestRival(paper, ContenderResult.sdError, less, "mve", "qd", "confidence")
	add("paper design: error of the standard deviation", sd, fmt.Sprintf("below those of the paper's rivals, best %s (%s)", number(rival, 4), of), sd.Mean < rival)
	rival, of = bestRival(paper, ContenderResult.sdError, less)
	add("paper design: error of the standard deviation", sd, fmt.Sprintf("below every rival's, best %s (%s)", number(rival, 4), of), sd.Mean < rival)
	constant := paper.overTruth(func(t Truth) float64 { return t.ConstantItems })
	add("paper design: error of the standard deviation", sd, fmt.Sprintf("below the best constant's, %s", number(constant.Mean, 4)), sd.Mean < constant.Mean)
	spread := r.design(Spread)
	corr = spread.headline().correlation()
	add("spread design: correlation with the true variance", corr, "at least 0.95", corr.Mean >= 0.95)
	rival, of = bestRival(spread, ContenderResult.correlation, func(a, b evaluate.Number) bool { return a > b })
	add("spread design: correlation with the true variance", corr, fmt.Sprintf("above every rival's, best %s (%s)", number(rival, 3), of), corr.Mean > rival)
	plain, _ := gaps(spread.headline().Seeds)
	gap := Summary{evaluate.Number(100 * plain), over(spread.headline().Seeds, func(o Outcome) float64 { return 100 * signedGap(o) }).SE}
	add("spread design: mean |coverage − nominal| over 75…95%, points", gap, "at most 3", gap.Mean <= 3)
}

// bestRival returns the best mean of a number among the rivals that have it, or
// among some of them.
func bestRival(d *DesignResult, f func(ContenderResult) Summary, better func(a, b evaluate.Number) bool, some ...string) (evaluate.Number, string) {
	best, of := evaluate.Number(math.NaN()), "none"
	for _, c := range d.Contenders {
		if c.ours() || len(some) > 0 && !slices.Contains(some, c.Method) {
			continue
		}
		if v := f(c).Mean; v.Known() && (!best.Known() || better(v, best)) {
			best, of = v, c.Label
		}
	}
	return best, of
}

// Pass tells whether all bars were reached.
func (r *ComparisonResult) Pass() bool {
	return !slices.ContainsFunc(r.Bars, func(b Bar) bool { return !b.Pass })
}
