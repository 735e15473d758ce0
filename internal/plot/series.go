package plot

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// LineSeries is one line of a figure: Y [n] at X [n], and the standard errors
// SE [n] of Y, nil if they are not known.
type LineSeries struct {
	Label    string
	X, Y, SE []float64
}

// check reports what keeps a series from being drawn.
func (s LineSeries) check() error {
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

// se returns the standard error of a point; 0 if it is not known.
func (s LineSeries) se(i int) float64 {
	if s.SE == nil || !finite(s.SE[i]) {
		return 0
	}
	return s.SE[i]
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
func (f frame) lines(c *canvas, list []LineSeries, unitX, unitY, errs float64, percent bool) {
	lines := make([][]point, len(list))
	for i, s := range list {
		var upper, lower []point
		for k := range s.X {
			x, y, se := unitX*s.X[k], unitY*s.Y[k], unitY*errs*s.se(k)
			lines[i] = append(lines[i], f.place(x, y))
			lo, hi := band(y, se, percent)
			upper = append(upper, f.place(x, hi))
			lower = append(lower, f.place(x, lo))
		}
		if s.SE != nil && len(upper) > 1 {
			c.open(series(i))
			c.polygon("shade", area(upper, lower))
			c.close()
		}
	}
	for i, line := range lines {
		c.open(series(i))
		if len(line) > 1 {
			c.curve("curve", line)
		}
		for _, p := range line {
			c.dot("dot", p, smallDot)
		}
		c.close()
	}
}

// area returns the outline of the area between two lines.
func area(upper, lower []point) []point {
	back := slices.Clone(lower)
	slices.Reverse(back)
	return slices.Concat(upper, back)
}

// seriesFigure is a figure of lines in a frame, with a dashed line for what they
// are compared with: the diagonal, or a height. dashed is its entry in the
// legend; without one there is no height.
type seriesFigure struct {
	name, title, xLabel, yLabel string
	height                      float64
	width                       float64
	series                      []LineSeries
	errs                        float64
	percentX, percentY          bool
	diagonal                    bool
	target                      float64
	dashed                      string
	// describe puts a series into words, given how numbers of x and y are written.
	describe func(s LineSeries, x, y func(float64) string) string
}

func (d seriesFigure) write(w io.Writer) error {
	unitX, unitY := 1.0, 1.0
	if d.percentX {
		unitX = 100
	}
	if d.percentY {
		unitY = 100
	}
	x, y := emptySpan(), emptySpan()
	bands := false
	var legend []key
	for i, s := range d.series {
		if err := s.check(); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		for k := range s.X {
			se := d.errs * s.se(k)
			bands = bands || se > 0
			x.add(unitX * s.X[k])
			y.add(band(unitY*s.Y[k], unitY*se, d.percentY))
			if d.diagonal {
				y.add(unitX * s.X[k])
			}
		}
		if s.Label != "" {
			legend = append(legend, lineKey(s.Label, series(i)))
		}
	}
	if x.lo > x.hi {
		return fmt.Errorf("%s: no points", d.name)
	}
	if bands {
		legend = append(legend, areaKey(errorsLabel(d.errs), "muted"))
	}
	if d.dashed != "" {
		legend = append(legend, lineKey(d.dashed, "muted dashed"))
		if !d.diagonal {
			y.add(unitY * d.target)
		}
	}
	c := canvas{width: d.width}
	f := newFrame(&c, x.padded(), y.padded(), d.xLabel, d.yLabel, d.height)
	top := drawHeader(&c, d.title, legend) + 14
	c.openAt(top)
	end := f.draw(&c)
	if d.diagonal {
		f.diagonal(&c)
	} else if d.dashed != "" {
		f.level(&c, unitY*d.target)
	}
	f.lines(&c, d.series, unitX, unitY, d.errs, d.percentY)
	c.close()
	var sentences []string
	for _, s := range d.series {
		if len(s.X) > 0 {
			sentences = append(sentences, labeled(s.Label, d.describe(s,
				func(v float64) string { return f.x.format(unitX*v, 1) },
				func(v float64) string { return f.y.format(unitY*v, 1) })))
		}
	}
	return c.figure(w, d.name, top+end, cmp.Or(d.title, d.yLabel+" against "+d.xLabel),
		strings.Join(sentences, " "))
}
