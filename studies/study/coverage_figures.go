package study

import (
	"fmt"
	"math"
	"strings"

	"credence/internal/plot"
)

// figure is a figure of the study with its file, without an ending.
type figure struct {
	file string
	plot plot.Figure
}

// drawnLevels are the levels at which curves are drawn.
var drawnLevels = []float64{0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99}

func (r *coverageResults) WriteFigures(f *Folder) error {
	for _, d := range r.figures() {
		if err := f.writeFigure(d.file, d.plot); err != nil {
			return err
		}
	}
	return nil
}

// figures are all of the study, those of the paper first.
func (r *coverageResults) figures() (list []figure) {
	for _, s := range r.settings() {
		list = append(list, r.panels(s)...)
	}
	return append(list, r.seedFigure(), r.epochFigure(0.95), r.epochFigure(0.75),
		r.strataFigure(false), r.strataFigure(true))
}

// panels are the coverage curves of each class of a setting.
func (r *coverageResults) panels(s setting) (list []figure) {
	g := s.grouping()
	for i, class := range g.Panels {
		d := plot.Coverage{Percent: true, Errors: 1, XLabel: "nominal coverage (%)", YLabel: "empirical coverage (%)"}
		d.Title = fmt.Sprintf("Class %s of %s, %s votes, teacher of %s", g.Names[class],
			word(s.classes), word(s.votes), epochs(s.teacher))
		for _, n := range networks {
			for _, reported := range kinds {
				d.Series = append(d.Series, series(fmt.Sprintf("%s, %s", n, asText(reported)), r.curve(s, n, i, reported)))
			}
		}
		list = append(list, figure{panelFile(s, class), d})
	}
	return list
}

// panelFile names the figure of a class.
func panelFile(s setting, class int) string {
	name := fmt.Sprintf("classes-%d-votes-%d-teacher-%d", s.classes, s.votes, s.teacher)
	if len(s.grouping().Panels) > 1 {
		name += "-class-" + strings.ReplaceAll(s.grouping().Names[class], "–", "-")
	}
	return name
}

// series is a curve of a figure at drawnLevels.
func series(label string, curve []estimate) plot.LineSeries {
	s := plot.LineSeries{Label: label}
	for _, level := range drawnLevels {
		e := curve[levelIndex(level)]
		s.X, s.Y = append(s.X, level), append(s.Y, e.Mean)
		if e.SE != nil {
			s.SE = append(s.SE, *e.SE)
		}
	}
	return s
}

// seedFigure shows every seed of the headline setting.
func (r *coverageResults) seedFigure() figure {
	d := plot.Coverage{Percent: true, Errors: 1, XLabel: "nominal coverage (%)", YLabel: "empirical coverage (%)"}
	d.Title = fmt.Sprintf("Every seed: %s, as reported", chosen)
	for _, c := range r.of(headline) {
		s := plot.LineSeries{Label: fmt.Sprintf("seed %d", c.Cell.Seed)}
		for _, level := range drawnLevels {
			v := c.network(chosen).Classes[0].Reported.Coverage[levelIndex(level)]
			s.X, s.Y, s.SE = append(s.X, level), append(s.Y, v), append(s.SE, itemSE(v, c.Images))
		}
		d.Series = append(d.Series, s)
	}
	return figure{"seeds", d}
}

// epochFigure shows how coverage at a level moves with the number of epochs.
func (r *coverageResults) epochFigure(level float64) figure {
	at := levelIn(paperLevels, level)
	d := plot.Lines{Percent: true, Errors: 1, XLabel: "epochs", YLabel: "empirical coverage (%)",
		Target: level, TargetLabel: "as promised"}
	d.Title = fmt.Sprintf("Coverage of %s%% intervals by the number of epochs",
		strings.TrimSuffix(percent(level), ".0"))
	for _, n := range networks {
		for _, reported := range kinds {
			s := plot.LineSeries{Label: fmt.Sprintf("%s, %s", n, asText(reported))}
			for e := 1; ; e++ {
				var values []float64
				for _, c := range r.of(headline) {
					for _, x := range c.Epochs {
						if x.Network == n && x.Epoch == e {
							values = append(values, x.as(reported)[at])
						}
					}
				}
				if len(values) == 0 {
					break
				}
				m := newEstimate(values, 0)
				s.X, s.Y, s.SE = append(s.X, float64(e)), append(s.Y, m.Mean), append(s.SE, m.se())
			}
			d.Series = append(d.Series, s)
		}
	}
	return figure{fmt.Sprintf("epochs-%.0f", 100*level), d}
}

// strataFigure shows the coverage by predicted mean or by width.
func (r *coverageResults) strataFigure(width bool) figure {
	names, file, by := []string{"mean below 0.05", "mean 0.05 to 0.2", "mean 0.2 to 0.8",
		"mean 0.8 to 0.95", "mean from 0.95"}, "strata-mean", "predicted mean"
	if width {
		names, file, by = []string{"narrowest third", "middle third", "widest third"},
			"strata-width", "width of the 95% interval"
	}
	d := plot.Coverage{Percent: true, Errors: 1, XLabel: "nominal coverage (%)", YLabel: "empirical coverage (%)"}
	d.Title = fmt.Sprintf("Coverage by %s: %s, as reported", by, chosen)
	for _, name := range names {
		s := plot.LineSeries{Label: name}
		for l, e := range r.stratum(headline, chosen, 0, true, name) {
			s.X, s.Y = append(s.X, paperLevels[l]), append(s.Y, e.Mean)
			if e.SE != nil && !math.IsNaN(*e.SE) {
				s.SE = append(s.SE, *e.SE)
			}
		}
		if len(s.X) > 0 {
			d.Series = append(d.Series, s)
		}
	}
	return figure{file, d}
}

// stratum is the coverage within a stratum at paperLevels, over the seeds that
// have images in it.
func (r *coverageResults) stratum(s setting, name string, class int, reported bool, which string) []estimate {
	return r.estimates(s, func(c cellResult) []float64 {
		for _, t := range c.network(name).Classes[class].as(reported).Strata {
			if t.Name == which {
				return t.Coverage
			}
		}
		return nil
	}, false)
}
