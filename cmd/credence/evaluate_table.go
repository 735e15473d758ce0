package main

import (
	"fmt"
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
)

// evaluateReport is what credence evaluate prints.
type evaluateReport struct {
	run    string
	group  string // the column of the groups
	model  *model.Model
	data   *dataset.Dataset
	result *evaluate.Result
}

func (r *evaluateReport) print(w *printout.Page) {
	if !r.model.Traits().Joint {
		w.Sections(r.heading, r.losses, r.scores, r.classes, r.warnings, r.errors)
		return
	}
	w.Sections(r.heading, r.losses, r.scores, r.intervals, r.classes, r.apart, r.curve, r.widths, r.abstention, r.target, r.coverage, r.warnings, r.errors)
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

// losses sets the model beside the references.
func (r *evaluateReport) losses(w *printout.Page) {
	res := r.result
	w.Heading("Loss per vote, in nats: lower is better")
	t := printout.NewTable(0, 2)
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
		t.Add("an item's votes together", "", "model less this, 95% interval")
		add("model", res.NLL, nil)
		add("logistic_dm", res.LogisticDMNLL, res.LessLogisticDM)
		add("constant_dm", res.ConstantDMNLL, res.LessConstantDM)
		t.Add("votes one by one")
	} else {
		t.Add("votes one by one", "", "model less this, 95% interval")
	}
	add("model", res.MarginalNLL, nil)
	add("logistic", res.LogisticNLL, res.LessLogistic)
	add("constant", res.ConstantNLL, nil)
	add("floor", res.FloorNLL, nil)
	t.Rows[len(t.Rows)-1][2] = "the items' own shares: out of reach"
	w.Table(t)
}

func (r *evaluateReport) scores(w *printout.Page) {
	res := r.result
	w.Heading("Scores")
	t := printout.NewTable(0, 2).Bare()
	t.Add("  accuracy", plusMinus(res.Accuracy, 3), "predicted class is a most-voted one")
	t.Add("  Brier", plusMinus(res.Brier, 3), "squared error per vote, 0 to 2")
	t.Add("  ECE", plusMinus(res.ECE, 3), "calibration error of the predicted class")
	w.Table(t)
}

// intervals says whether votes are spread as the distributions predict.
func (r *evaluateReport) intervals(w *printout.Page) {
	res := r.result
	w.Heading("Are votes spread as predicted?")
	t := printout.NewTable(0, 2).Bare()
	t.Add("  PIT p-value", pValue(res.PITPValue), "below 0.01: the distributions do not fit")
	t.Add("  dispersion ratio", plusMinus(res.DispersionRatio.Estimate, 2), "over 1: too narrow; under 1: too wide")
	if d := res.DispersionRatio; d.Lo.Known() {
		t.Add("    95% interval, p-value", fmt.Sprintf("%s to %s, %s", decimal(d.Lo, 2), decimal(d.Hi, 2), pValue(res.DispersionP)),
			"of its being 1")
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
	w.Heading("Width of the %s interval of the predicted class", printout.Percent(r.result.Level))
	t := printout.NewTable(0)
	t.Add("  votes", "items", "median", "mean")
	// The classes of unanimous votes stand below these, before mixed ones.
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

// coverage has a row for each class and a column for each level.
func (r *evaluateReport) coverage(w *printout.Page) {
	all := r.result.Coverage
	if len(all) == 0 {
		return
	}
	w.Heading("Coverage of the true probabilities, in percent")
	t := printout.NewTable(0)
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
	all := slices.Clone(r.result.Warnings)
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
	w.Paragraph("", fmt.Sprintf("± is a standard error: %s bootstrap draws over %s, seed %d, with the model as it is.",
		words.Thousands(res.Replicates), of, res.Seed))
}

// decimal writes x with a number of decimals, or a dash if it is not known.
func decimal(x evaluate.Number, decimals int) string {
	if !x.Known() {
		return "-"
	}
	return strconv.FormatFloat(float64(x), 'f', decimals, 64)
}

// plusMinus writes an estimate with its standard error, if they are known.
func plusMinus(e evaluate.Estimate, decimals int) string {
	if !e.Value.Known() || !e.SE.Known() {
		return decimal(e.Value, decimals)
	}
	return decimal(e.Value, decimals) + " ± " + decimal(e.SE, decimals)
}

// pValue writes a p-value.
func pValue(p evaluate.Number) string {
	if p.Known() && p < 0.001 {
		return "<0.001"
	}
	return decimal(p, 3)
}

// shareBar draws a share of one in at most n characters, to an eighth of one.
func shareBar(share float64, n int) string {
	if !(share > 0) {
		return ""
	}
	parts := int(math.Round(8 * float64(n) * min(share, 1)))
	s := strings.Repeat("█", parts/8)
	if parts%8 > 0 {
		s += string("▏▎▍▌▋▊▉"[3*(parts%8-1) : 3*(parts%8)])
	}
	return s
}
