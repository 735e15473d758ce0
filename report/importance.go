package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"credence/evaluate"
	"credence/internal/plot"
	"credence/internal/words"
)

// shownEffects is the number of features whose effect is drawn, of those that matter most for the mean and, separately,
// for the spread.
const shownEffects = 3

// importance draws what the features contribute: a figure of their importance, and the effects of those that matter.
func (g *gallery) importance(in *Input) []*figure {
	x := in.Result.Importance
	if x == nil || len(x.Columns) == 0 {
		return nil
	}
	d := plot.Forest{Title: "Importance of the features, with 99% intervals", Noun: "features", Groups: []string{"matters", "cannot be distinguished from 0"},
		Panels: []plot.ForestPanel{{Label: "for the mean"}, {Label: "for the spread"}, {Label: "for both (joint loss)"}}}
	of := func(e evaluate.IntervalEstimate) plot.ForestEstimate {
		return plot.ForestEstimate{Value: float64(e.Value), Lo: float64(e.Lo), Hi: float64(e.Hi)}
	}
	for _, c := range x.Columns {
		row := plot.ForestRow{Name: c.Name(), Group: 1, Estimates: []plot.ForestEstimate{of(c.Mean), of(c.Spread), of(c.Loss)}}
		if evaluate.Matters(c.Mean) || evaluate.Matters(c.Spread) || evaluate.Matters(c.Loss) {
			row.Group = 0
		}
		d.Rows = append(d.Rows, row)
	}
	figures := []*figure{g.draw(d, fmt.Sprintf("Increase of the loss per vote, in nats, when the values of a feature are exchanged between items (%s, %s each). "+
		"For the mean: votes one by one. For the spread: the predicted mean stays, and the concentration of the distribution is that of the exchanged items, so that a "+
		"feature is found here only if it changes how far raters disagree beyond what the mean implies. Features that carry the same information share its importance.",
		words.Plural(x.Items, "item"), words.Plural(x.Repeats, "permutation")))}
	class := in.Classes[len(in.Classes)-1]
	for _, c := range mostImportant(x, func(c *evaluate.ColumnImportance) evaluate.IntervalEstimate { return c.Mean }) {
		last := make([]evaluate.Number, len(c.Curve.Mean))
		for i, mean := range c.Curve.Mean {
			last[i] = mean[len(mean)-1]
		}
		figures = append(figures, g.effect(c, "Mean probability of "+class+" by "+c.Name(), "probability of "+class, last, c.Curve.ItemMean))
	}
	for _, c := range mostImportant(x, func(c *evaluate.ColumnImportance) evaluate.IntervalEstimate { return c.Spread }) {
		figures = append(figures, g.effect(c, "Agreement of raters by "+c.Name()+": log concentration", "log concentration", c.Curve.Spread, c.Curve.ItemSpread))
	}
	return slices.DeleteFunc(figures, func(f *figure) bool { return f == nil })
}

// allocation draws the gain of further votes on new items and as second opinions.
func (g *gallery) allocation(in *Input) *figure {
	a := in.Result.Allocation
	if a == nil {
		return nil
	}
	row := func(name string, e evaluate.IntervalEstimate) plot.BarRow {
		return plot.BarRow{Name: name, Value: float64(e.Value), Lo: float64(e.Lo), Hi: float64(e.Hi), Mark: math.NaN()}
	}
	rows := []plot.BarRow{row("on new items", a.NewItems)}
	if a.SecondOpinions.Value.Known() {
		rows = append(rows, row("as second opinions", a.SecondOpinions), row("difference", a.Difference))
	}
	d := plot.Bars{Title: fmt.Sprintf("Where the next %d votes should go", a.Votes), XLabel: "reduction of the loss per vote (nats)", Groups: []plot.BarGroup{{Rows: rows}}}
	return g.draw(d, fmt.Sprintf("%s Estimated from models trained on half of the items and without half of the second opinions, %d times each; the excess loss is assumed to be inversely "+
		"proportional to their number. Intervals are over items and repetitions.", a, a.Repeats))
}

// mostImportant returns the features with an effect curve that matter for a part, the most important first.
func mostImportant(x *evaluate.Importance, part func(*evaluate.ColumnImportance) evaluate.IntervalEstimate) []*evaluate.ColumnImportance {
	var list []*evaluate.ColumnImportance
	for i := range x.Columns {
		if c := &x.Columns[i]; c.Curve != nil && evaluate.Matters(part(c)) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *evaluate.ColumnImportance) int { return cmp.Compare(part(b).Value, part(a).Value) })
	return list[:min(len(list), shownEffects)]
}

// effect draws the effect of a feature on a quantity: y [points], and the curves [items][points] of single items.
func (g *gallery) effect(c *evaluate.ColumnImportance, title, label string, y []evaluate.Number, single [][]evaluate.Number) *figure {
	help := fmt.Sprintf("%s is set to each value for %s; their other features stay as they are.", c.Name(), words.Plural(c.Curve.Items, "item"))
	if label != "log concentration" {
		help += " How the prediction changes, not what would happen if the feature were changed."
	} else {
		help += " ln c with c = Σμ(1−μ)/ΣVar − 1: the higher, the more alike are the probabilities of items with such features, and the less raters disagree beyond chance."
	}
	if c.Curve.Levels != nil {
		d := plot.Bars{Title: title, XLabel: label}
		group := plot.BarGroup{Label: c.Name()}
		for i, v := range y {
			d.Reference += float64(v) / float64(len(y))
			group.Rows = append(group.Rows, plot.BarRow{Name: c.Curve.Levels[i], Value: float64(v), Lo: math.NaN(), Hi: math.NaN(), Mark: math.NaN()})
		}
		d.Groups = []plot.BarGroup{group}
		return g.draw(d, help+" The dashed line is the mean of the levels.")
	}
	x := float64s(c.Curve.Values)
	d := plot.Lines{Title: title, XLabel: c.Name(), YLabel: label, SingleLabel: "single items",
		Series: []plot.LineSeries{{Label: "all items", X: x, Y: float64s(y)}}}
	for _, curve := range single {
		d.Single = append(d.Single, plot.LineSeries{X: x, Y: float64s(curve)})
	}
	return g.draw(d, help)
}

func float64s(list []evaluate.Number) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}
