package study

import (
	"fmt"
	"math"
	"slices"

	"credence/internal/plot"
	"credence/internal/simulation"
	"credence/internal/words"
	"credence/mixture"
	"credence/studies/figures"
)

var plane = [2]float64{-4, 4}

// WriteFigures draws the figures of each design.
func (r *comparisonResult) WriteFigures(f *Folder) error {
	for _, d := range r.Designs {
		name := string(d.Design) + "-"
		landscape, err := landscapes(d.Design)
		if err != nil {
			return err
		}
		samples, err := r.samples(d.Design)
		if err != nil {
			return err
		}
		figures := map[string]plot.Figure{
			name + "landscape": landscape,
			name + "samples":   samples,
			name + "coverage":  r.coverageCurves(d),
		}
		if figures[name+"variance"], figures[name+"shape"], err = r.fields(d); err != nil {
			return err
		}
		if len(r.Sizes) > 0 {
			figures[name+"sizes"] = r.sizeCurves(d.Design)
		}
		for i, at := range densityPlaces {
			if figures[fmt.Sprintf("%sdensity-%d", name, i+1)], err = r.densities(d, i, at); err != nil {
				return err
			}
		}
		for file, figure := range figures {
			if err := f.writeFigure(file, figure); err != nil {
				return err
			}
		}
	}
	return nil
}

// landscapes are the parameters of the Beta distribution over the plane.
func landscapes(d simulation.Design) (plot.Figure, error) {
	titles := [2]string{"f₁ = ψ₁/ψ₂ + 1", "f₂ = ψ₂/ψ₁ + 1"}
	if d == simulation.Spread {
		titles = [2]string{"a = μα₀", "b = (1 − μ)α₀"}
	}
	figure := figures.Field{Title: "The parameters of p ~ Beta over the plane", XLabel: "x₁",
		YLabel: "x₂", Scale: "log₁₀ of the parameter", X: plane, Y: plane, Columns: 2}
	const n = 81
	var values [2][]float64
	for _, x := range gridPlaces(n) {
		dist, err := d.Dist(x)
		if err != nil {
			return nil, err
		}
		_, a, b := dist.Component(0)
		values[0], values[1] = append(values[0], math.Log10(a)), append(values[1], math.Log10(b))
	}
	for i, v := range values {
		figure.Panels = append(figure.Panels, figures.FieldPanel{Title: titles[i], Values: square(v)})
	}
	return figure, nil
}

// square cuts the values of a grid into rows.
func square(v []float64) [][]float64 {
	n := int(math.Round(math.Sqrt(float64(len(v)))))
	return slices.Collect(slices.Chunk(v, n))
}

// samplesShown is the largest number of items in the figure of the samples.
const samplesShown = 1000

// samples are items of the first seed with their votes.
func (r *comparisonResult) samples(d simulation.Design) (plot.Figure, error) {
	s, err := simulation.Simulate(d, min(samplesShown, r.Study.Items[d]), r.Study.Votes, r.Study.Seeds[0])
	if err != nil {
		return nil, err
	}
	groups := []plot.ScatterGroup{{Label: "all votes for class 0"}, {Label: "all votes for class 1"},
		{Label: "votes differ"}}
	for i, x := range s.X {
		g := 2
		switch {
		case s.Votes[i][1] == 0:
			g = 0
		case s.Votes[i][0] == 0:
			g = 1
		}
		groups[g].Points = append(groups[g].Points, x)
	}
	return figures.Samples{Title: fmt.Sprintf("%s items with %d votes each", words.Thousands(len(s.X)), r.Study.Votes),
		XLabel: "x₁", YLabel: "x₂", X: plane, Y: plane, Groups: groups}, nil
}

// shown are the contenders in the figures of fields, by method and whether as an
// ensemble.
var shown = []struct {
	method   string
	ensemble bool
}{
	{asShipped, true}, {"mixture10", true}, {"mixture10", false}, {"mixture1", true},
	{"mve", true}, {"qd", true}, {"confidence", true}, {"softmax", false},
	{"softmax", true}, {"dropout", false}, {"evidential", true},
}

// scaleTop returns the upper end of the color scale: a little above the greatest
// true variance.
func scaleTop(d simulation.Design) float64 {
	if d == simulation.Paper {
		return 0.06
	}
	return 0.25
}

// fields are the predicted variances over the plane next to the true one, with
// one scale of colors; and each in units of its own greatest value, which shows
// the shape of those that are of another size or kind. A spread that is not a variance is not among
// the former.
func (r *comparisonResult) fields(d *designResult) (size, shape plot.Figure, err error) {
	_, truth, err := moments(d.Design, gridPlaces(r.Study.Grid))
	if err != nil {
		return nil, nil, err
	}
	sizes := figures.Field{Title: "Variance of the probability over the plane", XLabel: "x₁",
		YLabel: "x₂", Scale: "variance",
		X: plane, Y: plane, Hi: scaleTop(d.Design), Columns: 4}
	shapes := figures.Field{Title: "The same, each panel in units of its own greatest value",
		XLabel: "x₁", YLabel: "x₂", Scale: "share of the greatest value",
		X: plane, Y: plane, Hi: 1, Columns: 4}
	add := func(title, note, shapeNote string, values []float64) {
		if note != "" {
			sizes.Panels = append(sizes.Panels, figures.FieldPanel{Title: title, Note: note, Values: square(values)})
		}
		top := slices.Max(values)
		relative := make([]float64, len(values))
		for i, v := range values {
			relative[i] = v / max(top, 1e-300)
		}
		shapes.Panels = append(shapes.Panels, figures.FieldPanel{Title: title, Note: shapeNote, Values: square(relative)})
	}
	add("truth", "Var(p | x)", fmt.Sprintf("max %.2g", slices.Max(truth)), truth)
	for _, s := range shown {
		for i, who := range contenders(r.Study.Ensemble) {
			c := d.Contenders[i]
			if who.method.key != s.method || (who.networks > 1) != s.ensemble || len(c.Seeds[0].Field) == 0 {
				continue
			}
			note := ""
			if sd := c.SDError().Mean; sd.Known() {
				note = fmt.Sprintf("r = %.2f, error %.3f", c.Correlation().Mean, sd)
			}
			shape := fmt.Sprintf("r = %.2f, max %.2g", c.Correlation().Mean, slices.Max(c.Seeds[0].Field))
			add(who.short, note, shape, c.Seeds[0].Field)
		}
	}
	return sizes, shapes, nil
}

// densities are the predicted distributions at a place over the true one.
func (r *comparisonResult) densities(d *designResult, i int, at [2]float64) (plot.Figure, error) {
	dist, err := d.Design.Dist(at)
	if err != nil {
		return nil, err
	}
	figure := plot.Density{Title: fmt.Sprintf("Distribution of p at (%g, %g)", at[0], at[1]),
		XLabel: "probability of class 0",
		Curves: []plot.Curve{{Label: "truth", Mixture: dist}}}
	for _, c := range d.Contenders {
		if !c.ours() || c.Networks == 1 || len(c.Seeds[0].Densities) == 0 {
			continue
		}
		var m *mixture.Beta
		if m, err = c.Seeds[0].Densities[i].mixture(); err != nil {
			return nil, err
		}
		figure.Curves = append(figure.Curves, plot.Curve{Label: c.Label, Mixture: m})
	}
	return figure, nil
}

// coverageCurves are the curves of the defaults, and of the mixtures as reported and raw.
func (r *comparisonResult) coverageCurves(d *designResult) plot.Figure {
	figure := plot.Coverage{Title: "How often intervals hold the true probability of fresh items", Percent: true,
		XLabel: "nominal coverage (%)", YLabel: "empirical coverage (%)"}
	add := func(c contenderResult, label string, asReported bool) {
		s := plot.LineSeries{Label: label}
		for _, level := range levels {
			at, reported, _ := c.covers(level, "")
			if asReported {
				at = reported
			}
			s.X, s.Y = append(s.X, level), append(s.Y, float64(at.Mean))
			if at.SE.Known() {
				s.SE = append(s.SE, float64(at.SE))
			}
		}
		if len(s.SE) != len(s.X) {
			s.SE = nil
		}
		figure.Series = append(figure.Series, s)
	}
	add(*d.shipped(), d.shipped().Label, true)
	add(*d.shipped(), "defaults, raw", false)
	for _, c := range d.Contenders {
		if c.ours() && c.Networks > 1 && c.Method != asShipped {
			add(c, c.Label+", as reported", true)
			add(c, c.Label+", raw", false)
		}
	}
	return figure
}
