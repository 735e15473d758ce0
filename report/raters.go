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
