package plot

import "math"

// Radii of dots, in pixels: of one by itself, and of one on a line.
const (
	dotRadius = 4.5
	smallDot  = 3.5
)

// frame is a panel between two axes, whose y counts from the top of the panel.
type frame struct {
	x, y           axis
	xLabel, yLabel string
}

// newFrame lays out a panel as wide as the card of c for the given ranges.
func newFrame(c *canvas, x, y span, xLabel, yLabel string, height float64) frame {
	f := frame{xLabel: xLabel, yLabel: yLabel}
	f.y = vertical(y.lo, y.hi, height, 0)
	left, right := f.y.roomY(yLabel), margin
	for range 3 { // the labels of x need room, which moves x
		f.x = horizontal(x.lo, x.hi, left, c.wide()-right)
		half := margin + f.x.labelWidth()/2
		left, right = max(left, half), max(right, half)
	}
	f.x = horizontal(x.lo, x.hi, left, c.wide()-right)
	return f
}

// draw draws the axes and returns the y at which they end.
func (f frame) draw(c *canvas) float64 {
	end := f.x.drawX(c, f.xLabel, f.y.end, f.y.start)
	f.y.drawY(c, f.yLabel, f.x.start, f.x.end)
	c.line("rule", point{f.x.start, f.y.start}, point{f.x.end, f.y.start})
	return end
}

// place returns the place of a pair of numbers.
func (f frame) place(x, y float64) point { return point{f.x.pixel(x), f.y.pixel(y)} }

// diagonal draws the line on which x and y are equal, as far as it lies in the
// panel.
func (f frame) diagonal(c *canvas) {
	lo, hi := max(f.x.lo, f.y.lo), min(f.x.hi, f.y.hi)
	if lo >= hi {
		return
	}
	c.open("muted dashed")
	c.curve("curve", []point{f.place(lo, lo), f.place(hi, hi)})
	c.close()
}

// level draws a dashed line at a height.
func (f frame) level(c *canvas, y float64) {
	c.open("muted dashed")
	c.curve("curve", []point{f.place(f.x.lo, y), f.place(f.x.hi, y)})
	c.close()
}

// whisker draws an interval of y at x, its ends marked.
func (f frame) whisker(c *canvas, px, lo, hi float64) {
	top, bottom := f.y.pixel(hi), f.y.pixel(lo)
	const half = 0.75
	c.rect("solid", px-half, top, 2*half, max(0, bottom-top))
	c.rect("solid", px-3, top-half, 6, 2*half)
	c.rect("solid", px-3, bottom-half, 6, 2*half)
}

// span is a range of numbers that grows to hold those added to it.
type span struct{ lo, hi float64 }

func emptySpan() span { return span{math.Inf(1), math.Inf(-1)} }

// add ignores what is not finite.
func (s *span) add(values ...float64) {
	for _, v := range values {
		if finite(v) {
			s.lo, s.hi = min(s.lo, v), max(s.hi, v)
		}
	}
}

// padded returns the span with some room at both ends, so that no mark lies on
// the edge; an empty or a single number becomes a range around it.
func (s span) padded() span {
	if s.lo > s.hi {
		return span{0, 1}
	}
	room := 0.04 * (s.hi - s.lo)
	if room < 1e-9*max(math.Abs(s.lo), math.Abs(s.hi)) || room == 0 {
		room = max(0.05*math.Abs(s.hi), 0.01)
	}
	return span{s.lo - room, s.hi + room}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// lineKey is the entry of a line in a legend.
func lineKey(text, class string) key {
	return key{text, func(c *canvas, at point) {
		c.open(class)
		c.curve("curve", []point{at, {at.x + symbolWidth, at.y}})
		c.close()
	}}
}

// dotKey is the entry of a dot in a legend, with a whisker behind it or not.
func dotKey(text, class string, whisker bool) key {
	return key{text, func(c *canvas, at point) {
		c.open(class)
		x := at.x + symbolWidth/2
		if whisker {
			c.rect("solid", x-0.75, at.y-8, 1.5, 16)
			c.rect("solid", x-3, at.y-8.75, 6, 1.5)
			c.rect("solid", x-3, at.y+7.25, 6, 1.5)
		}
		c.dot("dot", point{x, at.y}, dotRadius)
		c.close()
	}}
}

// areaKey is the entry of a shaded area in a legend.
func areaKey(text, class string) key {
	return key{text, func(c *canvas, at point) {
		c.open(class)
		c.rect("shade", at.x, at.y-6, symbolWidth, 12)
		c.close()
	}}
}
