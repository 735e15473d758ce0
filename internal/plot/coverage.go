package plot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
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
	unit, errs := 1.0, cmp.Or(d.Errors, 2)
	if d.Percent {
		unit = 100
	}
	x, y := emptySpan(), emptySpan()
	bands := false
	for _, s := range d.Series {
		if err := s.check(); err != nil {
			return fmt.Errorf("coverage figure: %w", err)
		}
		for i := range s.X {
			x.add(unit * s.X[i])
			y.add(unit*s.Y[i], unit*s.X[i])
			if se := errs * s.se(i); se > 0 {
				bands = true
				y.add(band(unit*s.Y[i], unit*se, d.Percent))
			}
		}
	}
	if x.lo > x.hi {
		return errors.New("coverage figure: no points")
	}
	f := newFrame(x.padded(), y.padded(), cmp.Or(d.XLabel, "nominal coverage"),
		cmp.Or(d.YLabel, "empirical coverage"), coverageHeight)
	var legend []key
	for i, s := range d.Series {
		if s.Label != "" {
			legend = append(legend, lineKey(s.Label, series(i)))
		}
	}
	if bands {
		legend = append(legend, areaKey(errorsLabel(errs), "muted"))
	}
	legend = append(legend, lineKey(cmp.Or(d.Equal, "as promised"), "muted dashed"))
	var c canvas
	top := drawHeader(&c, d.Title, legend) + 14
	c.openAt(top)
	end := f.draw(&c)
	f.diagonal(&c)
	f.lines(&c, d.Series, unit, unit, errs, d.Percent)
	c.close()
	if err := c.write(w, figureWidth, top+end+margin,
		cmp.Or(d.Title, f.yLabel+" against "+f.xLabel), d.description(f, unit)); err != nil {
		return fmt.Errorf("coverage figure: %w", err)
	}
	return nil
}

// description puts the curves into words: each one's ends and where it is
// farthest from the diagonal.
func (d Coverage) description(f frame, unit float64) string {
	var sentences []string
	for _, s := range d.Series {
		if len(s.X) == 0 {
			continue
		}
		worst, last := 0, len(s.X)-1
		for i := range s.X {
			if math.Abs(s.Y[i]-s.X[i]) > math.Abs(s.Y[worst]-s.X[worst]) {
				worst = i
			}
		}
		say := func(i int) string { return f.y.format(unit*s.Y[i], 1) + " at " + f.x.format(unit*s.X[i], 1) }
		text := fmt.Sprintf("%s to %s; farthest from the diagonal: %s.", say(0), say(last), say(worst))
		if s.Label != "" {
			text = s.Label + ": " + text
		}
		sentences = append(sentences, text)
	}
	return strings.Join(sentences, " ")
}
