package plot

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Scatter is a figure of items as points in groups of one color each: the
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

// ScatterGroup are the items of one color, or of one mark, of a [Scatter] or [Samples].
type ScatterGroup struct {
	Label  string
	Points [][2]float64 // x and y, in a Scatter both from 0
}

const (
	scatterHeight = 320.0
	scatterRadius = 2.4
)

// draw implements [Figure]. The x axis goes from 0 to 1, the y axis from 0 as far as
// there are points.
func (d Scatter) draw(c *canvas) error {
	n := 0
	y := span{0, 0}
	for _, g := range d.Groups {
		for _, p := range g.Points {
			if !(p[0] >= 0 && p[0] <= 1 && p[1] >= 0 && finite(p[1])) {
				return fmt.Errorf("point (%v, %v) is no probability and width", p[0], p[1])
			}
			y.add(p[1])
			n++
		}
	}
	if n == 0 {
		return errors.New("no points")
	}
	y.add(d.Threshold)
	y.hi = cmp.Or(y.hi, 0.01)
	y.hi *= 1.05
	f := newFrame(c, span{0, 1}, y, d.XLabel, d.YLabel, scatterHeight)
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
	c.begin(d.Title, legend, headerGap)
	end := f.draw(c)
	groups := make([][][2]float64, len(d.Groups))
	for i, g := range d.Groups {
		groups[i] = g.Points
	}
	for group, p := range shuffled(groups) {
		c.dot(series(group)+" solid", f.place(p[0], p[1]), scatterRadius)
	}
	if d.Threshold > 0 {
		f.level(c, d.Threshold)
	}
	return c.finish(end, cmp.Or(d.Title, d.YLabel+" against "+d.XLabel), "Items: "+strings.Join(words, ", ")+".")
}

// shuffled runs through the points of all groups as cards are shuffled: those of
// each group evenly over the whole sequence, so that none is drawn on top of the
// others.
func shuffled(groups [][][2]float64) iter.Seq2[int, [2]float64] {
	return func(yield func(group int, p [2]float64) bool) {
		drawn := make([]int, len(groups))
		for {
			next, least := -1, 2.0
			for i, points := range groups {
				if k := drawn[i]; k < len(points) {
					if done := (float64(k) + 0.5) / float64(len(points)); done < least {
						next, least = i, done
					}
				}
			}
			if next < 0 || !yield(next, groups[next][drawn[next]]) {
				return
			}
			drawn[next]++
		}
	}
}

// Samples is a figure of items in the plane, in groups that differ in color
// and in the shape of their marks. Both axes have the same scale.
type Samples struct {
	Title          string
	XLabel, YLabel string
	X, Y           [2]float64 // what is shown of the plane; items outside are counted in a note
	Groups         []ScatterGroup
}

const (
	samplesSide   = 420.0
	samplesLegend = 240.0
	sampleSize    = 2.6 // half the width of a mark
)

// draw implements [Figure].
func (d Samples) draw(c *canvas) error {
	if !(d.X[0] < d.X[1] && d.Y[0] < d.Y[1]) {
		return fmt.Errorf("the plane from %v to %v, %v to %v is empty", d.X[0], d.X[1], d.Y[0], d.Y[1])
	}
	off := func(p [2]float64) bool {
		return !(p[0] >= d.X[0] && p[0] <= d.X[1] && p[1] >= d.Y[0] && p[1] <= d.Y[1])
	}
	shown, total, outside := make([][][2]float64, len(d.Groups)), 0, 0
	var legend []key
	var words []string
	for i, g := range d.Groups {
		shown[i] = slices.DeleteFunc(slices.Clone(g.Points), off)
		total += len(shown[i])
		outside += len(g.Points) - len(shown[i])
		text := fmt.Sprintf("%s (%d)", g.Label, len(g.Points))
		words = append(words, text)
		legend = append(legend, key{text, "", func(c *canvas, at point) {
			drawSample(c, i, point{at.x + symbolWidth/2, at.y}, 1.6*sampleSize)
		}})
	}
	if total == 0 {
		return errors.New("no points")
	}
	if outside > 0 {
		legend = append(legend, key{fmt.Sprintf("outside: %d", outside), "", func(*canvas, point) {}})
	}
	f := d.frame()
	c.begin(d.Title, nil, headerGap)
	end := f.draw(c)
	for i, k := range legend { // beside the panel, which is square
		at := point{f.x.end + keyGap, lineHeight * (float64(i) + 0.5)}
		k.symbol(c, at)
		at.x += symbolWidth + symbolGap
		c.text("key", point{at.x, at.y + 0.36*textSize}, fit(k.text, textSize, figureWidth-margin-at.x))
	}
	end = max(end, lineHeight*float64(len(legend)))
	for group, p := range shuffled(shown) {
		drawSample(c, group, f.place(p[0], p[1]), sampleSize)
	}
	return c.finish(end, cmp.Or(d.Title, "Items in the plane"), "Items: "+strings.Join(words, ", ")+".")
}

// frame lays the panel out with one scale for both axes, as large as the legend
// beside it allows.
func (d Samples) frame() frame {
	f := frame{xLabel: d.XLabel, yLabel: d.YLabel}
	high, wide := samplesSide, samplesSide*(d.X[1]-d.X[0])/(d.Y[1]-d.Y[0])
	f.y = vertical(d.Y[0], d.Y[1], high, 0)
	if room := figureWidth - f.y.roomY(d.YLabel) - samplesLegend; wide > room {
		high, wide = high*room/wide, room
		f.y = vertical(d.Y[0], d.Y[1], high, 0)
	}
	left := f.y.roomY(d.YLabel)
	f.x = horizontal(d.X[0], d.X[1], left, left+wide)
	return f
}

// drawSample draws the mark of a group: a dot, a triangle, a square, in turn.
func drawSample(c *canvas, group int, at point, size float64) {
	class := series(group) + " solid"
	switch group % 3 {
	case 0:
		c.dot(class, at, size)
	case 1:
		up, side := 1.3*size, 1.15*size
		c.polygon(class, []point{{at.x, at.y - up}, {at.x + side, at.y + 0.7*up}, {at.x - side, at.y + 0.7*up}})
	default:
		s := 0.9 * size
		c.rect(class, at.x-s, at.y-s, 2*s, 2*s)
	}
}
