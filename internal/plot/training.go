package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

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
