package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
)

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
