package plot

import (
	"math"
	"strings"
)

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
	f.layOutX(x, c.width, f.labelRoom)
	return f
}

// layOutX finds x on a card of some width, given how far from its edges x has to begin
// and end.
func (f *frame) layOutX(x span, width float64, room func() (left, right float64)) {
	left, right := f.y.roomY(f.yLabel), margin
	for range 3 { // what needs room moves x
		f.x = horizontal(x.lo, x.hi, left, width-right)
		l, r := room()
		left, right = max(left, l), max(right, r)
	}
	f.x = horizontal(x.lo, x.hi, left, width-right)
}

// labelRoom is the room that the labels of x need.
func (f *frame) labelRoom() (left, right float64) {
	half := margin + f.x.labelWidth()/2
	return half, half
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
	c.dashed(f.place(lo, lo), f.place(hi, hi))
}

// level draws a dashed line at a height.
func (f frame) level(c *canvas, y float64) { c.dashed(f.place(f.x.lo, y), f.place(f.x.hi, y)) }

// drawUpright draws an interval of y, its ends marked.
func drawUpright(c *canvas, x, top, bottom float64) {
	const half = 0.75
	c.rect("solid", x-half, top, 2*half, max(0, bottom-top))
	c.rect("solid", x-3, top-half, 6, 2*half)
	c.rect("solid", x-3, bottom-half, 6, 2*half)
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

// cut returns the padded range of values and of the ends of their intervals, but no
// more than the given room beyond the values.
func (s span) cut(ends span, room float64) span {
	s.add(max(ends.lo, s.lo-room), min(ends.hi, s.hi+room))
	return s.padded()
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// key is an entry of a legend: a symbol, its class, and what it stands for. The
// symbol is drawn into a box symbolWidth wide, given the middle of its left side.
type key struct {
	text, class string
	symbol      func(c *canvas, at point)
}

const (
	symbolWidth = 28.0
	symbolGap   = 7.0  // between a symbol and its text
	keyGap      = 24.0 // between one entry and the next
	lineHeight  = 20.0
)

// drawHeader writes the title and the legend at the top of the card, in as many
// lines as they need, and returns the y at which they end.
func drawHeader(c *canvas, title string, legend []key) float64 {
	width := c.width - 2*margin
	y := margin
	for _, line := range wrap(title, titleSize, width) {
		c.text("title", point{margin, y + 0.85*titleSize}, line)
		y += lineHeight
	}
	if len(legend) == 0 {
		return y
	}
	if y > margin {
		y += 6
	}
	x := margin
	for _, k := range legend {
		if strings.TrimSpace(k.text) == "" {
			k.text = "…"
		}
		lines := wrap(k.text, textSize, width-symbolWidth-symbolGap)
		text := lines[0]
		wide := textWidth(text, textSize)
		if len(lines) > 1 {
			wide = width // it has its lines for itself
		}
		if x > margin && x+symbolWidth+symbolGap+wide > margin+width {
			x = margin
			y += lineHeight
		}
		c.open(k.class)
		k.symbol(c, point{x, y + lineHeight/2})
		c.close()
		x += symbolWidth + symbolGap
		c.text("key", point{x, y + lineHeight/2 + 0.36*textSize}, text)
		for _, more := range lines[1:] {
			y += textSize + lineGap
			c.text("key", point{x, y + lineHeight/2 + 0.36*textSize}, more)
		}
		// Even gaps in Helvetica, and still some gap in a wider font.
		x += max(wide/wider+keyGap, wide+keyGap/3)
	}
	return y + lineHeight
}

// lineKey is the entry of a line in a legend.
func lineKey(text, class string) key {
	return key{text, class, func(c *canvas, at point) {
		c.curve("curve", []point{at, {at.x + symbolWidth, at.y}})
	}}
}

// dotKey is the entry of a dot in a legend, with a whisker behind it or not.
func dotKey(text, class string, whisker bool) key {
	return key{text, class, func(c *canvas, at point) {
		x := at.x + symbolWidth/2
		if whisker {
			drawUpright(c, x, at.y-8, at.y+8)
		}
		c.dot("dot", point{x, at.y}, dotRadius)
	}}
}

// areaKey is the entry of a shaded area in a legend.
func areaKey(text, class string) key {
	return key{text, class, func(c *canvas, at point) { c.rect("shade", at.x, at.y-6, symbolWidth, 12) }}
}

// rowKey is the entry of a row with an interval in a legend.
func rowKey(text, class string) key {
	return key{text, class, func(c *canvas, at point) {
		drawWhiskers(c, [][2]float64{{at.x + 2, at.x + symbolWidth - 2}}, at.y, rowCap)
		c.dot("dot", point{at.x + symbolWidth/2, at.y}, dotRadius)
	}}
}

// truthKey is the entry of the mark of a true value in a legend.
func truthKey(text string) key {
	return key{text, "text", func(c *canvas, at point) { c.rect("solid", at.x+symbolWidth/2-1, at.y-7, 2, 14) }}
}
