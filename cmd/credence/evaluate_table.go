package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
)

// evaluateReport is the report of credence evaluate.
type evaluateReport struct {
	run    string
	group  string // name of the group column
	model  *model.Model
	data   *dataset.Dataset
	result *evaluate.Result
}

func (r *evaluateReport) print(w *printout.Page) {
	if !r.model.Traits().Joint {
		w.Sections(r.heading, r.losses, r.scores, r.decisions, r.lewidi, r.perRater, r.classes, r.warnings, r.errors)
		return
	}
	w.Sections(r.heading, r.losses, r.scores, r.decisions, r.lewidi, r.perRater, r.intervals, r.classes, r.dispersion, r.strata, r.importance, r.allocation, r.curve, r.widths, r.abstention, r.target, r.coverage, r.warnings, r.errors)
}

func (r *evaluateReport) heading(w *printout.Page) {
	m, res := r.model, r.result
	kind := "by method " + m.Method.Name()
	if x, ok := m.Method.(head.Mixture); ok {
		kind = "of " + words.Plural(x.Components, "component")
	}
	text := fmt.Sprintf("%s: %s %s, trained on %s items",
		r.run, words.Plural(len(m.Members), "network"), kind,
		words.Thousands(m.Provenance.Split.Items-m.Provenance.Split.Unvoted))
	w.Paragraph("Model  ", text)
	text = r.data.Votes.String()
	if r.data.Groups != nil {
		text = fmt.Sprintf("%s in %s groups of column %s", text, words.Thousands(res.Units), r.group)
	}
	w.Paragraph("Data   ", text)
}

// losses compares the losses of the model with those of the reference models.
func (r *evaluateReport) losses(w *printout.Page) {
	res := r.result
	t := w.NewTable("Loss per vote, in nats: lower is better", 0, 2)
	add := func(name string, loss evaluate.Estimate, d *evaluate.Difference) {
		difference := ""
		if d != nil && d.Value.Known() {
			difference = fmt.Sprintf("%+.4f", d.Value)
			if d.Lo.Known() && d.Hi.Known() {
				difference += fmt.Sprintf(" [%+.4f, %+.4f], p %s", d.Lo, d.Hi, pValue(d.PValue))
			}
		}
		t.Add("  "+name, plusMinus(loss, 4), difference)
	}
	if r.model.Traits().Joint {
		t.Add("an item's votes together", "", "model minus this, 95% interval")
		add("model", res.NLL, nil)
		add("common", res.CommonNLL, res.LessCommon)
		t.Rows[len(t.Rows)-1][0] += " (its means, one concentration)"
		add("logistic_dm", res.LogisticDMNLL, res.LessLogisticDM)
		add("constant_dm", res.ConstantDMNLL, res.LessConstantDM)
		t.Add("votes one by one")
	} else {
		t.Add("votes one by one", "", "model minus this, 95% interval")
	}
	add("model", res.MarginalNLL, nil)
	add("logistic", res.LogisticNLL, res.LessLogistic)
	add("constant", res.ConstantNLL, nil)
	add("floor", res.FloorNLL, nil)
	t.Rows[len(t.Rows)-1][2] = "the items' own vote shares: a lower bound"
	w.Table(t)
}

func (r *evaluateReport) scores(w *printout.Page) {
	res := r.result
	t := w.NewTable("Scores", 0, 2).Bare()
	t.Add("  accuracy", plusMinus(res.Accuracy, 3), "predicted class is a most-voted one")
	t.Add("  Brier", plusMinus(res.Brier, 3), "squared error per vote, 0 to 2")
	t.Add("  ECE", inside(evaluate.NotNegative(res.ECE), 3), "calibration error of the predicted class")
	addRanked(t, res)
	w.Table(t)
}

// intervals prints whether votes are dispersed as the distributions predict.
func (r *evaluateReport) intervals(w *printout.Page) {
	res := r.result
	t := w.NewTable("Are votes spread as predicted?", 0, 2).Bare()
	t.Add("  PIT p-value", pValue(res.PITPValue), "below 0.01: the distributions do not fit")
	t.Add("  dispersion ratio", inside(res.DispersionRatio, 2), "over 1: too narrow; under 1: too wide")
	if d := res.DispersionRatio; d.Lo.Known() {
		t.Add("    p-value", pValue(res.DispersionP), "of its being 1")
	}
	if a := res.Agreement; a.Items > 0 {
		t.Add("  agreement, predicted", decimal(a.Predicted, 3), "chance that two votes on an item agree")
		items := "one item"
		if a.Items != 1 {
			items = words.Thousands(a.Items) + " items"
		}
		t.Add("  agreement, observed", plusMinus(evaluate.Estimate{Value: a.Observed, SE: a.SE}, 3), "on the "+items+" with two votes or more")
	}
	w.Table(t)
}

func (r *evaluateReport) widths(w *printout.Page) {
	if !slices.ContainsFunc(r.result.Widths, func(g evaluate.WidthGroup) bool { return g.Items > 0 }) {
		return
	}
	t := w.NewTable(fmt.Sprintf("Width of the %s interval of the predicted class", printout.Percent(r.result.Level)), 0)
	t.Add("  votes", "items", "median", "mean")
	// The rows per class of unanimous votes follow that of all unanimous votes, before mixed ones.
	groups := slices.Clone(r.result.Widths)
	slices.SortStableFunc(groups, func(a, b evaluate.WidthGroup) int { return strings.Compare(b.Group, a.Group) })
	for _, g := range groups {
		if g.Items == 0 {
			continue
		}
		name := g.Group
		if g.Class != "" {
			name = "  all for " + printout.Ellipsis(g.Class, 24)
		}
		t.Add("  "+name, words.Thousands(g.Items), plusMinus(g.Median, 3), plusMinus(g.Mean, 3))
	}
	w.Table(t)
}

// coverage prints a table with a row per class and a column per level.
func (r *evaluateReport) coverage(w *printout.Page) {
	all := r.result.Coverage
	if len(all) == 0 {
		return
	}
	t := w.NewTable("Coverage of the true probabilities, in percent", 0)
	header := []string{"  class"}
	var levels []float64
	for _, c := range all {
		if !slices.Contains(levels, c.Level) {
			levels = append(levels, c.Level)
			header = append(header, printout.Percent(c.Level))
		}
	}
	t.Add(header...)
	for _, class := range r.model.Classes {
		row := make([]string, len(header))
		row[0] = "  " + printout.Ellipsis(class, 24)
		for _, c := range all {
			if c.Class == class {
				row[1+slices.Index(levels, c.Level)] = plusMinus(evaluate.Estimate{Value: 100 * c.Empirical, SE: 100 * c.SE}, 1)
			}
		}
		t.Add(row...)
	}
	w.Table(t)
}

func (r *evaluateReport) warnings(w *printout.Page) {
	all := words.Each(r.result.Warnings, evaluate.Message.String)
	for _, text := range r.model.Provenance.Warnings {
		all = append(all, "from training: "+text.String())
	}
	w.Bullets(all)
}

func (r *evaluateReport) errors(w *printout.Page) {
	res, of := r.result, "items"
	if r.data.Groups != nil {
		of = "groups"
	}
	w.Paragraph("", fmt.Sprintf("[ ] is a 95%% interval, ± a standard error: %s bootstrap draws over %s, seed %d, for this model.",
		words.Thousands(res.Replicates), of, res.Seed))
}

// decimal formats x with a number of decimals, or as a dash if it is unknown.
func decimal(x evaluate.Number, decimals int) string {
	if !x.Known() {
		return "-"
	}
	return strconv.FormatFloat(float64(x), 'f', decimals, 64)
}

// percent formats a share: 12.3%.
func percent(x evaluate.Number, decimals int) string {
	if !x.Known() {
		return "-"
	}
	return decimal(100*x, decimals) + "%"
}

// plusMinus formats an estimate with its standard error, if they are known.
func plusMinus(e evaluate.Estimate, decimals int) string {
	if !e.Value.Known() || !e.SE.Known() {
		return decimal(e.Value, decimals)
	}
	return decimal(e.Value, decimals) + " ± " + decimal(e.SE, decimals)
}

// pValue formats a p-value.
func pValue(p evaluate.Number) string {
	if p.Known() && p < 0.001 {
		return "<0.001"
	}
	return decimal(p, 3)
}

// shareBar draws a share as a bar of at most n characters, with a resolution of an eighth of a character.
func shareBar(share float64, n int) string {
	if !(share > 0) {
		return ""
	}
	eighths := int(math.Round(8 * float64(n) * min(share, 1)))
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string("▏▎▍▌▋▊▉"[3*(eighths%8-1) : 3*(eighths%8)])
	}
	return s
}

// classes compares the observed share of votes of each class with the predicted one.
func (r *evaluateReport) classes(w *printout.Page) {
	if len(r.result.ClassCalibration) == 0 || r.result.VotedItems == 0 {
		return
	}
	t := w.NewTable("Share of the votes for each class", 0)
	t.Add("  class", "predicted", "observed", "ratio", "p-value")
	for _, c := range r.result.ClassCalibration {
		t.Add("  "+printout.Ellipsis(c.Class, 24), percent(c.Expected, 2), percent(c.Observed, 2),
			plusMinus(c.Ratio, 2), pValue(c.PValue))
	}
	w.Table(t)
}

// dispersion prints the dispersion ratio by class and by the levels of columns.
func (r *evaluateReport) dispersion(w *printout.Page) {
	res := r.result
	if len(res.DispersionClasses)+len(res.DispersionBy) == 0 {
		return
	}
	t := w.NewTable("Dispersion ratio by group", 0)
	t.Add("", "items", "ratio", "95% interval", "p-value", "shrunk")
	add := func(d evaluate.Dispersion, shrunk string) {
		t.Add("    "+printout.Ellipsis(d.Name, 24), words.Thousands(d.Items), decimal(d.Ratio.Inside(), 2),
			decimal(d.Ratio.Lo, 2)+" to "+decimal(d.Ratio.Hi, 2), pValue(d.PValue), shrunk)
	}
	if len(res.DispersionClasses) > 0 {
		t.Add("  class")
		for _, d := range res.DispersionClasses {
			add(d, "")
		}
	}
	for _, c := range res.DispersionBy {
		name := c.Column
		if name == spreadName {
			name = "predicted spread"
		}
		t.Add("  " + printout.Ellipsis(name, 26))
		for _, l := range c.Levels {
			shrunk := ""
			if len(c.Levels) > 1 {
				shrunk = plusMinus(l.Shrunk, 2)
			}
			add(l.Dispersion, shrunk)
		}
		if len(c.Levels) > 1 {
			t.Add("    all equal?", "", "τ "+decimal(c.Tau, 2), "", pValue(c.PValue), plusMinus(c.Common, 2))
		}
	}
	w.Table(t)
}

// shownStrata is the maximum number of strata in the table.
const shownStrata = 8

// strata prints the dispersion ratio in the worst strata, and names the worst of all.
func (r *evaluateReport) strata(w *printout.Page) {
	worst := r.result.WorstStrata()
	if len(worst) == 0 {
		return
	}
	w.Heading("Dispersion ratio by stratum, the worst first")
	t := printout.NewTable(0)
	t.Add("", "items", "ratio", "95% interval", "p-value, corrected")
	for _, x := range worst[:min(shownStrata, len(worst))] {
		t.Add("  "+printout.Ellipsis(x.Column, 24)+", "+x.Name, words.Thousands(x.Items), decimal(x.Ratio.Inside(), 2),
			decimal(x.Ratio.Lo, 2)+" to "+decimal(x.Ratio.Hi, 2), pValue(x.Adjusted))
	}
	w.Table(t)
	text := fmt.Sprintf("Intervals have the right width in every stratum examined, as far as these votes show; the worst is %s.", &worst[0])
	if worst[0].Off() {
		text = worst[0].Describe()
	}
	w.Paragraph("", text+" "+r.result.StrataNote())
}

// writeStrata writes the dispersion ratios of all strata as CSV.
func writeStrata(w io.Writer, d predict.Digits, strata []evaluate.DispersionStratum) error {
	c := csv.NewWriter(w)
	text := func(x evaluate.Number) string {
		if !x.Known() {
			return ""
		}
		return d.Text(float64(x))
	}
	for _, x := range strata {
		of := "[" + x.Column + "=" + x.Name + "]"
		c.WriteAll([][]string{
			{"dispersion_items" + of, strconv.Itoa(x.Items), ""},
			{"dispersion_ratio" + of, text(x.Ratio.Value), text(x.Ratio.SE)},
			{"dispersion_ratio_lo" + of, text(x.Ratio.Lo), ""},
			{"dispersion_ratio_hi" + of, text(x.Ratio.Hi), ""},
			{"dispersion_p_value" + of, text(x.PValue), ""},
			{"dispersion_p_value_adjusted" + of, text(x.Adjusted), ""},
		})
	}
	return c.Error()
}

// abstentionShares are the shares of items with a prediction that the table
// shows. The nearest point of the curve is used.
var abstentionShares = []float64{0.1, 0.25, 0.5, 0.75, 0.9, 1}

func (r *evaluateReport) abstention(w *printout.Page) {
	points := r.result.Abstention
	if len(points) < 2 {
		return
	}
	heading, threshold := "Abstention by p_top, the probability that the predicted class is on top", "p_top from"
	if r.result.AbstentionBy == evaluate.ByWidth {
		heading, threshold = "Abstention by the width of the interval", "width up to"
	}
	t := w.NewTable(heading)
	t.Add("  answered", threshold, "accuracy", "loss per vote", "handed on: accuracy", "loss")
	last := -1
	for _, share := range abstentionShares {
		at := 0
		for i, p := range points {
			if math.Abs(float64(p.Answered)-share) < math.Abs(float64(points[at].Answered)-share) {
				at = i
			}
		}
		if at == last {
			continue
		}
		last = at
		p := points[at]
		t.Add(percent(p.Answered, 0), decimal(p.Threshold, 3), plusMinus(p.Accuracy, 3), plusMinus(p.NLL, 3),
			decimal(p.HandedAccuracy.Value, 3), decimal(p.HandedNLL.Value, 3))
	}
	w.Table(t)
}

// target prints the threshold that reaches the requested accuracy.
func (r *evaluateReport) target(w *printout.Page) {
	x := r.result.AbstentionTarget
	if x == nil {
		return
	}
	wanted := exact(x.Wanted)
	if !x.Threshold.Known() {
		w.Paragraph("", fmt.Sprintf("No share of these items reaches an accuracy of %s.", wanted))
		return
	}
	rule, flag := "a p_top of %s or more", "--min-top"
	if r.result.AbstentionBy == evaluate.ByWidth {
		rule, flag = "a width of %s or less", "--max-width"
	}
	end := func(x evaluate.Number) string {
		if !x.Known() {
			return "out of reach"
		}
		return decimal(x, 3)
	}
	w.Paragraph("", fmt.Sprintf("An accuracy of %s is reached by "+rule+" (95%% interval %s to %s): %s of the items are answered, %s of them right. credence predict %s %s marks the others.",
		wanted, decimal(x.Threshold, 3), end(x.Lo), end(x.Hi), percent(x.Answered, 0), percent(x.Accuracy, 0), flag, decimal(x.Threshold, 3)))
}

// curve prints the estimates from fewer votes per item and fewer items.
func (r *evaluateReport) curve(w *printout.Page) {
	if len(r.result.Curve) == 0 {
		return
	}
	t := w.NewTable("With fewer votes per item, and fewer items")
	t.Add("  votes", "items", "dispersion ratio", "loss per vote")
	for _, p := range r.result.Curve {
		t.Add(strconv.Itoa(p.Votes), words.Thousands(p.Items), inside(evaluate.NotNegative(p.Ratio), 2), plusMinus(p.Loss, 4))
	}
	w.Table(t)
}
