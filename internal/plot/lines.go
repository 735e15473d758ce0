package plot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Lines is a figure of quantities that depend on one number, such as coverage by
// epochs: one line per series, with a band of its standard error.
type Lines struct {
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

// WriteSVG writes the figure to w as an SVG file, 760 pixels wide.
func (d Lines) WriteSVG(w io.Writer) error {
	unit, errs := 1.0, cmp.Or(d.Errors, 2)
	if d.Percent {
		unit = 100
	}
	x, y := emptySpan(), emptySpan()
	bands := false
	var legend []key
	for i, s := range d.Series {
		if err := s.check(); err != nil {
			return fmt.Errorf("figure of lines: %w", err)
		}
		for k := range s.X {
			se := errs * s.se(k)
			bands = bands || se > 0
			x.add(s.X[k])
			y.add(band(unit*s.Y[k], unit*se, d.Percent))
		}
		if s.Label != "" {
			legend = append(legend, lineKey(s.Label, series(i)))
		}
	}
	if x.lo > x.hi {
		return errors.New("figure of lines: no points")
	}
	if bands {
		legend = append(legend, areaKey(errorsLabel(errs), "muted"))
	}
	if d.TargetLabel != "" {
		y.add(unit * d.Target)
		legend = append(legend, lineKey(d.TargetLabel, "muted dashed"))
	}
	f := newFrame(x.padded(), y.padded(), d.XLabel, d.YLabel, linesHeight)
	var c canvas
	top := drawHeader(&c, d.Title, legend) + 14
	c.openAt(top)
	end := f.draw(&c)
	if d.TargetLabel != "" {
		f.level(&c, unit*d.Target)
	}
	f.lines(&c, d.Series, 1, unit, errs, d.Percent)
	c.close()
	if err := c.write(w, figureWidth, top+end+margin,
		cmp.Or(d.Title, d.YLabel+" against "+d.XLabel), d.description(f, unit)); err != nil {
		return fmt.Errorf("figure of lines: %w", err)
	}
	return nil
}

// description puts the lines into words: where each begins and ends.
func (d Lines) description(f frame, unit float64) string {
	var sentences []string
	for _, s := range d.Series {
		if len(s.X) == 0 {
			continue
		}
		last := len(s.X) - 1
		text := fmt.Sprintf("from %s at %s to %s at %s.", f.y.format(unit*s.Y[0], 1), f.x.format(s.X[0], 1),
			f.y.format(unit*s.Y[last], 1), f.x.format(s.X[last], 1))
		if s.Label != "" {
			text = s.Label + ": " + text
		}
		sentences = append(sentences, text)
	}
	return strings.Join(sentences, " ")
}
