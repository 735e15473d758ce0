package plot

import (
	"cmp"
	"fmt"
	"io"
)

// Lines is a figure of quantities that depend on one number, such as coverage by
// epochs: one line per series, with a band of its standard error.
type Lines struct {
	// Width of the card in pixels; 0 means 760.
	Width          float64
	Title          string
	XLabel, YLabel string
	Series         []LineSeries
	// Errors is how many standard errors the bands reach to either side; 0
	// means 2.
	Errors float64
	// Target, if it has a label, is a height at which a dashed line is drawn.
	Target      float64
	TargetLabel string
	// Percent writes y, whose numbers are shares, in percent.
	Percent bool
}

const linesHeight = 300.0

// WriteSVG writes the figure to w as an SVG file.
func (d Lines) WriteSVG(w io.Writer) error {
	return seriesFigure{
		name: "figure of lines", width: d.Width, title: d.Title, height: linesHeight, xLabel: d.XLabel, yLabel: d.YLabel,
		series: d.Series, errs: cmp.Or(d.Errors, 2), percentY: d.Percent,
		target: d.Target, dashed: d.TargetLabel,
		describe: func(s LineSeries, x, y func(float64) string) string {
			last := len(s.X) - 1
			return fmt.Sprintf("from %s at %s to %s at %s.", y(s.Y[0]), x(s.X[0]), y(s.Y[last]), x(s.X[last]))
		},
	}.write(w)
}
