package plot

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Training is a figure of the loss of one or more training runs by epoch: on
// the items trained on and, beside it on the same scale, on the items held out,
// with the epoch marked whose weights were kept.
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

// WriteSVG writes the figure to w as an SVG file, 760 pixels wide. Losses of the
// first epochs that are far above all others are cut off.
func (d Training) WriteSVG(w io.Writer) error {
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
		return errors.New("training figure: no losses")
	}
	name := d.YLabel
	if name == "" {
		name = "loss"
	}
	f := newFrame(span{0, float64(max(epochs, 2))}, lossRange(values), "epoch", name, trainingHeight)
	const gap = 24.0
	panels := []frame{f}
	if held {
		width := (f.x.end - f.x.start - gap) / 2
		left, right := f, f
		left.x = horizontal(f.x.lo, f.x.hi, f.x.start, f.x.start+width)
		right.x = horizontal(f.x.lo, f.x.hi, f.x.end-width, f.x.end)
		panels = []frame{left, right}
	}
	var legend []key
	for i, r := range d.Runs {
		legend = append(legend, lineKey(r.Name, series(i)))
	}
	legend = append(legend, dotKey("epoch kept", "muted", false))
	var c canvas
	top := drawHeader(&c, d.Title, legend) + 14 + lineHeight
	c.openAt(top)
	end := 0.0
	for p, panel := range panels {
		panel.x.step = max(1, panel.x.step)
		c.text("key", point{panel.x.start, -8}, []string{"items trained on", "items held out"}[p])
		if p == 0 {
			end = panel.draw(&c)
		} else {
			for _, v := range panel.y.ticks() {
				c.line("grid", point{panel.x.start, panel.y.at(v)}, point{panel.x.end, panel.y.at(v)})
			}
			panel.x.drawX(&c, panel.xLabel, panel.y.end, panel.y.start)
			c.line("rule", point{panel.x.start, panel.y.start}, point{panel.x.end, panel.y.start})
		}
		for i, r := range d.Runs {
			losses := r.Loss
			if p == 1 {
				losses = r.HeldOut
			}
			c.open(series(i))
			panel.losses(&c, losses)
			c.close()
		}
		for i, r := range d.Runs { // marks above all lines
			losses := r.Loss
			if p == 1 {
				losses = r.HeldOut
			}
			if k := r.Chosen; k >= 1 && k <= len(losses) && losses[k-1] <= panel.y.hi {
				c.open(series(i))
				c.dot("dot", panel.at(float64(k), losses[k-1]), dotRadius)
				c.close()
			}
		}
	}
	c.close()
	title := d.Title
	if title == "" {
		title = "Training curves"
	}
	if err := c.write(w, figureWidth, top+end+margin, title, d.description()); err != nil {
		return fmt.Errorf("training figure: %w", err)
	}
	return nil
}

// lossRange returns what to show of the losses: all, unless some are more than
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
func (f frame) losses(c *canvas, losses []float64) {
	var lines [][]point
	var line []point
	flush := func() {
		if len(line) > 1 {
			pieces, _ := below(line, f.y.end)
			lines = append(lines, pieces...)
		} else if len(line) == 1 && line[0].y >= f.y.end {
			c.dot("solid", line[0], 2)
		}
		line = nil
	}
	for i, v := range losses {
		if !finite(v) {
			flush()
			continue
		}
		// Far above the panel a coordinate may not be a number any more.
		line = append(line, point{f.x.at(float64(i + 1)), max(f.y.at(v), -1e6)})
	}
	flush()
	lines = slices.DeleteFunc(lines, func(l []point) bool { return len(l) < 2 })
	if len(lines) > 0 {
		c.curve("curve", lines...)
	}
}

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
