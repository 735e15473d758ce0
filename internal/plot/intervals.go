package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
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
	var truths []point // over all intervals
	for i, g := range d.Groups {
		c.open(series(i))
		for _, item := range g.Items {
			mid := y + intervalRow/2
			c.text("tick end", point{x.start - 8, mid + 0.36*tickSize}, fit(item.Name, tickSize, names))
			x.drawInterval(c, item.Lower, item.Upper, mid)
			c.dot("dot", point{x.pixel(item.Center), mid}, dotRadius)
			if item.Truth >= 0 {
				truths = append(truths, point{x.pixel(item.Truth), mid})
			}
			y += intervalRow
		}
		c.close()
		y += intervalGap
	}
	for _, at := range truths {
		drawTruth(c, at)
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

// Bars is a figure of one quantity here and there, a row each: a bar from what it
// should be to what it is, its interval, and a mark where it is known.
type Bars struct {
	Title  string
	XLabel string
	// Reference is what the quantity should be, drawn as a dashed line.
	Reference float64
	Mark      string // the entry of marks in the legend; none if empty
	Groups    []BarGroup
}

// BarGroup are rows under a common label.
type BarGroup struct {
	Label string
	Rows  []BarRow
}

// BarRow is one row; Lo, Hi and Mark are NaN where they are not known.
type BarRow struct {
	Name                string
	Value, Lo, Hi, Mark float64
}

const barRow, barNames = 22.0, 220.0

// draw implements [Figure]. Ends of intervals that lie far beyond all values are cut off.
func (d Bars) draw(c *canvas) error {
	values, ends := emptySpan(), emptySpan()
	names, rows := 0.0, 0
	var about []string
	for _, g := range d.Groups {
		names = max(names, textWidth(g.Label, tickSize))
		for _, r := range g.Rows {
			if !finite(r.Value) {
				return fmt.Errorf("row %q has the value %v", r.Name, r.Value)
			}
			values.add(r.Value, r.Mark, d.Reference)
			ends.add(r.Lo, r.Hi)
			names = max(names, textWidth(r.Name, tickSize)+10)
			rows++
		}
	}
	if rows == 0 {
		return errors.New("no rows")
	}
	x := values.cut(ends, max(values.hi-values.lo, math.Abs(d.Reference)))
	names = min(names, barNames, 0.45*c.width)
	a := horizontal(x.lo, x.hi, margin+names+12, c.width-margin-12)
	height := float64(rows+len(d.Groups))*barRow + 4
	legend := []key{rowKey("95% interval", series(0))}
	if d.Mark != "" {
		legend = append(legend, truthKey(d.Mark))
	}
	c.begin(d.Title, legend, headerGap)
	end := a.drawX(c, d.XLabel, 0, height)
	c.dashed(point{a.pixel(d.Reference), 0}, point{a.pixel(d.Reference), height})
	y := 2.0
	for _, g := range d.Groups {
		c.text("tick", point{margin, y + barRow/2 + 0.36*tickSize}, fit(g.Label, tickSize, max(c.width/2, narrowWidth-2*margin)))
		y += barRow
		for _, r := range g.Rows {
			d.row(c, a, r, y+barRow/2, names)
			y += barRow
			about = append(about, fmt.Sprintf("%s, %s: %s", g.Label, r.Name, a.format(r.Value, 2)))
		}
	}
	return c.finish(end, cmp.Or(d.Title, d.XLabel), strings.Join(about, "; ")+".")
}

// row draws one row at a height.
func (d Bars) row(c *canvas, a axis, r BarRow, mid, names float64) {
	c.text("tick end", point{a.start - 8, mid + 0.36*tickSize}, fit(r.Name, tickSize, names))
	c.open(series(0))
	from, to := a.pixel(d.Reference), a.pixel(r.Value)
	c.rect("shade", min(from, to), mid-6, math.Abs(to-from), 12)
	if finite(r.Lo) && finite(r.Hi) {
		a.drawInterval(c, r.Lo, r.Hi, mid)
	}
	c.dot("dot", point{to, mid}, dotRadius)
	c.close()
	if finite(r.Mark) {
		drawTruth(c, point{a.pixel(r.Mark), mid})
	}
}
