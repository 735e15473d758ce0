package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/evaluate"
	"credence/internal/simulation"
)

// paperAccuracy are the accuracies that the paper reports, in percent, by
// method; the paper gives neither the number of items nor that of runs.
var paperAccuracy = map[string]float64{"mixture10": 98.4, "mve": 98.4, "qd": 89.1, "confidence": 98.1}

// comparisonPage are the numbers of the page pages/comparison.md.
type comparisonPage struct {
	Study  Comparison
	Bars   []Bar
	Common string // what the networks of all methods share
	Epochs int    // of the mixture

	Beside    []besideRow // the paper's accuracies
	QD        [2]float64  // accuracy that quality-driven intervals lose to Bayes there, by five networks and one, in points
	Bayes     summary     // best possible accuracy in the paper's design
	BayesRate float64     // the same as an integral, in percent

	Designs  []*designPage
	Meanings []meaning
	Tuning   []tuningRow // empty if nothing was tuned
	Remedies []remedyTable
}

// besideRow are the accuracies of a method: the paper's, and those of an
// ensemble and of one network here.
type besideRow struct {
	Label string
	Paper float64
	Here  []summary
}

// meaning is what the uncertainty of a method is.
type meaning struct{ Label, Meaning string }

// tuningRow are the held-out criteria of a method's settings, by design.
type tuningRow struct {
	Label, Settings string
	Criteria        []string
}

// remedyTable has the results of each configuration in a design.
type remedyTable struct {
	Design simulation.Design
	Rows   []remedyResult
}

// Page implements [Results].
func (r *comparisonResult) Page(*Folder) (any, error) {
	paper := r.design(simulation.Paper)
	p := &comparisonPage{
		Study: r.Study, Bars: r.Bars, Common: r.common(), Epochs: methodOf("mixture10").first().Epochs,
		Bayes: paper.bayes(), BayesRate: 100 * bayesRate(),
	}
	for _, m := range methods {
		there, ok := paperAccuracy[m.key]
		if !ok {
			continue
		}
		row := besideRow{Label: m.label, Paper: there}
		for _, c := range paper.Contenders {
			if c.Method == m.key {
				row.Here = append(row.Here, c.Accuracy())
			}
		}
		if m.key == "qd" {
			for i, here := range row.Here {
				p.QD[i] = 100 * float64(p.Bayes.Mean-here.Mean)
			}
		}
		p.Beside = append(p.Beside, row)
	}
	inSpread := r.designPage(r.design(simulation.Spread), nil)
	for _, d := range r.Designs {
		p.Designs = append(p.Designs, r.designPage(d, inSpread))
	}
	p.Meanings = r.meanings()
	p.Tuning = r.tuningRows()
	if len(r.Remedies) > 0 {
		for _, d := range simulation.Designs {
			other := func(m remedyResult) bool { return m.Design != d }
			p.Remedies = append(p.Remedies, remedyTable{d, slices.DeleteFunc(slices.Clone(r.Remedies), other)})
		}
	}
	return p, nil
}

// common describes what the networks of all methods share.
func (r *comparisonResult) common() string {
	o := r.Study.Common
	text := "hidden layers of " + strings.ReplaceAll(joined(o.Widths), " ", ", ")
	o.Widths = nil
	if rest := settingsText(o); rest != "defaults" {
		text += ", " + rest
	}
	return text
}

// meanings describes each measure of uncertainty, method by method.
func (r *comparisonResult) meanings() []meaning {
	var list []meaning
	seen := map[string]bool{asShipped: true, "mixture1": true} // they mean what that of K = 10 does
	for _, c := range r.Designs[0].Contenders {
		if seen[c.Method] {
			continue
		}
		seen[c.Method] = true
		i := slices.IndexFunc(methods, func(m method) bool { return m.key == c.Method })
		list = append(list, meaning{strings.TrimSuffix(methods[i].label, ", K = 10"), c.Meaning})
	}
	return list
}

// tuningRows are the settings of rivals with their criteria; that of the chosen
// ones is bold.
func (r *comparisonResult) tuningRows() []tuningRow {
	if len(r.Trials) == 0 {
		return nil
	}
	var rows []tuningRow
	for _, m := range methods {
		if m.ours() {
			continue
		}
		for _, g := range m.grid {
			row := tuningRow{Label: m.label, Settings: settingsText(g)}
			for _, d := range r.Designs {
				for _, t := range r.Trials {
					if t.Design == d.Design && t.Method == m.key && t.Settings == row.Settings {
						text := digits(t.Criterion, 4)
						if t.Chosen {
							text = "**" + text + "**"
						}
						row.Criteria = append(row.Criteria, text)
					}
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// designPage are the numbers of the section on a design.
type designPage struct {
	Design     simulation.Design
	Study      Comparison
	Items      int // trained on
	Shown      int // in the figure of the samples
	Contenders []contenderResult
	// Errors of the best constant standard deviation, on fresh items and on the
	// grid, and the best possible accuracy.
	Constant, ConstantGrid, Bayes summary

	// Contenders that the text mentions: Shipped are the defaults, Ours and One
	// ensembles with K = 10 and K = 1.
	Shipped, Ours, One, Softmax, DeepEnsemble, Dropout, Evidential contenderResult
	// Comparisons that decide which text is shown: by correlation softmax
	// or K = 1 is ahead of ours; by the error of the standard deviation the deep
	// ensemble or dropout is, or the evidential network is close.
	SoftmaxAhead, OneAhead, NetworksClose, EvidentialClose bool
	EvidentialGap                                          float64 // of its coverage, in points
	BestRival                                              string  // by correlation
	BestCorrelation                                        evaluate.Number

	InSpread *designPage // the spread design
	Sizes    *sizePage   // nil without other numbers of items
	Places   []densityPlace
	Levels   []string // judged
	Coverage []coverageRow
	Strata   []stratumRow
	// Gaps of the defaults' coverage, and the stratum and level with the lowest reported coverage
	// relative to its level.
	RawGap, ReportedGap float64
	Least               leastCoverage
}

// leastCoverage is the coverage of a stratum that falls short of its level the most, or exceeds it
// the least.
type leastCoverage struct {
	Stratum        string
	Level, Covered float64
}

// Short reports whether coverage is below the level.
func (l leastCoverage) Short() bool { return l.Covered < l.Level }

// reporting measures the effect of reporting on the defaults.
func (p *designPage) reporting() {
	p.RawGap, p.ReportedGap = gaps(p.Shipped.Seeds)
	worst := math.Inf(1)
	for _, name := range strataNames() {
		for _, level := range judgedLevels {
			_, reported, items := p.Shipped.covers(level, name)
			if d := float64(reported.Mean) - level; items > 0 && d < worst {
				worst, p.Least = d, leastCoverage{name, level, float64(reported.Mean)}
			}
		}
	}
}

// densityPlace is where predicted distributions are shown.
type densityPlace struct {
	Number int
	At     [2]float64
	Letter string // of the paper's figure
}

// coverageRow is the coverage of a contender at the judged levels.
type coverageRow struct {
	Label  string
	Levels []string
	Gap    float64
}

// stratumRow is the coverage among items of a stratum, raw and as reported.
type stratumRow struct {
	Name          string
	Raw, Reported []string
	Items         int // per seed
}

// IsPaper reports whether the design is the paper's own.
func (p *designPage) IsPaper() bool { return p.Design == simulation.Paper }

func (r *comparisonResult) designPage(d *designResult, inSpread *designPage) *designPage {
	n := r.Study.Items[d.Design]
	p := &designPage{
		Design: d.Design, Study: r.Study, Items: n, Shown: min(samplesShown, n), Contenders: d.Contenders,
		Constant: d.constant(), ConstantGrid: d.constantGrid(), Bayes: d.bayes(),
		Shipped: *d.shipped(), Ours: *d.headline(), InSpread: inSpread, Sizes: r.sizePage(d.Design),
	}
	find := func(method string, ensemble bool) contenderResult {
		i := slices.IndexFunc(d.Contenders, func(c contenderResult) bool {
			return c.Method == method && (c.Networks > 1) == ensemble
		})
		return d.Contenders[i]
	}
	p.One, p.Softmax, p.DeepEnsemble = find("mixture1", true), find("softmax", false), find("softmax", true)
	p.Dropout, p.Evidential = find("dropout", false), find("evidential", true)
	ours := p.Ours.SDError().Mean
	p.SoftmaxAhead = p.Softmax.Correlation().Mean > p.Ours.Correlation().Mean
	p.OneAhead = p.One.Correlation().Mean > p.Ours.Correlation().Mean
	p.NetworksClose = !(p.DeepEnsemble.SDError().Mean > ours && p.Dropout.SDError().Mean > ours)
	p.EvidentialClose = p.Evidential.SDError().Mean < 1.5*ours
	missed, _ := gaps(p.Evidential.Seeds)
	p.EvidentialGap = 100 * missed
	p.BestCorrelation, p.BestRival = bestRival(d, contenderResult.Correlation,
		func(a, b evaluate.Number) bool { return a > b })
	for i, at := range densityPlaces {
		p.Places = append(p.Places, densityPlace{i + 1, at, string(rune('a' + i))})
	}
	for _, level := range judgedLevels {
		p.Levels = append(p.Levels, fmt.Sprintf("%.0f%%", 100*level))
	}
	for _, c := range d.Contenders {
		if len(c.Seeds[0].Coverage) == 0 {
			continue
		}
		raw, reported := gaps(c.Seeds)
		rawRow := coverageRow{c.Label, c.coverageCells("", false), raw}
		if c.ours() {
			name := strings.TrimSuffix(c.Label, ", as reported")
			p.Coverage = append(p.Coverage, coverageRow{name + ", as reported", c.coverageCells("", true), reported})
			rawRow.Label = name + ", raw"
		}
		p.Coverage = append(p.Coverage, rawRow)
	}
	for _, name := range strataNames() {
		_, _, items := p.Shipped.covers(levels[0], name)
		p.Strata = append(p.Strata, stratumRow{name, p.Shipped.coverageCells(name, false),
			p.Shipped.coverageCells(name, true),
			items / len(r.Study.Seeds)})
	}
	p.reporting()
	return p
}

// coverageCells are the coverages of a stratum at the judged levels, empty where
// there are no items.
func (c contenderResult) coverageCells(stratum string, asReported bool) []string {
	var row []string
	for _, level := range judgedLevels {
		s, reported, items := c.covers(level, stratum)
		if asReported {
			s = reported
		}
		text := ""
		if items > 0 {
			text = percentOf(s, 1)
		}
		row = append(row, text)
	}
	return row
}
