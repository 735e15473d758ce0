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
// where it is unknown.
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

// Draw implements [Figure].
func (d Intervals) Draw(c *Canvas) error {
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
			names = max(names, TextWidth(item.Name, TickSize))
			n++
		}
	}
	if n == 0 {
		return errors.New("no items")
	}
	names = min(names, intervalNames)
	label := cmp.Or(d.XLabel, "probability")
	x := Horizontal(0, 1, Margin+names+10, c.width-Margin-12)
	height := float64(n)*intervalRow + float64(len(d.Groups)-1)*intervalGap + 8
	var legend []key
	var words []string
	for i, g := range d.Groups {
		legend = append(legend, rowKey(g.Label, Series(i)))
		words = append(words, fmt.Sprintf("%s: %d items", g.Label, len(g.Items)))
	}
	if known {
		legend = append(legend, truthKey("true probability"))
	}
	c.Begin(d.Title, legend, HeaderGap)
	end := x.drawX(c, label, 0, height)
	y := 4.0
	var truths []Point // over all intervals
	for i, g := range d.Groups {
		c.Open(Series(i))
		for _, item := range g.Items {
			mid := y + intervalRow/2
			c.Text("tick end", Point{x.Start - 8, mid + 0.36*TickSize}, Fit(item.Name, TickSize, names))
			x.drawInterval(c, item.Lower, item.Upper, mid)
			c.Dot("dot", Point{x.Pixel(item.Center), mid}, dotRadius)
			if item.Truth >= 0 {
				truths = append(truths, Point{x.Pixel(item.Truth), mid})
			}
			y += intervalRow
		}
		c.Close()
		y += intervalGap
	}
	for _, at := range truths {
		drawTruth(c, at)
	}
	return c.Finish(end, cmp.Or(d.Title, label),
		fmt.Sprintf("Intervals at level %g. %s.", d.Level, strings.Join(words, "; ")))
}

// drawTruth marks a true probability: a tick across the row.
func drawTruth(c *Canvas, at Point) {
	c.Open("text")
	c.Rect("solid", at.X-1, at.Y-7, 2, 14)
	c.Close()
}

// Bars is a figure of one quantity for several groups, a row each: a bar from its reference
// to its value, its interval, and an optional mark.
type Bars struct {
	Title  string
	XLabel string
	// Reference is the expected value of the quantity, drawn as a dashed line.
	Reference float64
	Mark      string // the entry of marks in the legend; none if empty
	Groups    []BarGroup
}

// BarGroup are rows under a common label.
type BarGroup struct {
	Label string
	Rows  []BarRow
}

// BarRow is one row; Lo, Hi and Mark are NaN where they are unknown.
type BarRow struct {
	Name                string
	Value, Lo, Hi, Mark float64
}

const barRow, barNames = 22.0, 220.0

// Draw implements [Figure]. Ends of intervals that lie far beyond all values are cut off.
func (d Bars) Draw(c *Canvas) error {
	values, ends := emptySpan(), emptySpan()
	names, rows := 0.0, 0
	var about []string
	for _, g := range d.Groups {
		names = max(names, TextWidth(g.Label, TickSize))
		for _, r := range g.Rows {
			if !finite(r.Value) {
				return fmt.Errorf("row %q has the value %v", r.Name, r.Value)
			}
			values.add(r.Value, r.Mark, d.Reference)
			ends.add(r.Lo, r.Hi)
			names = max(names, TextWidth(r.Name, TickSize)+10)
			rows++
		}
	}
	if rows == 0 {
		return errors.New("no rows")
	}
	x := values.cut(ends, max(values.hi-values.lo, math.Abs(d.Reference)))
	names = min(names, barNames, 0.45*c.width)
	a := Horizontal(x.lo, x.hi, Margin+names+12, c.width-Margin-12)
	height := float64(rows+len(d.Groups))*barRow + 4
	var legend []key
	if ends.lo <= ends.hi {
		legend = append(legend, rowKey("95% interval", Series(0)))
	}
	if d.Mark != "" {
		legend = append(legend, truthKey(d.Mark))
	}
	c.Begin(d.Title, legend, HeaderGap)
	end := a.drawX(c, d.XLabel, 0, height)
	c.dashed(Point{a.Pixel(d.Reference), 0}, Point{a.Pixel(d.Reference), height})
	y := 2.0
	for _, g := range d.Groups {
		c.Text("tick", Point{Margin, y + barRow/2 + 0.36*TickSize}, Fit(g.Label, TickSize, max(c.width/2, narrowWidth-2*Margin)))
		y += barRow
		for _, r := range g.Rows {
			d.row(c, a, r, y+barRow/2, names)
			y += barRow
			about = append(about, fmt.Sprintf("%s, %s: %s", g.Label, r.Name, a.format(r.Value, 2)))
		}
	}
	return c.Finish(end, cmp.Or(d.Title, d.XLabel), strings.Join(about, "; ")+".")
}

// row draws one row at a height.
func (d Bars) row(c *Canvas, a Axis, r BarRow, mid, names float64) {
	c.Text("tick end", Point{a.Start - 8, mid + 0.36*TickSize}, Fit(r.Name, TickSize, names))
	c.Open(Series(0))
	from, to := a.Pixel(d.Reference), a.Pixel(r.Value)
	c.Rect("shade", min(from, to), mid-6, math.Abs(to-from), 12)
	if finite(r.Lo) && finite(r.Hi) {
		a.drawInterval(c, r.Lo, r.Hi, mid)
	}
	c.Dot("dot", Point{to, mid}, dotRadius)
	c.Close()
	if finite(r.Mark) {
		drawTruth(c, Point{a.Pixel(r.Mark), mid})
	}
}
