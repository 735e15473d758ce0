package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

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
		return plot.BarRow{Name: fmt.Sprintf("%s (%s)", x.Name, count(float64(x.Items))), Value: float64(x.Ratio.Inside()), Lo: float64(x.Ratio.Lo),
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

// raterRows is the maximum number of raters in the table of a page; the figure summarizes the
// others.
const raterRows = 40

// raterRow is a row of the table of raters.
type raterRow struct{ Name, Votes, Bias, Guess, Agreement, Flags string }

// WriteRaters draws the estimated parameters of raters as an SVG file: biases and guess rates with
// their intervals.
func WriteRaters(w io.Writer, r *evaluate.RaterReport) error {
	f := raterForest(r)
	if f == nil {
		return errors.New("raters are not modelled: no biases and guess rates to draw")
	}
	return plot.WriteSVG(w, f)
}

// byDifference returns the raters, those who differ most from the others first.
func byDifference(r *evaluate.RaterReport) []evaluate.RaterEstimate {
	difference := func(x evaluate.RaterEstimate) float64 {
		w := 100 * float64(len(x.Flags))
		if x.Bias.SE > 0 {
			w += math.Abs(float64(x.Bias.Value / x.Bias.SE))
		}
		if x.Guess.Lo.Known() {
			w += 10 * float64(x.Guess.Lo)
		}
		return w
	}
	list := slices.Clone(r.Raters)
	slices.SortStableFunc(list, func(a, b evaluate.RaterEstimate) int { return cmp.Compare(difference(b), difference(a)) })
	return list
}

// raterForest returns the figure of the raters, nil if they are not modelled.
func raterForest(r *evaluate.RaterReport) plot.Figure {
	if !r.Modelled || len(r.Raters) == 0 {
		return nil
	}
	biased := r.BiasSD.Known()
	d := plot.Forest{Title: "Raters: bias and guess rate, with 95% intervals", Noun: "raters", Notes: "votes",
		Groups: []string{"typical", "biased", "guesses"}}
	if biased {
		d.Panels = append(d.Panels, plot.ForestPanel{Label: "bias towards " + cmp.Or(r.Class, "the second class") + " (logit)"})
	} else {
		d.Title = "Raters: guess rate, with 95% intervals"
	}
	d.Panels = append(d.Panels, plot.ForestPanel{Label: "share of votes that are guesses", Share: true})
	of := func(e evaluate.IntervalEstimate) plot.ForestEstimate {
		return plot.ForestEstimate{Value: float64(e.Value), Lo: float64(e.Lo), Hi: float64(e.Hi)}
	}
	for _, x := range byDifference(r) {
		if !x.Guess.Value.Known() {
			continue // a rater who is not in the training data
		}
		row := plot.ForestRow{Name: x.Name, Note: count(float64(x.Votes))}
		switch {
		case slices.Contains(x.Flags, evaluate.FlagGuesses):
			row.Group = 2
		case slices.Contains(x.Flags, evaluate.FlagBiased):
			row.Group = 1
		}
		if biased {
			row.Estimates = append(row.Estimates, of(x.Bias))
		}
		row.Estimates = append(row.Estimates, of(x.Guess))
		d.Rows = append(d.Rows, row)
	}
	if len(d.Rows) == 0 {
		return nil
	}
	return d
}

// raters draws the estimated parameters of raters, and returns their table.
func (g *gallery) raters(in *Input) (*figure, []raterRow) {
	if in.Raters == nil {
		return nil, nil
	}
	f := raterForest(in.Raters)
	if f == nil {
		return nil, nil
	}
	help := "A bias shifts the logit of the probability that a rater votes for the class; the mean over all votes is 0. Guesses are votes that " +
		"do not depend on the item. Estimates from few votes are shrunk towards the mean of all raters. Errors that all raters share " +
		"cannot be detected, so these are differences from an average rater, not from the truth."
	if len(in.Raters.Raters) > raterRows {
		help += " Raters who differ most are drawn individually; the others are summarized below."
	}
	list := in.Raters.Raters // in order of first appearance
	if len(list) > raterRows {
		list = byDifference(in.Raters)[:raterRows]
	}
	var rows []raterRow
	for _, x := range list {
		rows = append(rows, raterRow{x.Name, count(float64(x.Votes)), interval(x.Bias, 2), interval(x.Guess, 2),
			othersAgree(x), cmp.Or(strings.Join(x.Marks(), ", "), dash)})
	}
	return g.draw(f, help), rows
}

// interval formats an estimate with its interval.
func interval(e evaluate.IntervalEstimate, decimals int) string {
	if !e.Value.Known() {
		return dash
	}
	return fmt.Sprintf("%s (%s to %s)", number(e.Value, decimals), number(e.Lo, decimals), number(e.Hi, decimals))
}

// othersAgree formats the share of others who agree with a rater, and that for an exchangeable rater.
func othersAgree(x evaluate.RaterEstimate) string {
	if !x.Agreement.Known() {
		return dash
	}
	return fmt.Sprintf("%s%% (%s%%)", number(100*x.Agreement, 0), number(100*x.Expected, 0))
}

// suspectRow is a row of the table of votes to look at again.
type suspectRow struct{ Item, Rater, Vote, Probability, Likely, LikelyProbability, Others string }

func suspectRows(r *evaluate.SuspectReport) (rows []suspectRow) {
	for _, x := range r.Suspects {
		rows = append(rows, suspectRow{x.Item, cmp.Or(x.Rater, "–"), x.Vote, number(evaluate.Number(x.Probability), 3), x.Likely,
			number(evaluate.Number(x.LikelyProbability), 3), count(x.Others)})
	}
	return rows
}
