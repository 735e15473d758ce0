package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/predict"
)

// decisions prints the scores of decisions on the positive class.
func (r *evaluateReport) decisions(w *printout.Page) {
	if d := r.result.Decisions; d != nil {
		part := func(print func(w *printout.Page, d *evaluate.Decisions)) func(w *printout.Page) {
			return func(w *printout.Page) { print(w, d) }
		}
		w.Sections(part(decisionScores), part(decisionThresholds), part(decisionLevels), part(decisionComparisons))
	}
}

func decisionScores(w *printout.Page, d *evaluate.Decisions) {
	w.Heading("Decisions on %s, with 95%% intervals", d.Positive)
	w.Paragraph("", "Compared with "+d.Basis()+". "+d.Properties())
	t := printout.NewTable(0, 1, 2).Bare()
	meaning := map[string]string{"auc": "a positive item is ranked above a negative one", "calibration_intercept": "0: right on average, on the logit scale",
		"calibration_slope": "below 1: predictions are too extreme", "observed_expected": "above 1: predictions are too low"}
	for _, x := range d.Rows() {
		if !x.Threshold.Known() && x.Key != "calibration_joint_intercept" {
			t.Add("  "+x.Name, inside(x.IntervalEstimate, 3), meaning[x.Key])
		}
		if x.Key == "auc" {
			t.Add("  average precision", inside(d.AveragePrecision, 3))
		}
	}
	c := d.Smooth
	t.Add("  ICI", plusMinus(c.ICI, 3), fmt.Sprintf("E50 %s, E90 %s, Emax %s (biased upwards)", decimal(c.E50, 3), decimal(c.E90, 3), decimal(c.EMax, 3)))
	w.Table(t)
	w.Paragraph("", "Calibration curve: "+c.Smoother+". "+evaluate.SmallSample)
}

// decisionThresholds prints the scores at each threshold, and the confusion matrix.
func decisionThresholds(w *printout.Page, d *evaluate.Decisions) {
	for list := range slices.Chunk(d.Thresholds, 3) {
		t := w.NewTable(fmt.Sprintf("Decisions for %s from a probability on", d.Positive), 0)
		add := func(name string, of func(x *evaluate.DecisionThreshold) string) {
			cells := []string{"  " + name}
			for i := range list {
				cells = append(cells, of(&list[i]))
			}
			t.Add(cells...)
		}
		type at = *evaluate.DecisionThreshold
		add("", func(x at) string { return fmt.Sprintf("%.4g", x.Threshold) })
		add("sensitivity", func(x at) string { return inside(x.Sensitivity, 3) })
		add("specificity", func(x at) string { return inside(x.Specificity, 3) })
		add("PPV", func(x at) string { return inside(x.PPV, 3) })
		add("NPV", func(x at) string { return inside(x.NPV, 3) })
		add("LR+", func(x at) string { return inside(x.LRPositive, 2) })
		add("LR−", func(x at) string { return inside(x.LRNegative, 2) })
		add("net benefit", func(x at) string { return inside(x.NetBenefit, 3) })
		add("TP, FP", func(x at) string { return decimal(x.TP, 1) + ", " + decimal(x.FP, 1) })
		add("FN, TN", func(x at) string { return decimal(x.FN, 1) + ", " + decimal(x.TN, 1) })
		w.Table(t)
	}
	if n := len(d.Classes); n <= 8 {
		t := w.NewTable("Confusion matrix: items by predicted class (rows) and reference", 0)
		t.Add(append([]string{""}, words.Each(d.Classes, func(c string) string { return printout.Ellipsis(c, 10) })...)...)
		for i, row := range d.Confusion {
			t.Add(append([]string{"  " + printout.Ellipsis(d.Classes[i], 24)}, words.Each(row, func(x evaluate.Number) string { return decimal(x, 1) })...)...)
		}
		w.Table(t)
	}
}

// decisionLevels prints the scores by the levels of columns.
func decisionLevels(w *printout.Page, d *evaluate.Decisions) {
	if len(d.By) == 0 {
		return
	}
	t := w.NewTable(fmt.Sprintf("Decisions on %s by level, at the threshold %.4g", d.Positive, d.Thresholds[0].Threshold), 0)
	t.Add("", "items", "AUC", "observed / expected", "sensitivity", "specificity")
	keys := []string{"auc", "observed_expected", "sensitivity", "specificity"}
	for _, c := range d.By {
		t.Add("  " + printout.Ellipsis(c.Column, 26))
		for i := range c.Levels {
			l := &c.Levels[i]
			at := &l.Thresholds[0]
			t.Add("    "+printout.Ellipsis(l.Name, 24), words.Thousands(l.Items), inside(l.AUC, 2),
				inside(l.OE, 2), inside(at.Sensitivity, 2), inside(at.Specificity, 2))
		}
		if len(c.Levels) < 2 {
			continue
		}
		equal, tau := []string{"    all equal? p", ""}, []string{"    I², τ", ""}
		for _, key := range keys {
			h := c.Heterogeneity[slices.IndexFunc(c.Heterogeneity, func(h evaluate.Heterogeneity) bool { return h.Score == key })]
			equal, tau = append(equal, pValue(h.PValue)), append(tau, percent(h.I2, 0)+", "+decimal(h.Tau, 2))
		}
		t.Add(equal...)
		t.Add(tau...)
	}
	w.Table(t)
	w.Paragraph("", "I² is the share of the variance between levels that is not chance, τ their standard deviation on the scale of logits "+
		"(of logarithms for observed / expected).")
}

// shownRivals is the maximum number of comparisons in the table.
const shownRivals = 10

// decisionComparisons prints the paired differences from other models and raters.
func decisionComparisons(w *printout.Page, d *evaluate.Decisions) {
	if len(d.Comparisons) == 0 {
		return
	}
	t := w.NewTable("Paired differences on the same items: this model minus the other", 0)
	head := []string{"", "threshold", "this", "other", "difference, 95% interval", "p-value"}
	if d.Comparisons[0].Differences[0].Margin.Known() {
		head = append(head, "noninferior")
	}
	t.Add(head...)
	for _, c := range d.Comparisons[:min(shownRivals, len(d.Comparisons))] {
		name := c.Rival
		if c.Rater {
			name = "rater " + name
		}
		t.Add(fmt.Sprintf("  %s, %s", printout.Ellipsis(name, 30), words.Plural(c.Items, "item")))
		for _, x := range c.Differences {
			if c.Rater && (x.Score == "ppv" || x.Score == "npv") { // in CSV and JSON
				continue
			}
			threshold, verdict := "", ""
			if x.Threshold.Known() {
				threshold = fmt.Sprintf("%.4g", x.Threshold)
			}
			if x.Margin.Known() && x.Lo.Known() {
				verdict = map[bool]string{true: "yes", false: "no"}[x.Noninferior()] + ", p " + pValue(x.NoninferiorP)
			}
			t.Add("    "+strings.ReplaceAll(x.Score, "_", " "), threshold, decimal(x.Model, 3), decimal(x.Rival, 3), inside(x.IntervalEstimate, 3), pValue(x.PValue), verdict)
		}
	}
	w.Table(t)
	var notes []string
	if n := len(d.Comparisons) - shownRivals; n > 0 {
		notes = append(notes, fmt.Sprintf("%d more comparisons are in CSV and JSON.", n))
	}
	if slices.ContainsFunc(d.Comparisons, func(c evaluate.Comparison) bool { return c.Rater }) && d.Reference != evaluate.ReferenceGold {
		notes = append(notes, "Rater and model are compared with the votes of the others on the rater's items.")
	}
	notes = append(notes, "p-values are not corrected for the number of comparisons.")
	w.Paragraph("", strings.Join(notes, " "))
}

// writeDecisions writes the scores of decisions as CSV, with the ends of intervals in rows of their own.
func writeDecisions(c *csv.Writer, digits predict.Digits, d *evaluate.Decisions) {
	if d == nil {
		return
	}
	text := func(x evaluate.Number) string {
		if !x.Known() {
			return ""
		}
		return digits.Text(float64(x))
	}
	row := func(key string, of []string, e evaluate.IntervalEstimate) {
		if of = slices.DeleteFunc(of, func(s string) bool { return s == "" }); len(of) > 0 {
			key += "[" + strings.Join(of, " ") + "]"
		}
		name, suffix, _ := strings.Cut(key, "[")
		if suffix != "" {
			suffix = "[" + suffix
		}
		c.Write([]string{"decisions_" + key, text(e.Value), text(e.SE)})
		c.Write([]string{"decisions_" + name + "_lo" + suffix, text(e.Lo), ""})
		c.Write([]string{"decisions_" + name + "_hi" + suffix, text(e.Hi), ""})
	}
	at := func(t evaluate.Number) string {
		if !t.Known() {
			return ""
		}
		return "threshold=" + exact(float64(t))
	}
	summary := func(s *evaluate.DecisionSummary, of string) {
		for _, x := range s.Rows() {
			row(x.Key, []string{of, at(x.Threshold)}, x.IntervalEstimate)
		}
	}
	summary(&d.DecisionSummary, "")
	row("average_precision", nil, d.AveragePrecision)
	c.Write([]string{"decisions_ici", text(d.Smooth.ICI.Value), text(d.Smooth.ICI.SE)})
	for i, x := range []evaluate.Number{d.Smooth.ICIPlain, d.Smooth.E50, d.Smooth.E90, d.Smooth.EMax} {
		c.Write([]string{"decisions_" + []string{"ici_plain", "e50", "e90", "emax"}[i], text(x), ""})
	}
	for _, column := range d.By {
		for i := range column.Levels {
			summary(&column.Levels[i].DecisionSummary, column.Column+"="+column.Levels[i].Name)
		}
		for _, h := range column.Heterogeneity {
			row(h.Score+"_common", []string{column.Column, at(h.Threshold)}, h.Common)
			of := strings.Join(slices.DeleteFunc([]string{column.Column, at(h.Threshold)}, func(s string) bool { return s == "" }), " ")
			c.Write([]string{"decisions_" + h.Score + "_i2[" + of + "]", text(h.I2), ""})
			c.Write([]string{"decisions_" + h.Score + "_tau[" + of + "]", text(h.Tau), ""})
			c.Write([]string{"decisions_" + h.Score + "_heterogeneity_p_value[" + of + "]", text(h.PValue), ""})
		}
	}
	for _, x := range d.Comparisons {
		for _, y := range x.Differences {
			row(y.Score+"_difference", []string{x.Rival, at(y.Threshold)}, y.IntervalEstimate)
		}
	}
}
