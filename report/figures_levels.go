package report

import (
	"fmt"
	"math"

	"credence/evaluate"
	"credence/internal/plot"
)

// shownLevels is the maximum number of levels of a column in the figure.
const shownLevels = 12

// levels draws the dispersion ratio by class and by the levels of columns.
func (g *gallery) levels(in *Input) *figure {
	d := plot.Bars{Title: "Is the width right for all groups of items?", XLabel: "variance in pairs of votes / predicted variance",
		Reference: 1, Mark: "shrunk towards the common ratio"}
	row := func(x evaluate.Dispersion, shrunk float64) plot.BarRow {
		return plot.BarRow{Name: fmt.Sprintf("%s (%s)", x.Name, count(float64(x.Items))), Value: float64(x.Ratio.Value), Lo: float64(x.Ratio.Lo),
			Hi: float64(x.Ratio.Hi), Mark: shrunk}
	}
	r := in.Result
	if n := len(r.DispersionClasses); n > 0 && n <= shownLevels {
		group := plot.BarGroup{Label: "class"}
		for _, x := range r.DispersionClasses {
			if x.Ratio.Value.Known() {
				group.Rows = append(group.Rows, row(x, math.NaN()))
			}
		}
		d.Groups = append(d.Groups, group)
	}
	cut := false
	for _, c := range r.DispersionBy {
		group := plot.BarGroup{Label: c.Column}
		if c.Column == "spread" {
			group.Label = "predicted spread"
		}
		if len(c.Levels) > 1 {
			group.Label += ": equal ratios? p " + pValue(c.PValue)
		}
		for i, l := range c.Levels {
			if cut = cut || i == shownLevels; i < shownLevels && l.Ratio.Value.Known() {
				group.Rows = append(group.Rows, row(l.Dispersion, float64(l.Shrunk.Value)))
			}
		}
		d.Groups = append(d.Groups, group)
	}
	rows := 0
	for _, group := range d.Groups {
		rows += len(group.Rows)
	}
	if rows < 2 {
		return nil
	}
	help := "Bars to the right of the dashed line mean that intervals are too narrow, to the left that they are too wide; numbers of items are in " +
		"parentheses. Ratios of levels with few votes are noisy: the tick is the ratio shrunk towards that of all levels."
	if cut {
		help += fmt.Sprintf(" The first %d levels of a column are shown.", shownLevels)
	}
	return g.draw(d, help)
}

// abstention draws accuracy and loss of the predictions that are given and of those that are withheld.
func (g *gallery) abstention(in *Input) []*figure {
	r := in.Result
	if r == nil || len(r.Abstention) < 2 {
		return nil
	}
	order := "least certain first"
	if r.AbstentionBy == evaluate.ByWidth {
		order = "widest intervals first"
	}
	accuracy := plot.Lines{Title: "Accuracy if uncertain items are referred to a person", XLabel: "share of items referred to a person (%), " + order,
		YLabel: "accuracy (%)", Percent: true}
	loss := plot.Lines{Title: "Loss of both groups", XLabel: accuracy.XLabel, YLabel: "loss per vote (nats)"}
	add := func(d *plot.Lines, label string, of func(p *evaluate.AbstentionPoint) evaluate.Estimate) {
		s := plot.LineSeries{Label: label}
		for i := len(r.Abstention) - 1; i >= 0; i-- {
			p := &r.Abstention[i]
			if e := of(p); e.Value.Known() {
				s.X, s.Y, s.SE = append(s.X, 100*(1-float64(p.Answered))), append(s.Y, float64(e.Value)), append(s.SE, float64(e.SE))
			}
		}
		d.Series = append(d.Series, s)
	}
	type point = *evaluate.AbstentionPoint
	add(&accuracy, "predicted by the model", func(p point) evaluate.Estimate { return p.Accuracy })
	add(&accuracy, "referred to a person", func(p point) evaluate.Estimate { return p.HandedAccuracy })
	add(&loss, "predicted by the model", func(p point) evaluate.Estimate { return p.NLL })
	add(&loss, "referred to a person", func(p point) evaluate.Estimate { return p.HandedNLL })
	help := "Accuracy is against the majority of votes. The farther apart the curves, the better the model recognizes its errors."
	if x := r.AbstentionTarget; x != nil {
		accuracy.Target, accuracy.TargetLabel = x.Wanted, "target"
		help += " " + reached(r)
	}
	return []*figure{g.draw(accuracy, help), g.draw(loss, "Lower is better. Referred items should be harder to predict.")}
}

// reached returns a sentence on the threshold at which the target accuracy is reached.
func reached(r *evaluate.Result) string {
	x := r.AbstentionTarget
	if !x.Threshold.Known() {
		return fmt.Sprintf("No threshold reaches an accuracy of %s on these items.", percent(x.Wanted))
	}
	what := fmt.Sprintf("a probability of %s or more to be the most probable one", number(x.Threshold, 3))
	if r.AbstentionBy == evaluate.ByWidth {
		what = fmt.Sprintf("an interval no wider than %s", number(x.Threshold, 3))
	}
	text := fmt.Sprintf("An accuracy of %s is reached where the predicted class has %s", percent(x.Wanted), what)
	if x.Lo.Known() && x.Hi.Known() {
		text += fmt.Sprintf(" (95%% interval %s to %s)", number(x.Lo, 3), number(x.Hi, 3))
	}
	return text + fmt.Sprintf(": %s%% of the items.", number(100*x.Answered, 0))
}
