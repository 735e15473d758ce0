package plot

import (
	"cmp"
	"fmt"
	"io"
	"math"
)

// Coverage is a figure of curves that should follow the diagonal: the share of
// items that intervals hold, against the level of the intervals, one line per
// series with a band of its standard error.
type Coverage struct {
	Title          string
	XLabel, YLabel string // "nominal coverage" and "empirical coverage" if empty
	Series         []LineSeries
	// Errors is how many standard errors the bands reach to either side; 0
	// means 2.
	Errors float64
	// Equal is the entry of the diagonal in the legend; "as promised" if empty.
	Equal string
	// Percent writes the axes, whose numbers are shares, in percent.
	Percent bool
}

const coverageHeight = 340.0

// WriteSVG writes the figure to w as an SVG file, 760 pixels wide. Both axes
// show the range of x; y reaches as far as curves and bands do.
func (d Coverage) WriteSVG(w io.Writer) error {
	return seriesFigure{
		name: "coverage figure", title: d.Title, height: coverageHeight,
		xLabel: cmp.Or(d.XLabel, "nominal coverage"), yLabel: cmp.Or(d.YLabel, "empirical coverage"),
		series: d.Series, errs: cmp.Or(d.Errors, 2), percentX: d.Percent, percentY: d.Percent,
		diagonal: true, dashed: cmp.Or(d.Equal, "as promised"),
		describe: func(s LineSeries, x, y func(float64) string) string {
			worst, last := 0, len(s.X)-1
			for i := range s.X {
				if math.Abs(s.Y[i]-s.X[i]) > math.Abs(s.Y[worst]-s.X[worst]) {
					worst = i
				}
			}
			say := func(i int) string { return y(s.Y[i]) + " at " + x(s.X[i]) }
			return fmt.Sprintf("%s to %s; farthest from the diagonal: %s.", say(0), say(last), say(worst))
		},
	}.write(w)
}
