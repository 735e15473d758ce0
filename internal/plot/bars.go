package plot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Bars is a figure of one quantity here and there, a row each: a bar from what it
// should be to what it is, its interval, and a mark where it is known.
type Bars struct {
	// Width of the card in pixels; 0 means 760.
	Width  float64
	Title  string
	XLabel string
	// Reference is what the quantity should be, drawn as a dashed line.
	Reference float64
	// Interval and Mark are their entries in the legend; "95% interval" and none if
	// empty.
	Interval, Mark string
	Groups         []BarGroup
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

// WriteSVG writes the figure to w as an SVG file. Ends of
// intervals that lie far beyond all values are cut off.
func (d Bars) WriteSVG(w io.Writer) error {
	c := canvas{width: d.Width}
	values, ends := emptySpan(), emptySpan()
	names, rows := 0.0, 0
	var about []string
	for _, g := range d.Groups {
		names = max(names, textWidth(g.Label, tickSize))
		for _, r := range g.Rows {
			if !finite(r.Value) {
				return fmt.Errorf("bars figure: row %q has the value %v", r.Name, r.Value)
			}
			values.add(r.Value, r.Mark, d.Reference)
			ends.add(r.Lo, r.Hi)
			names = max(names, textWidth(r.Name, tickSize)+10)
			rows++
		}
	}
	if rows == 0 {
		return errors.New("bars figure: no rows")
	}
	room := values.hi - values.lo
	room = max(room, math.Abs(d.Reference))
	x := values
	x.add(max(ends.lo, values.lo-room), min(ends.hi, values.hi+room))
	x = x.padded()
	names = min(names, barNames, 0.45*c.wide())
	a := horizontal(x.lo, x.hi, margin+names+12, c.wide()-margin-12)
	height := float64(rows+len(d.Groups))*barRow + 4
	legend := []key{rowKey(cmp.Or(d.Interval, "95% interval"), series(0))}
	if d.Mark != "" {
		legend = append(legend, key{d.Mark, func(c *canvas, at point) { drawTruth(c, point{at.x + symbolWidth/2, at.y}) }})
	}
	top := drawHeader(&c, d.Title, legend) + 14
	c.openAt(top)
	end := a.drawX(&c, d.XLabel, 0, height)
	c.open("muted dashed")
	c.curve("curve", []point{{a.pixel(d.Reference), 0}, {a.pixel(d.Reference), height}})
	c.close()
	y := 2.0
	for _, g := range d.Groups {
		c.text("tick", point{margin, y + barRow/2 + 0.36*tickSize}, fit(g.Label, tickSize, max(c.wide()/2, narrowWidth-2*margin)))
		y += barRow
		for _, r := range g.Rows {
			d.row(&c, a, r, y+barRow/2, names)
			y += barRow
			about = append(about, fmt.Sprintf("%s, %s: %s", g.Label, r.Name, a.format(r.Value, 2)))
		}
	}
	c.close()
	return c.figure(w, "bars figure", top+end, cmp.Or(d.Title, d.XLabel),
		strings.Join(about, "; ")+".")
}

// row draws one row at a height.
func (d Bars) row(c *canvas, a axis, r BarRow, mid, names float64) {
	c.text("tick end", point{a.start - 8, mid + 0.36*tickSize}, fit(r.Name, tickSize, names))
	c.open(series(0))
	from, to := a.pixel(d.Reference), a.pixel(r.Value)
	c.rect("shade", min(from, to), mid-6, math.Abs(to-from), 12)
	if finite(r.Lo) && finite(r.Hi) {
		left, right := a.pixel(max(r.Lo, a.lo)), a.pixel(min(r.Hi, a.hi))
		c.rect("solid", left, mid-0.75, max(0, right-left), 1.5)
		if r.Lo >= a.lo {
			c.rect("solid", left-0.75, mid-4, 1.5, 8)
		}
		if r.Hi <= a.hi {
			c.rect("solid", right-0.75, mid-4, 1.5, 8)
		}
	}
	c.dot("dot", point{to, mid}, dotRadius)
	c.close()
	if finite(r.Mark) {
		drawTruth(c, point{a.pixel(r.Mark), mid})
	}
}
