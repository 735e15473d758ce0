package plot

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Intervals is a figure of single items, a row each, in groups of one color:
// the interval of a probability, its center and, where it is known, the truth.
type Intervals struct {
	Title  string
	XLabel string // "probability" if empty
	Level  float64
	Groups []IntervalGroup
}

// IntervalGroup are items that belong together.
type IntervalGroup struct {
	Label string
	Items []IntervalItem
}

// IntervalItem is one row. All numbers are probabilities; Truth is negative
// where it is not known.
type IntervalItem struct {
	Name                 string
	Lower, Center, Upper float64
	Truth                float64
}

const (
	intervalRow   = 17.0
	intervalGap   = 12.0 // between groups
	intervalNames = 150.0
)

// draw implements [Figure].
func (d Intervals) draw(c *canvas) error {
	n, known := 0, false
	names := 0.0
	for _, g := range d.Groups {
		for _, item := range g.Items {
			if !(0 <= item.Lower && item.Lower <= item.Upper && item.Upper <= 1 &&
				item.Center >= 0 && item.Center <= 1 && item.Truth <= 1) {
				return fmt.Errorf("item %q has the interval [%v, %v] around %v and the truth %v",
					item.Name, item.Lower, item.Upper, item.Center, item.Truth)
			}
			known = known || item.Truth >= 0
			names = max(names, textWidth(item.Name, tickSize))
			n++
		}
	}
	if n == 0 {
		return errors.New("no items")
	}
	names = min(names, intervalNames)
	label := cmp.Or(d.XLabel, "probability")
	x := horizontal(0, 1, margin+names+10, c.width-margin-12)
	height := float64(n)*intervalRow + float64(len(d.Groups)-1)*intervalGap + 8
	var legend []key
	var words []string
	for i, g := range d.Groups {
		legend = append(legend, rowKey(g.Label, series(i)))
		words = append(words, fmt.Sprintf("%s: %d items", g.Label, len(g.Items)))
	}
	if known {
		legend = append(legend, truthKey("true probability"))
	}
	c.begin(d.Title, legend, headerGap)
	end := x.drawX(c, label, 0, height)
	y := 4.0
	for i, g := range d.Groups {
		c.open(series(i))
		for _, item := range g.Items {
			mid := y + intervalRow/2
			c.text("tick end", point{x.start - 8, mid + 0.36*tickSize}, fit(item.Name, tickSize, names))
			x.drawInterval(c, item.Lower, item.Upper, mid)
			c.dot("dot", point{x.pixel(item.Center), mid}, dotRadius)
			y += intervalRow
		}
		c.close()
		y += intervalGap
	}
	y = 4.0
	for _, g := range d.Groups { // over all intervals
		for _, item := range g.Items {
			if item.Truth >= 0 {
				drawTruth(c, point{x.pixel(item.Truth), y + intervalRow/2})
			}
			y += intervalRow
		}
		y += intervalGap
	}
	return c.finish(end, cmp.Or(d.Title, label),
		fmt.Sprintf("Intervals at level %g. %s.", d.Level, strings.Join(words, "; ")))
}

// drawTruth marks a true probability: a tick across the row.
func drawTruth(c *canvas, at point) {
	c.open("text")
	c.rect("solid", at.x-1, at.y-7, 2, 14)
	c.close()
}
