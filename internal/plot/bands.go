package plot

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Bands is a figure of curves with bands, such as a ROC curve: lines without dots, and points that are marked on them.
type Bands struct {
	Title          string
	XLabel, YLabel string
	Series         []BandSeries
	Marks          []BandMarks
	// BandLabel is the entry of the bands in the legend, such as "95% band".
	BandLabel string
	// Equal, if not empty, is the entry of the diagonal in the legend.
	Equal string
	// Unit makes both axes run from 0 to 1.
	Unit bool
	// Least, if Cut, is the lowest y that is drawn.
	Least float64
	Cut   bool
}

// BandSeries is one curve: Y [n] at X [n], and the ends of its band, nil or NaN if there is none.
type BandSeries struct {
	Label        string
	X, Y, Lo, Hi []float64
}

// BandMarks are points that are drawn as dots.
type BandMarks struct {
	Label  string
	Points [][2]float64
}

// check returns an error if a series cannot be drawn.
func (s BandSeries) check() error {
	if len(s.X) != len(s.Y) || len(s.Lo) != len(s.Hi) || s.Lo != nil && len(s.Lo) != len(s.X) {
		return fmt.Errorf("series %q has %d x, %d y and bands of %d and %d", s.Label, len(s.X), len(s.Y), len(s.Lo), len(s.Hi))
	}
	for i := range s.X {
		if !finite(s.X[i]) || !finite(s.Y[i]) {
			return fmt.Errorf("series %q has a point (%v, %v)", s.Label, s.X[i], s.Y[i])
		}
	}
	return nil
}

// Draw implements [Figure].
func (d Bands) Draw(c *Canvas) error {
	x, y, legend, err := d.layOut()
	if err != nil {
		return err
	}
	height := linesHeight
	if d.Unit {
		height = coverageHeight
	}
	f := newFrame(c, x, y, d.XLabel, d.YLabel, height)
	c.Begin(d.Title, legend, HeaderGap)
	end := f.Draw(c)
	if d.Equal != "" {
		f.diagonal(c)
	}
	for i, s := range d.Series {
		c.Open(Series(i))
		f.band(c, s)
		c.Close()
	}
	for i, s := range d.Series {
		c.Open(Series(i))
		f.cutCurve(c, s)
		c.Close()
	}
	for i, m := range d.Marks {
		c.Open(Series(len(d.Series) + i))
		for _, p := range m.Points {
			c.Dot("dot", f.Place(p[0], p[1]), dotRadius)
		}
		c.Close()
	}
	return c.Finish(end, cmp.Or(d.Title, d.YLabel+" against "+d.XLabel), d.about())
}

// layOut returns the ranges of the axes and the legend.
func (d Bands) layOut() (x, y span, legend []key, err error) {
	x, y = emptySpan(), emptySpan()
	bands := false
	for i, s := range d.Series {
		if err := s.check(); err != nil {
			return x, y, nil, err
		}
		for _, list := range [][]float64{s.Y, s.Lo, s.Hi} {
			y.add(list...)
		}
		x.add(s.X...)
		bands = bands || s.Lo != nil
		if s.Label != "" {
			legend = append(legend, lineKey(s.Label, Series(i)))
		}
	}
	if x.lo > x.hi {
		return x, y, nil, errors.New("no points")
	}
	for i, m := range d.Marks {
		for _, p := range m.Points {
			x.add(p[0])
			y.add(p[1])
		}
		if len(m.Points) > 0 && m.Label != "" {
			legend = append(legend, dotKey(m.Label, Series(len(d.Series)+i), false))
		}
	}
	if bands && d.BandLabel != "" {
		legend = append(legend, areaKey(d.BandLabel, "muted"))
	}
	if d.Equal != "" {
		legend = append(legend, lineKey(d.Equal, "muted dashed"))
	}
	if d.Unit {
		return span{-0.015, 1.015}, span{-0.015, 1.015}, legend, nil
	}
	if d.Cut {
		y.lo = max(y.lo, min(d.Least, y.hi))
	}
	return x.padded(), y.padded(), legend, nil
}

// band draws the band of a series where it is known, cut off at the edges of the panel.
func (f Frame) band(c *Canvas, s BandSeries) {
	var upper, lower []Point
	flush := func() {
		if len(upper) > 1 {
			c.Polygon("shade", area(upper, lower))
		}
		upper, lower = nil, nil
	}
	inside := func(y float64) float64 { return max(f.Y.Lo, min(f.Y.Hi, y)) }
	for i := range s.Lo {
		if !finite(s.Lo[i]) || !finite(s.Hi[i]) || s.Hi[i] < f.Y.Lo {
			flush()
			continue
		}
		upper = append(upper, f.Place(s.X[i], inside(s.Hi[i])))
		lower = append(lower, f.Place(s.X[i], inside(s.Lo[i])))
	}
	flush()
}

// cutCurve draws a line as far as it is above the lower edge of the panel.
func (f Frame) cutCurve(c *Canvas, s BandSeries) {
	var line []Point
	flush := func() {
		if len(line) > 1 {
			c.Curve("curve", line)
		}
		line = nil
	}
	edge := func(i int) Point { // where the line between points i−1 and i crosses the edge
		t := (f.Y.Lo - s.Y[i-1]) / (s.Y[i] - s.Y[i-1])
		return f.Place(s.X[i-1]+t*(s.X[i]-s.X[i-1]), f.Y.Lo)
	}
	for i, y := range s.Y {
		below := y < f.Y.Lo
		if i > 0 && below != (s.Y[i-1] < f.Y.Lo) {
			line = append(line, edge(i))
		}
		if below {
			flush()
		} else {
			line = append(line, f.Place(s.X[i], y))
		}
	}
	flush()
}

// about describes the figure in words.
func (d Bands) about() string {
	var sentences []string
	for _, s := range d.Series {
		if n := len(s.X) - 1; n >= 0 {
			mid := n / 2
			sentences = append(sentences, labeled(s.Label, fmt.Sprintf("%.2f at %.2f, %.2f at %.2f, %.2f at %.2f.", s.Y[0], s.X[0], s.Y[mid], s.X[mid], s.Y[n], s.X[n])))
		}
	}
	for _, m := range d.Marks {
		var list []string
		for _, p := range m.Points[:min(len(m.Points), 10)] {
			list = append(list, fmt.Sprintf("%.2f at %.2f", p[1], p[0]))
		}
		if list != nil {
			sentences = append(sentences, labeled(m.Label, strings.Join(list, ", ")+"."))
		}
	}
	return strings.Join(sentences, " ")
}
