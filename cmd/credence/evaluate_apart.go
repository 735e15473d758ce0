package main

import (
	"fmt"
	"math"
	"strconv"

	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/words"
)

// classes sets the votes for each class beside those predicted.
func (r *evaluateReport) classes(w *printout.Page) {
	if len(r.result.ClassCalibration) == 0 || r.result.VotedItems == 0 {
		return
	}
	w.Heading("Votes for each class, of all")
	t := printout.NewTable(0)
	t.Add("  class", "predicted", "seen", "seen/predicted", "p-value")
	percent := func(x evaluate.Number) string { return decimal(100*x, 2) + "%" }
	for _, c := range r.result.ClassCalibration {
		t.Add("  "+printout.Ellipsis(c.Class, 24), percent(c.Expected), percent(c.Observed), plusMinus(c.Ratio, 2), pValue(c.PValue))
	}
	w.Table(t)
}

// apart has the dispersion ratio by class and by the levels of columns.
func (r *evaluateReport) apart(w *printout.Page) {
	res := r.result
	if len(res.DispersionClasses)+len(res.DispersionBy) == 0 {
		return
	}
	w.Heading("Dispersion ratio, apart")
	t := printout.NewTable(0)
	t.Add("", "items", "ratio", "95% interval", "p-value", "shrunk")
	add := func(d evaluate.Dispersion, shrunk string) {
		t.Add("    "+printout.Ellipsis(d.Name, 24), words.Thousands(d.Items), plusMinus(d.Ratio.Estimate, 2),
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
			t.Add("    all alike?", "", "τ "+decimal(c.Tau, 2), "", pValue(c.PValue), plusMinus(c.Common, 2))
		}
	}
	w.Table(t)
}

// abstentionShares are the shares of items answered that the table shows, as
// far as the curve has points near them.
var abstentionShares = []float64{0.1, 0.25, 0.5, 0.75, 0.9, 1}

func (r *evaluateReport) abstention(w *printout.Page) {
	points := r.result.Abstention
	if len(points) < 2 {
		return
	}
	heading, threshold := "If only the surest are answered (p_top: the predicted class is on top)", "p_top from"
	if r.result.AbstentionBy == evaluate.ByWidth {
		heading, threshold = "If only the narrowest intervals are answered", "width up to"
	}
	w.Heading("%s", heading)
	t := printout.NewTable()
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
		t.Add(wholePercent(p.Answered), decimal(p.Threshold, 3), plusMinus(p.Accuracy, 3), plusMinus(p.NLL, 3),
			decimal(p.HandedAccuracy.Value, 3), decimal(p.HandedNLL.Value, 3))
	}
	w.Table(t)
}

// target tells what reaches the accuracy that is wanted.
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
		wanted, decimal(x.Threshold, 3), end(x.Lo), end(x.Hi), wholePercent(x.Answered), wholePercent(x.Accuracy), flag, decimal(x.Threshold, 3)))
}

func wholePercent(x evaluate.Number) string {
	return strconv.FormatFloat(100*float64(x), 'f', 0, 64) + "%"
}
