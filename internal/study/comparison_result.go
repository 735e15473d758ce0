package study

import (
	"fmt"
	"math"
	"slices"

	"credence/evaluate"
)

// comparisonResult is everything that came out of the study.
type comparisonResult struct {
	Study    Comparison      `json:"study"`
	Trials   []trial         `json:"trials,omitempty"`
	Designs  []*designResult `json:"designs"`
	Sizes    []sizeResult    `json:"sizes,omitempty"`
	Remedies []remedyResult  `json:"remedies,omitempty"`
	Bars     []Bar           `json:"bars"`
}

// designResult is what came out of one design.
type designResult struct {
	Design     Design            `json:"design"`
	Truth      []sampleTruth     `json:"truth"` // by seed
	Contenders []contenderResult `json:"contenders"`
}

// contenderResult is what came out for a method and a number of networks.
type contenderResult struct {
	Method   string    `json:"method"`
	Label    string    `json:"label"`
	Networks int       `json:"networks"`
	Settings string    `json:"settings,omitempty"`
	Meaning  string    `json:"meaning"`
	Seeds    []outcome `json:"-"`
}

// Bar is a number that a study promised to reach.
type Bar struct {
	Name   string          `json:"name"`
	Value  evaluate.Number `json:"value"`
	SE     evaluate.Number `json:"se"`
	Wanted string          `json:"wanted"`
	Pass   bool            `json:"pass"`

	digits int // that the value is told with
}

// Found writes the value with its standard error.
func (b Bar) Found() string { return plusMinus(summary{b.Value, b.SE}, b.digits) }

// over is the mean over seeds of a number.
func over(seeds []outcome, f func(outcome) float64) summary {
	var x []float64
	for _, o := range seeds {
		x = append(x, f(o))
	}
	return summarize(x)
}

// overTruth is the same of what is true.
func (r *designResult) overTruth(f func(sampleTruth) float64) summary {
	var x []float64
	for _, t := range r.Truth {
		x = append(x, f(t))
	}
	return summarize(x)
}

// Numbers of what is true as means over seeds: the best possible accuracy, and
// the errors of the best constant standard deviation.
func (r *designResult) bayes() summary {
	return r.overTruth(func(t sampleTruth) float64 { return t.Bayes })
}
func (r *designResult) constant() summary {
	return r.overTruth(func(t sampleTruth) float64 { return t.ConstantItems })
}
func (r *designResult) constantGrid() summary {
	return r.overTruth(func(t sampleTruth) float64 { return t.ConstantGrid })
}

// Numbers of a contender as means over seeds.
func (c contenderResult) Accuracy() summary {
	return over(c.Seeds, func(o outcome) float64 { return o.Accuracy })
}
func (c contenderResult) Correlation() summary {
	return over(c.Seeds, func(o outcome) float64 { return float64(o.Items.Correlation) })
}
func (c contenderResult) SDError() summary {
	return over(c.Seeds, func(o outcome) float64 { return float64(o.Items.SDError) })
}
func (c contenderResult) GridCorrelation() summary {
	return over(c.Seeds, func(o outcome) float64 { return float64(o.Grid.Correlation) })
}
func (c contenderResult) GridSDError() summary {
	return over(c.Seeds, func(o outcome) float64 { return float64(o.Grid.SDError) })
}

// ours reports whether a contender is a mixture.
func (c contenderResult) ours() bool { return c.Method == "mixture10" || c.Method == "mixture1" }

// covers is the coverage at a level over a stratum, as means over seeds.
func (c contenderResult) covers(level float64, stratum string) (plain, ruled summary, items int) {
	var a, b []float64
	for _, o := range c.Seeds {
		for _, at := range o.Coverage {
			if at.Level == level && at.Stratum == stratum && at.Items > 0 {
				a, b = append(a, at.Plain), append(b, at.Ruled)
				items += at.Items
			}
		}
	}
	return summarize(a), summarize(b), items
}

// gaps is the mean over the judged levels of |coverage − nominal|, coverage being
// the mean over seeds: without the resolution rule, and with it.
func gaps(seeds []outcome) (plain, ruled float64) {
	c := contenderResult{Seeds: seeds}
	n := 0.0
	for _, level := range judgedLevels {
		p, r, _ := c.covers(level, "")
		plain += math.Abs(float64(p.Mean) - level)
		ruled += math.Abs(float64(r.Mean) - level)
		n++
	}
	return plain / n, ruled / n
}

// signedGap is the mean over the judged levels of coverage − nominal for a seed.
func signedGap(o outcome) float64 {
	var x []float64
	for _, at := range o.Coverage {
		if at.Stratum == "" && judged(at.Level) {
			x = append(x, at.Plain-at.Level)
		}
	}
	return mean(x)
}

// headline is the contender that the bars are about: K = 10, an ensemble.
func (r *designResult) headline() *contenderResult { return &r.Contenders[0] }

// design returns the result of a design.
func (r *comparisonResult) design(d Design) *designResult {
	i := slices.IndexFunc(r.Designs, func(x *designResult) bool { return x.Design == d })
	return r.Designs[i]
}

// judge measures the bars.
func (r *comparisonResult) judge() {
	add := func(name string, value summary, digits int, wanted string, pass bool) {
		r.Bars = append(r.Bars, Bar{name, value.Mean, value.SE, wanted, pass, digits})
	}
	less := func(a, b evaluate.Number) bool { return a < b }
	more := func(a, b evaluate.Number) bool { return a > b }
	for _, d := range r.Designs {
		var lost []float64
		for i, o := range d.headline().Seeds {
			lost = append(lost, 100*(d.Truth[i].Bayes-o.Accuracy))
		}
		s := summarize(lost)
		add(fmt.Sprintf("%s design: accuracy lost to Bayes, points", d.Design), s, 2, "at most 0.3", s.Mean <= 0.3)
	}
	paper := r.design(Paper)
	corr := paper.headline().Correlation()
	add("paper design: correlation with the true variance", corr, 3, "at least 0.85", corr.Mean >= 0.85)
	const sdName = "paper design: error of the standard deviation"
	sd := paper.headline().SDError()
	rival, of := bestRival(paper, contenderResult.SDError, less, "mve", "qd", "confidence")
	add(sdName, sd, 4, fmt.Sprintf("below those of the paper's rivals, best %.4f (%s)", rival, of), sd.Mean < rival)
	rival, of = bestRival(paper, contenderResult.SDError, less)
	add(sdName, sd, 4, fmt.Sprintf("below every rival's, best %.4f (%s)", rival, of), sd.Mean < rival)
	constant := paper.constant()
	add(sdName, sd, 4, fmt.Sprintf("below the best constant's, %.4f", constant.Mean), sd.Mean < constant.Mean)
	spread := r.design(Spread)
	corr = spread.headline().Correlation()
	const corrName = "spread design: correlation with the true variance"
	add(corrName, corr, 3, "at least 0.95", corr.Mean >= 0.95)
	rival, of = bestRival(spread, contenderResult.Correlation, more)
	add(corrName, corr, 3, fmt.Sprintf("above every rival's, best %.3f (%s)", rival, of), corr.Mean > rival)
	plain, _ := gaps(spread.headline().Seeds)
	signed := over(spread.headline().Seeds, func(o outcome) float64 { return 100 * signedGap(o) })
	gap := summary{evaluate.Number(100 * plain), signed.SE}
	add("spread design: mean |coverage − nominal| over 75…95%, points", gap, 2, "at most 3", gap.Mean <= 3)
}

// bestRival returns the best mean of a number among the rivals that have it, or
// among some of them.
func bestRival(d *designResult, f func(contenderResult) summary,
	better func(a, b evaluate.Number) bool, some ...string) (evaluate.Number, string) {
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

// Pass reports whether all bars were reached.
func (r *comparisonResult) Pass() bool {
	return !slices.ContainsFunc(r.Bars, func(b Bar) bool { return !b.Pass })
}
