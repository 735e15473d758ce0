package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"credence/evaluate"
	"credence/internal/plot"
	"credence/internal/words"
)

// figure is one figure of the page, with a sentence on how to read it.
type figure struct {
	Number int
	Help   string
	SVG    template.HTML
}

// gallery numbers the figures of a page. It removes the style sheet that each of
// them contains, so that the page has it only once.
type gallery struct {
	count int
	style string
	err   error // the first
}

// draw returns the figure, for wide and for narrow screens, or nil after an error.
func (g *gallery) draw(f plot.Figure, help string) *figure {
	svg := g.picture(plot.WriteSVG, f, "wide") + g.picture(plot.WriteNarrow, f, "narrow")
	if g.err != nil {
		return nil
	}
	g.count++
	return &figure{g.count, help, template.HTML(svg)}
}

// picture returns the SVG element of a figure with a CSS class by which the page shows or hides it.
func (g *gallery) picture(write func(io.Writer, plot.Figure) error, f plot.Figure, class string) string {
	var b bytes.Buffer
	if err := write(&b, f); err != nil {
		if g.err == nil {
			g.err = err
		}
		return ""
	}
	before, rest, _ := strings.Cut(b.String(), "<style>")
	style, after, _ := strings.Cut(rest, "</style>\n")
	g.style = style
	// Inline SVG in HTML needs no namespace.
	return strings.Replace(before, ` xmlns="http://www.w3.org/2000/svg" class="credence"`, ` class="credence `+class+`"`, 1) + after
}

// training draws the loss curves of all runs.
func (g *gallery) training(in *Input) *figure {
	if in.Provenance == nil {
		return nil
	}
	p := plot.Training{Title: "Training: loss by epoch", YLabel: "loss per vote (nats)"}
	any := false
	for _, r := range in.Provenance.Runs {
		run := plot.TrainingRun{Name: r.Name, Chosen: r.Epoch}
		for _, e := range r.History {
			held := math.NaN()
			if e.HeldOut != nil {
				held = *e.HeldOut
			}
			run.Loss, run.HeldOut = append(run.Loss, e.Loss), append(run.HeldOut, held)
			any = any || !math.IsNaN(e.Loss) && !math.IsInf(e.Loss, 0)
		}
		p.Runs = append(p.Runs, run)
	}
	if !any {
		return nil
	}
	return g.draw(p, "Lower is better. Training helps as long as the loss on held-out items falls; where it rises, the network "+
		"overfits. The epoch with the lowest loss (the dot) is kept.")
}

// reliability draws shares of votes against predicted probabilities: for the
// second of two classes, or for the predicted class and for every class.
func (g *gallery) reliability(in *Input) []*figure {
	points := func(r evaluate.Reliability) (p []plot.IntervalPoint) {
		for _, b := range r.Bins {
			q := plot.IntervalPoint{X: float64(b.Predicted), Y: float64(b.Observed), Lo: float64(b.Lo), Hi: float64(b.Hi)}
			p = append(p, q)
		}
		return known(p)
	}
	const help = "Each dot is a group of items with similar predictions. On the dashed line predictions are calibrated: of the votes on " +
		"items predicted at 70%, 70% are for the class. Above the line predictions are too low, below too high."
	diagrams := in.Result.Reliability
	if len(diagrams) != len(in.Classes)+1 {
		return nil
	}
	c := plot.Comparison{Title: "Are the probabilities calibrated?", Unit: true,
		XLabel: "predicted probability of the predicted class", YLabel: "share of votes for it"}
	which := diagrams[0]
	if len(in.Classes) == 2 {
		which = diagrams[2]
		c.XLabel, c.YLabel = "predicted probability of "+in.Classes[1], "share of votes for "+in.Classes[1]
	}
	figures := []*figure{g.compare(c, points(which), help)}
	if figures[0] != nil && len(in.Classes) > 2 {
		all := plot.Comparison{Title: "Are the probabilities calibrated, class by class?", Equal: "as predicted", Unit: true,
			XLabel: "predicted probability of the class", YLabel: "share of votes for it"}
		var missing string
		all.Series, missing = series(in.Classes, func(i int) (plot.PointSeries, int) {
			p := points(diagrams[i+1])
			for k := range p {
				p[k].Lo, p[k].Hi = math.NaN(), math.NaN()
			}
			return plot.PointSeries{Label: in.Classes[i], Points: p}, len(p)
		})
		if len(all.Series) > 0 {
			figures = append(figures, g.draw(all, "The same for the probability of each class, predicted or not, without intervals."+missing))
		}
	}
	return figures
}

// mostSeries is the maximum number of classes in a figure.
const mostSeries = 6

// series returns the first series with data, where of returns that of class i and its number of points, and a
// sentence on the classes that are missing: those without data, and those for which there is no room.
func series[T any](classes []string, of func(i int) (T, int)) (shown []T, missing string) {
	var empty []string
	for i, name := range classes {
		if s, n := of(i); n == 0 {
			empty = append(empty, name)
		} else if len(shown) < mostSeries {
			shown = append(shown, s)
		}
	}
	if len(empty) > 0 {
		missing = fmt.Sprintf(" Not shown because they have too few votes: %s.", words.Few(empty))
	}
	if rest := len(classes) - len(shown) - len(empty); rest > 0 {
		missing += fmt.Sprintf(" The first %d classes are shown, %d more are not.", len(shown), rest)
	}
	return shown, missing
}

// pit draws the histogram of the probability integral transforms.
func (g *gallery) pit(in *Input) *figure {
	h := plot.Histogram{Title: "Do votes follow the predicted distributions?",
		XLabel: "rank of the votes in their predicted distribution (PIT)"}
	coordinates, missing := in.Result.PIT.Coordinates, ""
	names := words.Each(coordinates, func(c evaluate.PITCoordinate) string { return c.Class })
	h.Series, missing = series(names, func(i int) (plot.ValueSeries, int) {
		return plot.ValueSeries{Label: names[i], Values: coordinates[i].Values}, len(coordinates[i].Values)
	})
	if len(h.Series) == 0 {
		return nil
	}
	if d := len(in.Classes); d == 2 {
		h.Series[0].Label = ""
	} else {
		missing += fmt.Sprintf(" %s, the last class, has no bars of its own: its votes follow from those of the others.", in.Classes[d-1])
	}
	return g.draw(h, "If predictions are right, all ranks are equally frequent and the bars stay in the gray band. A U shape means that "+
		"distributions are too narrow, a hump that they are too wide, a slope that they are shifted."+missing)
}

// known returns the points with known coordinates.
func known(points []plot.IntervalPoint) []plot.IntervalPoint {
	return slices.DeleteFunc(points, func(p plot.IntervalPoint) bool { return math.IsNaN(p.X) || math.IsNaN(p.Y) })
}

// compare draws the known points with the diagonal, or returns nil if there are fewer than two: a single one is a
// number, which the tables have.
func (g *gallery) compare(c plot.Comparison, points []plot.IntervalPoint, help string) *figure {
	if points = known(points); len(points) < 2 {
		return nil
	}
	c.Equal, c.Series = "as predicted", []plot.PointSeries{{Points: points}}
	return g.draw(c, help)
}

// dispersion draws the spread observed in pairs of votes against the predicted variance.
func (g *gallery) dispersion(in *Input) *figure {
	var points []plot.IntervalPoint
	for _, b := range in.Result.DispersionBins {
		p := plot.IntervalPoint{X: float64(b.Variance), Y: float64(b.Observed)}
		p.Lo, p.Hi = min(p.Y, float64(b.Ratio.Lo*b.Variance)), max(p.Y, float64(b.Ratio.Hi*b.Variance))
		points = append(points, p)
	}
	return g.compare(plot.Comparison{Title: "Do the distributions have the right width?",
		XLabel: "predicted variance V", YLabel: "variance in pairs of votes, D"}, points,
		"Pairs of votes on an item show how far its true probability is from the predicted mean. Above the dashed line distributions "+
			"(and so intervals) are too narrow, below they are too wide. D is an estimate and can be negative.")
}

// agreement draws the observed against the predicted agreement of two votes.
func (g *gallery) agreement(in *Input) *figure {
	var points []plot.IntervalPoint
	for _, b := range in.Result.AgreementBins {
		p := plot.IntervalPoint{X: float64(b.Predicted), Y: float64(b.Observed)}
		p.Lo, p.Hi = around(b.Observed, b.SE, 0, 1)
		points = append(points, p)
	}
	return g.compare(plot.Comparison{Title: "Does it predict where raters disagree?",
		XLabel: "predicted probability that two votes agree", YLabel: "share of pairs that agree", Same: true}, points,
		"On the dashed line raters agree as often as predicted; the farther the dots spread from left to right, the better easy items are "+
			"distinguished from hard ones.")
}

// scatterPoints is the maximum number of items in a scatter plot: more would only
// hide each other.
const scatterPoints = 3000

// scatter draws probability against width, by agreement of the votes.
func (g *gallery) scatter(in *Input, items []item, level float64) *figure {
	if len(items) == 0 {
		return nil
	}
	class := "the predicted class"
	names := []string{"all votes for it", "all votes for another", "votes differ", "fewer than two votes"}
	if len(in.Classes) == 2 {
		class = in.Classes[1]
		names[0], names[1] = "all votes for "+in.Classes[1], "all votes for "+in.Classes[0]
	}
	groups := make([]plot.ScatterGroup, len(names))
	stride := (len(items) + scatterPoints - 1) / scatterPoints
	for j := 0; j < len(items); j += stride {
		x := &items[j]
		at := &groups[x.agreement()].Points
		*at = append(*at, [2]float64{x.mean[x.class], x.width})
	}
	for i, name := range names {
		groups[i].Label = name
	}
	if len(groups[unknown].Points) == 0 {
		groups = groups[:unknown]
	}
	help := "Each dot is an item. Items on which raters agree should lie at the sides, with narrow intervals; those on which they differ in the " +
		"middle or high up, with wide ones. A low dot where colors mix is a prediction that is more certain than the raters."
	if stride > 1 {
		help += fmt.Sprintf(" One item in %d is shown.", stride)
	}
	return g.draw(plot.Scatter{Title: "Probability, uncertainty and agreement",
		XLabel: "predicted probability of " + class,
		YLabel: "width of the " + percent(level) + " interval", Groups: groups}, help)
}

// coverage draws empirical against nominal coverage.
func (g *gallery) coverage(in *Input) *figure {
	classes := in.Classes
	if len(classes) == 2 {
		classes = classes[1:] // the coverage of the other is the same
	}
	c := plot.Comparison{Title: "Do intervals contain the true probability as often as stated?",
		XLabel: "level of the interval",
		YLabel: "share of items it covers", Equal: "nominal", Same: true}
	var missing string
	c.Series, missing = series(classes, func(i int) (plot.PointSeries, int) {
		s := plot.PointSeries{Label: classes[i]}
		for _, v := range in.Result.Coverage {
			if v.Class == s.Label && v.Empirical.Known() {
				p := plot.IntervalPoint{X: v.Level, Y: float64(v.Empirical)}
				p.Lo, p.Hi = around(v.Empirical, v.SE, 0, 1)
				s.Points = append(s.Points, p)
			}
		}
		return s, len(s.Points)
	})
	if len(c.Series) == 0 {
		return nil
	}
	return g.draw(c, "The data are simulated, so the true probabilities are known. Below the dashed line intervals are too narrow, above too wide."+missing)
}

// densities draws some items of each kind: with two classes, two or three items
// per figure; with more, the classes of a single item.
func (g *gallery) densities(in *Input, items []item, level float64) []*figure {
	if len(items) == 0 {
		return nil
	}
	n, narrowest := 3, "The narrowest interval of each predicted class."
	if len(in.Classes) > 2 {
		n, narrowest = 1, "The narrowest interval of all."
	}
	var figures []*figure
	for _, kind := range []struct {
		title, help string
		items       []item
	}{
		{"Most certain", narrowest, certain(items)},
		{"Most contested", "Votes are split most evenly.", contested(items, n)},
		{"Most typical", "Probability and width are close to the median.", typical(items, n)},
	} {
		d := plot.Density{Levels: []float64{level}}
		for _, x := range kind.items {
			if n > 1 {
				d.Curves = append(d.Curves, plot.Curve{Label: x.label(in.Classes), Mixture: x.m.Marginal(x.class), Resolution: x.resolution})
				continue
			}
			for _, i := range shownClasses(in, x.mean, 5) {
				label := in.Classes[i]
				if x.total > 0 {
					label = fmt.Sprintf("%s (%s)", label, words.Plural(x.votes[i], "vote"))
				}
				d.Curves = append(d.Curves, plot.Curve{Label: label, Mixture: x.m.Marginal(i), Resolution: x.resolution})
			}
		}
		if len(d.Curves) < len(in.Classes) && n == 1 {
			kind.help += fmt.Sprintf(" The %d most probable of %d classes are shown.", len(d.Curves), len(in.Classes))
		}
		if n > 1 {
			d.Title, d.XLabel = kind.title+" items", "probability of "+in.Classes[1]
		} else {
			d.Title, d.XLabel = kind.title+" item: "+kind.items[0].id, "probability of the class"
			if kind.items[0].votes != nil && kind.items[0].total == 0 {
				d.Title += " (no votes)"
			}
		}
		figures = append(figures, g.draw(d, kind.help))
	}
	return figures
}

// mostProbable returns the classes with the largest means, in order.
func mostProbable(mean []float64, n int) []int {
	var order []int
	left := append([]float64(nil), mean...)
	for range min(n, len(mean)) {
		i := argmax(left)
		order = append(order, i)
		left[i] = -1
	}
	return order
}
