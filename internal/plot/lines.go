package plot

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Lines is a figure of quantities that depend on one number, such as coverage by
// epochs: one line a series, with a band of its standard error.
type Lines struct {
	Title          string
	XLabel, YLabel string
	Series         []CoverageSeries
	// Errors is how many standard errors the bands reach to either side; 0
	// means 2.
	Errors float64
	// Target, if it has a label, is a height at which a dashed line is drawn.
	Target      float64
	TargetLabel string
	// Percent writes y, whose numbers are shares, in per cent.
	Percent bool
}

const linesHeight = 300.0

// WriteSVG writes the figure to w as an SVG file, 760 pixels wide.
func (d Lines) WriteSVG(w io.Writer) error {
	unit, errs := 1.0, d.Errors
	if d.Percent {
		unit = 100
	}
	if errs == 0 {
		errs = 2
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
	if err := c.write(w, figureWidth, top+end+margin, orElse(d.Title, d.YLabel+" against "+d.XLabel), d.description(f, unit)); err != nil {
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

// check reports what keeps a series from being drawn.
func (s CoverageSeries) check() error {
	if len(s.X) != len(s.Y) || s.SE != nil && len(s.SE) != len(s.X) {
		return fmt.Errorf("series %q has %d x, %d y and %d errors", s.Label, len(s.X), len(s.Y), len(s.SE))
	}
	for i := range s.X {
		if !finite(s.X[i]) || !finite(s.Y[i]) {
			return fmt.Errorf("series %q has a point (%v, %v)", s.Label, s.X[i], s.Y[i])
		}
	}
	return nil
}

// errorsLabel is the entry of bands in a legend.
func errorsLabel(errs float64) string {
	if errs == 1 {
		return "±1 standard error"
	}
	return fmt.Sprintf("±%g standard errors", errs)
}

// band is from y−se to y+se, without what no percentage can be.
func band(y, se float64, percent bool) (lo, hi float64) {
	lo, hi = y-se, y+se
	if percent {
		lo, hi = max(lo, min(y, 0)), min(hi, max(y, 100))
	}
	return lo, hi
}

// lines draws series whose numbers are multiplied by the units of x and y:
// bands, which reach so many standard errors to either side, below all lines.
func (f frame) lines(c *canvas, list []CoverageSeries, unitX, unitY, errs float64, percent bool) {
	lines := make([][]point, len(list))
	for i, s := range list {
		var upper, lower []point
		for k := range s.X {
			x, y, se := unitX*s.X[k], unitY*s.Y[k], unitY*errs*s.se(k)
			lines[i] = append(lines[i], f.at(x, y))
			lo, hi := band(y, se, percent)
			upper = append(upper, f.at(x, hi))
			lower = append(lower, f.at(x, lo))
		}
		if s.SE != nil && len(upper) > 1 {
			for k := range lower {
				upper = append(upper, lower[len(lower)-1-k])
			}
			c.open(series(i))
			c.polygon("shade", upper)
			c.close()
		}
	}
	for i, line := range lines {
		c.open(series(i))
		if len(line) > 1 {
			c.curve("curve", line)
		}
		for _, p := range line {
			c.dot("dot", p, 3.5)
		}
		c.close()
	}
}
