package plot

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Scatter is a figure of items as points in groups of one colour each: the
// probability of a class against the width of its interval, by how the votes
// agree, a figure of Wu et al. (2019).
type Scatter struct {
	Title          string
	XLabel, YLabel string
	Groups         []ScatterGroup
	// Threshold, if positive, is a width at which a dashed line is drawn.
	Threshold      float64
	ThresholdLabel string
}

// ScatterGroup are the items of one colour.
type ScatterGroup struct {
	Label  string
	Points [][2]float64 // x and y, both from 0
}

const (
	scatterHeight = 320.0
	scatterRadius = 2.4
)

// WriteSVG writes the figure to w as an SVG file, 760 pixels wide. The x axis
// goes from 0 to 1, the y axis from 0 as far as there are points.
func (d Scatter) WriteSVG(w io.Writer) error {
	n := 0
	y := span{0, 0}
	for _, g := range d.Groups {
		for _, p := range g.Points {
			if !(p[0] >= 0 && p[0] <= 1 && p[1] >= 0 && finite(p[1])) {
				return fmt.Errorf("scatter figure: point (%v, %v) is no probability and width", p[0], p[1])
			}
			y.add(p[1])
			n++
		}
	}
	if n == 0 {
		return errors.New("scatter figure: no points")
	}
	y.add(d.Threshold)
	if y.hi == 0 {
		y.hi = 0.01
	}
	y.hi *= 1.05
	f := newFrame(span{0, 1}, y, d.XLabel, d.YLabel, scatterHeight)
	var legend []key
	var words []string
	for i, g := range d.Groups {
		text := fmt.Sprintf("%s (%d)", g.Label, len(g.Points))
		legend = append(legend, dotKey(text, series(i), false))
		words = append(words, text)
	}
	if d.Threshold > 0 && d.ThresholdLabel != "" {
		legend = append(legend, lineKey(d.ThresholdLabel, "muted dashed"))
	}
	var c canvas
	top := drawHeader(&c, d.Title, legend) + 14
	c.openAt(top)
	end := f.draw(&c)
	// Groups are shuffled like cards, so that none lies on top of the others.
	drawn := make([]int, len(d.Groups))
	for range n {
		next, least := 0, 2.0
		for i, g := range d.Groups {
			if k := drawn[i]; k < len(g.Points) {
				if done := (float64(k) + 0.5) / float64(len(g.Points)); done < least {
					next, least = i, done
				}
			}
		}
		p := d.Groups[next].Points[drawn[next]]
		drawn[next]++
		c.dot(series(next)+" solid", f.at(p[0], p[1]), scatterRadius)
	}
	if d.Threshold > 0 {
		f.level(&c, d.Threshold)
	}
	c.close()
	name := d.Title
	if name == "" {
		name = d.YLabel + " against " + d.XLabel
	}
	if err := c.write(w, figureWidth, top+end+margin, name, "Items: "+strings.Join(words, ", ")+"."); err != nil {
		return fmt.Errorf("scatter figure: %w", err)
	}
	return nil
}
