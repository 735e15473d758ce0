package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Lines is a figure of quantities that depend on one number, such as coverage by
// epochs: one line per series, with a band of its standard error.
type Lines struct {
	Title          string
	XLabel, YLabel string
	Series         []LineSeries
	// Errors is the half width of the bands in standard errors; 0
	// means 2.
	Errors float64
	// Target, if it has a label, is a height at which a dashed line is drawn.
	Target      float64
	TargetLabel string
	// Percent writes y, whose numbers are shares, in percent.
	Percent bool
	// Single are thin lines below the series, such as those of single items; SingleLabel is their entry in the legend.
	Single      []LineSeries
	SingleLabel string
}

// Coverage is a figure of curves that should follow the diagonal: the share of
// items whose truth lies in the interval, against the level of the intervals, one line per
// series with a band of its standard error.
//
// The fields are those of [Lines], with these differences: empty labels of the axes mean "nominal
// coverage" and "empirical coverage", Percent writes both axes in percent, and TargetLabel is the
// entry of the diagonal in the legend, "as promised" if empty. There is no Target.
type Coverage Lines

const linesHeight, coverageHeight = 300.0, 340.0

// Draw implements [Figure].
func (d Lines) Draw(c *Canvas) error {
	return seriesFigure{Lines: d, height: linesHeight,
		describe: func(s LineSeries, x, y func(float64) string) string {
			last := len(s.X) - 1
			return fmt.Sprintf("from %s at %s to %s at %s.", y(s.Y[0]), x(s.X[0]), y(s.Y[last]), x(s.X[last]))
		},
	}.Draw(c)
}

// Draw implements [Figure]. Both axes show the range of x; y reaches as far as curves
// and bands do.
func (d Coverage) Draw(c *Canvas) error {
	d.XLabel, d.YLabel = cmp.Or(d.XLabel, "nominal coverage"), cmp.Or(d.YLabel, "empirical coverage")
	d.TargetLabel = cmp.Or(d.TargetLabel, "as promised")
	return seriesFigure{Lines: Lines(d), height: coverageHeight, diagonal: true,
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
	}.Draw(c)
}

// LineSeries is one line of a figure: Y [n] at X [n], and the standard errors
// SE [n] of Y, nil if they are unknown.
type LineSeries struct {
	Label    string
	X, Y, SE []float64
}

// check returns an error if a series cannot be drawn.
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

// se returns the standard error of a point; 0 if it is unknown.
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

// band returns the range from y−se to y+se, clipped to valid percentages.
func band(y, se float64, percent bool) (lo, hi float64) {
	lo, hi = y-se, y+se
	if percent {
		lo, hi = max(lo, min(y, 0)), min(hi, max(y, 100))
	}
	return lo, hi
}

// lines draws series whose numbers are multiplied by the units of x and y:
// bands, whose half width is given in standard errors, below all lines.
func (f Frame) lines(c *Canvas, list []LineSeries, unitX, unitY, errs float64, percent bool) {
	lines := make([][]Point, len(list))
	for i, s := range list {
		var upper, lower []Point
		for k := range s.X {
			x, y, se := unitX*s.X[k], unitY*s.Y[k], unitY*errs*s.se(k)
			lines[i] = append(lines[i], f.Place(x, y))
			lo, hi := band(y, se, percent)
			upper = append(upper, f.Place(x, hi))
			lower = append(lower, f.Place(x, lo))
		}
		if s.SE != nil && len(upper) > 1 {
			c.Open(Series(i))
			c.Polygon("shade", area(upper, lower))
			c.Close()
		}
	}
	for i, line := range lines {
		c.Open(Series(i))
		if len(line) > 1 {
			c.Curve("curve", line)
		}
		for _, p := range line {
			c.Dot("dot", p, smallDot)
		}
		c.Close()
	}
}

// area returns the outline of the area between two lines.
func area(upper, lower []Point) []Point {
	back := slices.Clone(lower)
	slices.Reverse(back)
	return slices.Concat(upper, back)
}

// seriesFigure is a figure of lines in a frame, with a dashed line for what they
// are compared with: the target or, of shares on both axes, the diagonal.
type seriesFigure struct {
	Lines
	height   float64
	diagonal bool
	// describe describes a series in words, given functions that format numbers of x and y.
	describe func(s LineSeries, x, y func(float64) string) string
}

func (d seriesFigure) Draw(c *Canvas) error {
	unitX, unitY, errs := 1.0, 1.0, cmp.Or(d.Errors, 2)
	if d.Percent {
		unitY = 100
	}
	if d.diagonal {
		unitX = unitY
	}
	x, y := emptySpan(), emptySpan()
	bands := false
	var legend []key
	for i, s := range d.Series {
		if err := s.check(); err != nil {
			return err
		}
		for k := range s.X {
			se := errs * s.se(k)
			bands = bands || se > 0
			x.add(unitX * s.X[k])
			y.add(band(unitY*s.Y[k], unitY*se, d.Percent))
			if d.diagonal {
				y.add(unitX * s.X[k])
			}
		}
		if s.Label != "" {
			legend = append(legend, lineKey(s.Label, Series(i)))
		}
	}
	if x.lo > x.hi {
		return errors.New("no points")
	}
	for _, s := range d.Single {
		if err := s.check(); err != nil {
			return err
		}
		for k := range s.X {
			x.add(unitX * s.X[k])
			y.add(unitY * s.Y[k])
		}
	}
	if d.SingleLabel != "" {
		legend = append(legend, key{d.SingleLabel, "muted", func(c *Canvas, at Point) {
			c.Line("rule", at, Point{at.X + SymbolWidth, at.Y})
		}})
	}
	if bands {
		legend = append(legend, areaKey(errorsLabel(errs), "muted"))
	}
	if d.TargetLabel != "" {
		legend = append(legend, lineKey(d.TargetLabel, "muted dashed"))
		if !d.diagonal {
			y.add(unitY * d.Target)
		}
	}
	f := newFrame(c, x.padded(), y.padded(), d.XLabel, d.YLabel, d.height)
	c.Begin(d.Title, legend, HeaderGap)
	end := f.Draw(c)
	if d.diagonal {
		f.diagonal(c)
	} else if d.TargetLabel != "" {
		f.level(c, unitY*d.Target)
	}
	var single [][]Point
	for _, s := range d.Single {
		var line []Point
		for k := range s.X {
			line = append(line, f.Place(unitX*s.X[k], unitY*s.Y[k]))
		}
		single = append(single, line)
	}
	if single != nil {
		c.Curve("rule", single...)
	}
	f.lines(c, d.Series, unitX, unitY, errs, d.Percent)
	var sentences []string
	for _, s := range d.Series {
		if len(s.X) > 0 {
			sentences = append(sentences, labeled(s.Label, d.describe(s,
				func(v float64) string { return f.X.format(unitX*v, 1) },
				func(v float64) string { return f.Y.format(unitY*v, 1) })))
		}
	}
	return c.Finish(end, cmp.Or(d.Title, d.YLabel+" against "+d.XLabel), strings.Join(sentences, " "))
}

// Training is a figure of the loss of one or more training runs by epoch: on
// the items trained on and, next to it on the same scale, on the items held out,
// with a mark at the epoch whose weights were kept.
type Training struct {
	Title  string
	YLabel string // "loss" if empty
	Runs   []TrainingRun
}

// TrainingRun is one line in each panel.
type TrainingRun struct {
	Name string
	// Loss and HeldOut are those after epochs 1, 2, …; what is not finite leaves
	// a gap. HeldOut may be nil.
	Loss, HeldOut []float64
	Chosen        int // epoch that was kept; 0 for none
}

const trainingHeight = 230.0

// Draw implements [Figure]. Losses of the first epochs that are far above all others are
// cut off.
func (d Training) Draw(c *Canvas) error {
	var values []float64
	epochs, held := 0, false
	for _, r := range d.Runs {
		epochs = max(epochs, len(r.Loss), len(r.HeldOut))
		for _, v := range slices.Concat(r.Loss, r.HeldOut) {
			if finite(v) {
				values = append(values, v)
			}
		}
		held = held || slices.ContainsFunc(r.HeldOut, finite)
	}
	if len(values) == 0 {
		return errors.New("no losses")
	}
	f := newFrame(c, span{0, float64(max(epochs, 2))}, lossRange(values), "epoch",
		cmp.Or(d.YLabel, "loss"), trainingHeight)
	var legend []key
	for i, r := range d.Runs {
		legend = append(legend, lineKey(r.Name, Series(i)))
	}
	legend = append(legend, dotKey("epoch kept", "muted", false))
	c.Begin(d.Title, legend, HeaderGap+LineHeight)
	left, right := f, f
	if held {
		left, right = f.halves()
	}
	end := d.panel(c, left, false)
	if held {
		d.panel(c, right, true)
	}
	return c.Finish(end, cmp.Or(d.Title, "Training curves"), d.description())
}

// halves returns two panels side by side in the place of one.
func (f Frame) halves() (left, right Frame) {
	const gap = 24.0
	width := (f.X.End - f.X.Start - gap) / 2
	left, right = f, f
	left.X = Horizontal(f.X.Lo, f.X.Hi, f.X.Start, f.X.Start+width)
	right.X = Horizontal(f.X.Lo, f.X.Hi, f.X.End-width, f.X.End)
	return left, right
}

// panel draws the losses of all runs, on the items held out or on those trained
// on, and returns the y at which the axes end. The panel of the items held out
// stands to the right of the other and shares its numbers of y.
func (d Training) panel(c *Canvas, f Frame, heldOut bool) (end float64) {
	f.X.step = max(1, f.X.step)
	title, losses := "items trained on", func(r TrainingRun) []float64 { return r.Loss }
	if heldOut {
		title, losses = "items held out", func(r TrainingRun) []float64 { return r.HeldOut }
	}
	c.Text("key", Point{f.X.Start, -8}, title)
	if !heldOut {
		end = f.Draw(c)
	} else {
		for _, v := range f.Y.Ticks() {
			c.Line("grid", Point{f.X.Start, f.Y.Pixel(v)}, Point{f.X.End, f.Y.Pixel(v)})
		}
		end = f.X.drawX(c, f.XLabel, f.Y.End, f.Y.Start)
		c.Line("rule", Point{f.X.Start, f.Y.Start}, Point{f.X.End, f.Y.Start})
	}
	for i, r := range d.Runs {
		c.Open(Series(i))
		f.losses(c, losses(r))
		c.Close()
	}
	for i, r := range d.Runs { // marks above all lines
		values := losses(r)
		if k := r.Chosen; k >= 1 && k <= len(values) && values[k-1] <= f.Y.Hi {
			c.Open(Series(i))
			c.Dot("dot", f.Place(float64(k), values[k-1]), dotRadius)
			c.Close()
		}
	}
	return end
}

// lossRange returns the range of losses to show: all, unless some are more than
// twice as far above the lowest as nine tenths of them.
func lossRange(values []float64) span {
	sorted := slices.Sorted(slices.Values(values))
	s := span{sorted[0], sorted[len(sorted)-1]}
	if most := sorted[(len(sorted)-1)*9/10]; most > s.lo {
		s.hi = min(s.hi, s.lo+2*(most-s.lo))
	}
	return s.padded()
}

// losses draws a line through the losses of epochs 1, 2, … as far as they lie in
// the panel.
func (f Frame) losses(c *Canvas, losses []float64) {
	var lines [][]Point
	var line []Point
	flush := func() {
		if len(line) > 1 {
			pieces, _ := below(line, f.Y.End)
			lines = append(lines, pieces...)
		} else if len(line) == 1 && line[0].Y >= f.Y.End {
			c.Dot("solid", line[0], 2)
		}
		line = nil
	}
	for i, v := range losses {
		if !finite(v) {
			flush()
			continue
		}
		// Far above the panel a coordinate may not be a number any more.
		line = append(line, Point{f.X.Pixel(float64(i + 1)), max(f.Y.Pixel(v), -1e6)})
	}
	flush()
	lines = slices.DeleteFunc(lines, func(l []Point) bool { return len(l) < 2 })
	if len(lines) > 0 {
		c.Curve("curve", lines...)
	}
}

// description reports the length of each run and the epoch that was kept.
func (d Training) description() string {
	var sentences []string
	for _, r := range d.Runs {
		text := fmt.Sprintf("%s: %d epochs", r.Name, len(r.Loss))
		if r.Chosen > 0 {
			text += fmt.Sprintf(", epoch %d kept", r.Chosen)
			if r.Chosen <= len(r.HeldOut) && !math.IsNaN(r.HeldOut[r.Chosen-1]) {
				text += fmt.Sprintf(" with a held-out loss of %.3f", r.HeldOut[r.Chosen-1])
			}
		}
		sentences = append(sentences, text+".")
	}
	return strings.Join(sentences, " ")
}
