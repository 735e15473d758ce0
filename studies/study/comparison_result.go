package study

import (
	"fmt"
	"math"
	"slices"

	"credence/evaluate"
	"credence/internal/simulation"
)

// comparisonResult has all results of the study.
type comparisonResult struct {
	Study    Comparison      `json:"study"`
	Trials   []trial         `json:"trials,omitempty"`
	Designs  []*designResult `json:"designs"`
	Sizes    []sizeResult    `json:"sizes,omitempty"`
	Remedies []remedyResult  `json:"remedies,omitempty"`
	Bars     []Bar           `json:"bars"`
}

// designResult has the results of one design.
type designResult struct {
	Design     simulation.Design `json:"design"`
	Truth      []sampleTruth     `json:"truth"` // by seed
	Contenders []contenderResult `json:"contenders"`
}

// contenderResult has the results of a method with a number of networks.
type contenderResult struct {
	Method   string    `json:"method"`
	Label    string    `json:"label"`
	Networks int       `json:"networks"`
	Settings string    `json:"settings,omitempty"`
	Meaning  string    `json:"meaning"`
	Seeds    []outcome `json:"-"`
}

// Bar is a target for a number of a study, fixed before the first run.
type Bar struct {
	Name   string          `json:"name"`
	Value  evaluate.Number `json:"value"`
	SE     evaluate.Number `json:"se"`
	Wanted string          `json:"wanted"`
	Pass   bool            `json:"pass"`

	digits int // decimals of the value
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

// overTruth is the same for the true values.
func (r *designResult) overTruth(f func(sampleTruth) float64) summary {
	var x []float64
	for _, t := range r.Truth {
		x = append(x, f(t))
	}
	return summarize(x)
}

// True values as means over seeds: the best possible accuracy, and
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
func (c contenderResult) ours() bool { return methodOf(c.Method).ours() }

// covers is the coverage at a level over a stratum, as means over seeds.
func (c contenderResult) covers(level float64, stratum string) (raw, reported summary, items int) {
	var a, b []float64
	for _, o := range c.Seeds {
		for _, at := range o.Coverage {
			if at.Level == level && at.Stratum == stratum && at.Items > 0 {
				a, b = append(a, at.Raw), append(b, at.Reported)
				items += at.Items
			}
		}
	}
	return summarize(a), summarize(b), items
}

// gaps is the mean over the judged levels of |coverage − nominal|, coverage being
// the mean over seeds: of raw intervals, and of reported ones.
func gaps(seeds []outcome) (raw, reported float64) {
	c := contenderResult{Seeds: seeds}
	n := 0.0
	for _, level := range judgedLevels {
		p, r, _ := c.covers(level, "")
		raw += math.Abs(float64(p.Mean) - level)
		reported += math.Abs(float64(r.Mean) - level)
		n++
	}
	return raw / n, reported / n
}

// signedGap is the mean over the judged levels of coverage − nominal for a seed.
func signedGap(o outcome, reported bool) float64 {
	var x []float64
	for _, at := range o.Coverage {
		if at.Stratum != "" || !judged(at.Level) {
			continue
		}
		share := at.Raw
		if reported {
			share = at.Reported
		}
		x = append(x, share-at.Level)
	}
	return mean(x)
}

// shipped is the contender with the defaults, as reported.
func (r *designResult) shipped() *contenderResult { return r.first(asShipped) }

// headline is the contender of the study's own configuration: K = 10, an ensemble, raw.
func (r *designResult) headline() *contenderResult { return r.first("mixture10") }

// first returns the first contender of a method.
func (r *designResult) first(method string) *contenderResult {
	i := slices.IndexFunc(r.Contenders, func(c contenderResult) bool { return c.Method == method })
	return &r.Contenders[i]
}

// design returns the result of a design.
func (r *comparisonResult) design(d simulation.Design) *designResult {
	i := slices.IndexFunc(r.Designs, func(x *designResult) bool { return x.Design == d })
	return r.Designs[i]
}

// judge measures the bars: of what is shipped, as reported, and of the study's own configuration, raw.
func (r *comparisonResult) judge() {
	r.judgeBy("defaults, as reported", (*designResult).shipped, true)
	r.judgeBy("K = 10, raw", (*designResult).headline, false)
}

// judgeBy measures the bars of a contender.
func (r *comparisonResult) judgeBy(label string, of func(*designResult) *contenderResult, reported bool) {
	add := func(name string, value summary, digits int, wanted string, pass bool) {
		r.Bars = append(r.Bars, Bar{label + "; " + name, value.Mean, value.SE, wanted, pass, digits})
	}
	less := func(a, b evaluate.Number) bool { return a < b }
	more := func(a, b evaluate.Number) bool { return a > b }
	for _, d := range r.Designs {
		var lost []float64
		for i, o := range of(d).Seeds {
			lost = append(lost, 100*(d.Truth[i].Bayes-o.Accuracy))
		}
		s := summarize(lost)
		add(fmt.Sprintf("%s design: accuracy lost to Bayes, points", d.Design), s, 2, "at most 0.3", s.Mean <= 0.3)
	}
	paper := r.design(simulation.Paper)
	corr := of(paper).Correlation()
	add("paper design: correlation with the true variance", corr, 3, "at least 0.85", corr.Mean >= 0.85)
	const sdName = "paper design: error of the standard deviation"
	sd := of(paper).SDError()
	rival, who := bestRival(paper, contenderResult.SDError, less, "mve", "qd", "confidence")
	add(sdName, sd, 4, fmt.Sprintf("below those of the paper's rivals, best %.4f (%s)", rival, who), sd.Mean < rival)
	rival, who = bestRival(paper, contenderResult.SDError, less)
	add(sdName, sd, 4, fmt.Sprintf("below every rival's, best %.4f (%s)", rival, who), sd.Mean < rival)
	constant := paper.constant()
	add(sdName, sd, 4, fmt.Sprintf("below the best constant's, %.4f", constant.Mean), sd.Mean < constant.Mean)
	spread := r.design(simulation.Spread)
	corr = of(spread).Correlation()
	const corrName = "spread design: correlation with the true variance"
	add(corrName, corr, 3, "at least 0.95", corr.Mean >= 0.95)
	rival, who = bestRival(spread, contenderResult.Correlation, more)
	add(corrName, corr, 3, fmt.Sprintf("above every rival's, best %.3f (%s)", rival, who), corr.Mean > rival)
	gap, asReported := gaps(of(spread).Seeds)
	if reported {
		gap = asReported
	}
	signed := over(of(spread).Seeds, func(o outcome) float64 { return 100 * signedGap(o, reported) })
	s := summary{evaluate.Number(100 * gap), signed.SE}
	add("spread design: mean |coverage − nominal| over 75…95%, points", s, 2, "at most 3", s.Mean <= 3)
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
