package report

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/evaluate"
	"credence/internal/plot"
	"credence/internal/words"
)

//go:embed decisions.html
var decisionsHTML string

// decisionsPage is the data of the section on decisions.
type decisionsPage struct {
	Positive, Basis, Properties, Smoother string

	Scores         []row
	Thresholds     grid
	Confusion      grid
	Figures        []*figure
	Comparisons    grid
	ComparisonNote string
}

// grid is a table: the first column has names, the others numbers.
type grid struct {
	Head []string
	Rows [][]string
}

// decisions returns the section on decisions, nil if there are none.
func (g *gallery) decisions(r *evaluate.Result) *decisionsPage {
	d := r.Decisions
	if d == nil {
		return nil
	}
	p := &decisionsPage{Positive: d.Positive, Basis: d.Basis(), Properties: d.Properties(), Scores: decisionScores(d),
		Smoother:   "The calibration curve is smoothed by " + d.Smooth.Smoother + ". " + evaluate.SmallSample,
		Thresholds: thresholdGrid(d), Confusion: confusionGrid(d)}
	p.Figures = append([]*figure{g.roc(d), g.precisionRecall(d), g.smoothCalibration(d), g.decisionCurve(d)}, g.decisionForests(d)...)
	p.Figures = slices.DeleteFunc(p.Figures, func(f *figure) bool { return f == nil })
	p.Comparisons, p.ComparisonNote = comparisonGrid(d)
	return p
}

// decisionScores are the scores without a threshold.
func decisionScores(d *evaluate.Decisions) []row {
	meaning := map[string]string{
		"prevalence":                  "Share of positive items by the reference.",
		"auc":                         "Probability that a positive item is ranked above a negative one. 1 is best, 0.5 is chance.",
		"calibration_intercept":       "Calibration in the large, on the logit scale. 0 is best; below, predictions are too high on average.",
		"calibration_slope":           "1 is best. Below, predictions are too extreme; above, not extreme enough.",
		"calibration_joint_intercept": "The intercept fitted together with the slope.",
		"observed_expected":           "Positive items by the reference, divided by the number predicted. 1 is best.",
	}
	var rows []row
	for _, x := range d.Rows() {
		if !x.Threshold.Known() {
			name := strings.ToUpper(x.Name[:1]) + x.Name[1:]
			rows = append(rows, row{Name: name, Value: ranged(x.IntervalEstimate, 3), Meaning: meaning[x.Key]})
		}
	}
	s := d.Smooth
	return append(rows,
		row{Name: "Average precision", Value: ranged(d.AveragePrecision, 3), Meaning: "Mean precision over recall. 1 is best; the prevalence is chance."},
		row{Name: "ICI", Value: withError(s.ICI, 3), Meaning: "Mean distance between calibration curve and prediction, after removing sampling noise. 0 is best."},
		row{Name: "E50, E90, Emax", Value: number(s.E50, 3) + ", " + number(s.E90, 3) + ", " + number(s.EMax, 3),
			Meaning: "Median, 90th percentile and maximum of that distance, as they are: too large with few items."})
}

// thresholdGrid has the scores at each threshold.
func thresholdGrid(d *evaluate.Decisions) grid {
	t := grid{Head: []string{"Threshold"}}
	for i, x := range d.Thresholds {
		t.Head = append(t.Head, number(evaluate.Number(x.Threshold), 3))
		k := 0
		put := func(name, cell string) {
			if i == 0 {
				t.Rows = append(t.Rows, []string{name})
			}
			t.Rows[k] = append(t.Rows[k], cell)
			k++
		}
		put("Sensitivity", ranged(x.Sensitivity, 3))
		put("Specificity", ranged(x.Specificity, 3))
		put("PPV", ranged(x.PPV, 3))
		put("NPV", ranged(x.NPV, 3))
		put("LR+", ranged(x.LRPositive, 2))
		put("LR−", ranged(x.LRNegative, 2))
		put("Net benefit", ranged(x.NetBenefit, 3))
		put("True, false positives", number(x.TP, 1)+", "+number(x.FP, 1))
		put("False, true negatives", number(x.FN, 1)+", "+number(x.TN, 1))
	}
	return t
}

func confusionGrid(d *evaluate.Decisions) grid {
	t := grid{Head: append([]string{"Predicted"}, d.Classes...)}
	for i, list := range d.Confusion {
		t.Rows = append(t.Rows, append([]string{d.Classes[i]}, words.Each(list, func(x evaluate.Number) string { return number(x, 1) })...))
	}
	return t
}

// scoreName returns the name of a score, given its key.
func scoreName(key string) string {
	switch key {
	case "auc", "ppv", "npv":
		return strings.ToUpper(key)
	case "observed_expected":
		return "observed / expected"
	}
	return strings.ReplaceAll(key, "_", " ")
}

// shownRivals is the maximum number of comparisons in the table.
const shownRivals = 12

// comparisonGrid has the paired differences, and a note on how to read them.
func comparisonGrid(d *evaluate.Decisions) (t grid, note string) {
	margin, raters := math.NaN(), false
	shown := d.Comparisons[:min(shownRivals, len(d.Comparisons))]
	for _, c := range shown {
		name := c.Rival
		if c.Rater {
			raters = true
			name = "rater " + name
		}
		for _, x := range c.Differences {
			if c.Rater && (x.Score == "ppv" || x.Score == "npv") { // in the JSON of the evaluation
				continue
			}
			score := scoreName(x.Score)
			if x.Threshold.Known() {
				score += " at " + fmt.Sprintf("%.4g", x.Threshold)
			}
			cells := []string{name + ": " + score, number(x.Model, 3), number(x.Rival, 3), ranged(x.IntervalEstimate, 3), pValue(x.PValue)}
			if x.Margin.Known() {
				margin = float64(x.Margin)
				cells = append(cells, map[bool]string{true: "yes", false: "no"}[x.Noninferior()])
			} else if d.Comparisons[0].Differences[0].Margin.Known() {
				cells = append(cells, dash)
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	t.Head = []string{"Compared with", "This", "Other", "Difference [95% interval]", "p-value"}
	note = "Differences are paired: this model minus the other."
	if !math.IsNaN(margin) {
		t.Head = append(t.Head, "Noninferior")
		note += fmt.Sprintf(" The model is not inferior if the interval lies above −%.4g.", margin)
	}
	if raters && d.Reference != evaluate.ReferenceGold {
		note += " Rater and model are compared with the votes of the others on the rater's items."
	}
	if raters && d.Pseudonymous {
		note += " " + pseudonymsNote
	}
	if n := len(d.Comparisons) - len(shown); n > 0 {
		note += fmt.Sprintf(" %d more are not shown.", n)
	}
	return t, note + " p-values are not corrected for the number of comparisons."
}

const bandLabel = "95% band, pointwise"

// bandSeries returns the known points of a curve.
func bandSeries(label string, points []evaluate.BandPoint) plot.BandSeries {
	s := plot.BandSeries{Label: label}
	for _, p := range points {
		if p.X.Known() && p.Y.Known() {
			s.X, s.Y = append(s.X, float64(p.X)), append(s.Y, float64(p.Y))
			s.Lo, s.Hi = append(s.Lo, float64(p.Lo)), append(s.Hi, float64(p.Hi))
		}
	}
	return s
}

// roc draws the ROC curve, with the thresholds and the raters as points.
func (g *gallery) roc(d *evaluate.Decisions) *figure {
	if len(d.ROC) == 0 {
		return nil
	}
	f := plot.Bands{Title: fmt.Sprintf("ROC curve for %s: AUC %s", d.Positive, ranged(d.AUC, 3)), XLabel: "1 − specificity", YLabel: "sensitivity", Unit: true,
		Equal: "no discrimination", BandLabel: bandLabel, Series: []plot.BandSeries{bandSeries("model", d.ROC)}}
	thresholds, raters := plot.BandMarks{Label: "thresholds"}, plot.BandMarks{Label: "raters"}
	for _, t := range d.Thresholds {
		if t.Sensitivity.Value.Known() && t.Specificity.Value.Known() {
			thresholds.Points = append(thresholds.Points, [2]float64{float64(1 - t.Specificity.Value), float64(t.Sensitivity.Value)})
		}
	}
	for _, c := range d.Comparisons {
		sensitivity, specificity := math.NaN(), math.NaN()
		for _, x := range c.Differences {
			switch {
			case c.Rater && x.Score == "sensitivity":
				sensitivity = float64(x.Rival)
			case c.Rater && x.Score == "specificity":
				specificity = float64(x.Rival)
			}
		}
		if !math.IsNaN(sensitivity + specificity) {
			raters.Points = append(raters.Points, [2]float64{1 - specificity, sensitivity})
		}
	}
	help := "The farther the curve is from the dashed line, the better positive items are distinguished from negative ones. " +
		"The band holds at one false positive rate at a time."
	f.Marks = []plot.BandMarks{thresholds}
	if raters.Points != nil {
		f.Marks = append(f.Marks, raters)
		help += " Raters are compared with the reference on their own items: those below the curve do worse than the model at their specificity."
	}
	return g.draw(f, help)
}

func (g *gallery) precisionRecall(d *evaluate.Decisions) *figure {
	if len(d.PR) == 0 {
		return nil
	}
	prevalence := float64(d.Prevalence.Value)
	return g.draw(plot.Bands{Title: fmt.Sprintf("Precision and recall for %s", d.Positive), XLabel: "recall (sensitivity)", YLabel: "precision (PPV)",
		Unit: true, BandLabel: bandLabel,
		Series: []plot.BandSeries{bandSeries("model", d.PR), {Label: "prevalence", X: []float64{0, 1}, Y: []float64{prevalence, prevalence}}}},
		"Precision at the highest threshold that reaches a recall. A model without information stays at the prevalence.")
}

func (g *gallery) smoothCalibration(d *evaluate.Decisions) *figure {
	if len(d.Smooth.Curve) < 2 {
		return nil
	}
	return g.draw(plot.Bands{Title: fmt.Sprintf("Calibration curve for %s", d.Positive), XLabel: "predicted probability of " + d.Positive,
		YLabel: "reference", Unit: true, Equal: "calibrated", BandLabel: bandLabel, Series: []plot.BandSeries{bandSeries("smoothed", d.Smooth.Curve)}},
		"Above the dashed line predictions are too low, below too high. Smoother: "+d.Smooth.Smoother+"; the band is for sampling error, not for the bias of smoothing.")
}

func (g *gallery) decisionCurve(d *evaluate.Decisions) *figure {
	series := func(label string, of func(p *evaluate.BenefitPoint) evaluate.IntervalEstimate) plot.BandSeries {
		var points []evaluate.BandPoint
		for i := range d.Benefit {
			e := of(&d.Benefit[i])
			points = append(points, evaluate.BandPoint{X: evaluate.Number(d.Benefit[i].Threshold), Y: e.Value, Lo: e.Lo, Hi: e.Hi})
		}
		return bandSeries(label, points)
	}
	type point = *evaluate.BenefitPoint
	model := series("model", func(p point) evaluate.IntervalEstimate { return p.Model })
	if len(model.X) == 0 {
		return nil
	}
	return g.draw(plot.Bands{Title: fmt.Sprintf("Decision curve for %s", d.Positive), XLabel: "threshold", YLabel: "net benefit", BandLabel: bandLabel,
		Cut: true, Least: -0.1 * slices.Max(model.Y),
		Series: []plot.BandSeries{model, series("treat all", func(p point) evaluate.IntervalEstimate { return p.TreatAll }),
			{Label: "treat none", X: []float64{0.01, 0.99}, Y: []float64{0, 0}}}},
		"Net benefit counts true positives per item, less false positives at the odds of the threshold. The model is useful at thresholds where its curve is the highest.")
}

// shownDecisionLevels is the maximum number of levels of a column in a forest plot.
const shownDecisionLevels = 20

// decisionForests draws the scores by the levels of columns: ranking and calibration, and decisions at the first threshold.
func (g *gallery) decisionForests(d *evaluate.Decisions) []*figure {
	if len(d.By) == 0 {
		return nil
	}
	at := &d.Thresholds[0]
	threshold := fmt.Sprintf("%.4g", at.Threshold)
	type summary = *evaluate.DecisionSummary
	type panel struct {
		plot.ForestPanel
		key string
		of  func(s summary) evaluate.IntervalEstimate
	}
	draw := func(title, line string, panels ...panel) *figure {
		f := plot.Forest{Title: title, Noun: "levels", Notes: "items", InOrder: true}
		for _, x := range panels {
			f.Panels = append(f.Panels, x.ForestPanel)
		}
		for i, c := range d.By {
			f.Groups = append(f.Groups, c.Column+heterogeneity(&c, panels[0].key))
			for k := range c.Levels[:min(shownDecisionLevels, len(c.Levels))] {
				l := &c.Levels[k]
				r := plot.ForestRow{Name: l.Name, Note: count(float64(l.Items)), Group: i}
				for _, x := range panels {
					r.Estimates = append(r.Estimates, forestEstimate(x.of(&l.DecisionSummary)))
				}
				f.Rows = append(f.Rows, r)
			}
		}
		return g.draw(f, "The dashed line is "+line+". "+differences(d, words.Each(panels, func(p panel) string { return p.key })))
	}
	share := func(label string, value evaluate.IntervalEstimate) plot.ForestPanel {
		p := plot.ForestPanel{Label: label, Share: true}
		if value.Value.Known() {
			p.Reference = float64(value.Value)
		}
		return p
	}
	benefit := share("net benefit", at.NetBenefit)
	benefit.Share = false
	return []*figure{
		draw("Ranking and calibration by level", "the AUC of all items, or the best value of calibration slope and observed / expected",
			panel{share("AUC", d.AUC), "auc", func(s summary) evaluate.IntervalEstimate { return s.AUC }},
			panel{plot.ForestPanel{Label: "calibration slope", Reference: 1}, "calibration_slope", func(s summary) evaluate.IntervalEstimate { return s.Slope }},
			panel{plot.ForestPanel{Label: "observed / expected", Reference: 1}, "observed_expected", func(s summary) evaluate.IntervalEstimate { return s.OE }}),
		draw("Decisions by level at the threshold "+threshold, "the value of all items",
			panel{share("sensitivity", at.Sensitivity), "sensitivity", func(s summary) evaluate.IntervalEstimate { return s.Thresholds[0].Sensitivity }},
			panel{share("specificity", at.Specificity), "specificity", func(s summary) evaluate.IntervalEstimate { return s.Thresholds[0].Specificity }},
			panel{benefit, "net_benefit", func(s summary) evaluate.IntervalEstimate { return s.Thresholds[0].NetBenefit }}),
	}
}

// forestEstimate returns an estimate as it is drawn; without an interval it is a dot.
func forestEstimate(e evaluate.IntervalEstimate) plot.ForestEstimate {
	if !e.Value.Known() {
		return plot.ForestEstimate{Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	}
	v := float64(e.Value)
	if !e.Lo.Known() || !e.Hi.Known() {
		return plot.ForestEstimate{Value: v, Lo: v, Hi: v}
	}
	return plot.ForestEstimate{Value: v, Lo: min(v, float64(e.Lo)), Hi: max(v, float64(e.Hi))}
}

// heterogeneity returns the test of equal scores of the levels, for the legend.
func heterogeneity(c *evaluate.DecisionColumn, key string) string {
	for _, h := range c.Heterogeneity {
		if h.Score == key && h.PValue.Known() {
			return fmt.Sprintf(": equal %s? p %s, I² %s%%", scoreName(key), pValue(h.PValue), number(100*h.I2, 0))
		}
	}
	return ""
}

// differences lists the scores in which the levels of a column differ by more than chance, at 5%.
func differences(d *evaluate.Decisions, keys []string) string {
	var list []string
	for _, c := range d.By {
		for _, h := range c.Heterogeneity {
			first := !h.Threshold.Known() || float64(h.Threshold) == d.Thresholds[0].Threshold
			if slices.Contains(keys, h.Score) && first && h.PValue < 0.05 {
				list = append(list, fmt.Sprintf("%s by %s (p %s, I² %s%%)", scoreName(h.Score), c.Column, pValue(h.PValue), number(100*h.I2, 0)))
			}
		}
	}
	if list == nil {
		return "No score differs between the levels of a column at the 5% level."
	}
	return "At the 5% level, not corrected for the number of tests, these differ: " + words.List(list, "and") + "."
}
