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

// Frame is a panel between two axes, whose y counts from the top of the panel.
type Frame struct {
	X, Y           Axis
	XLabel, YLabel string
}

// newFrame lays out a panel as wide as the card of c for the given ranges.
func newFrame(c *Canvas, x, y span, xLabel, yLabel string, height float64) Frame {
	f := Frame{XLabel: xLabel, YLabel: yLabel}
	f.Y = Vertical(y.lo, y.hi, height, 0)
	f.layOutX(x, c.width, f.labelRoom)
	return f
}

// layOutX lays x out on a card of some width, given the distances from its edges at which
// x has to begin and end.
func (f *Frame) layOutX(x span, width float64, room func() (left, right float64)) {
	left, right := f.Y.RoomY(f.YLabel), Margin
	for range 3 { // what needs room moves x
		f.X = Horizontal(x.lo, x.hi, left, width-right)
		l, r := room()
		left, right = max(left, l), max(right, r)
	}
	f.X = Horizontal(x.lo, x.hi, left, width-right)
}

// labelRoom is the room that the labels of x need.
func (f *Frame) labelRoom() (left, right float64) {
	half := Margin + f.X.labelWidth()/2
	return half, half
}

// Draw draws the axes and returns the y at which they end.
func (f Frame) Draw(c *Canvas) float64 {
	end := f.X.drawX(c, f.XLabel, f.Y.End, f.Y.Start)
	f.Y.drawY(c, f.YLabel, f.X.Start, f.X.End)
	c.Line("rule", Point{f.X.Start, f.Y.Start}, Point{f.X.End, f.Y.Start})
	return end
}

// Place returns the place of a pair of numbers.
func (f Frame) Place(x, y float64) Point { return Point{f.X.Pixel(x), f.Y.Pixel(y)} }

// diagonal draws the line on which x and y are equal, as far as it lies in the
// panel.
func (f Frame) diagonal(c *Canvas) {
	lo, hi := max(f.X.Lo, f.Y.Lo), min(f.X.Hi, f.Y.Hi)
	if lo < hi {
		c.dashed(f.Place(lo, lo), f.Place(hi, hi))
	}
}

// level draws a dashed line at a height.
func (f Frame) level(c *Canvas, y float64) { c.dashed(f.Place(f.X.Lo, y), f.Place(f.X.Hi, y)) }

// drawUpright draws an interval of y, its ends marked.
func drawUpright(c *Canvas, x, top, bottom float64) {
	const half = 0.75
	c.Rect("solid", x-half, top, 2*half, max(0, bottom-top))
	c.Rect("solid", x-3, top-half, 6, 2*half)
	c.Rect("solid", x-3, bottom-half, 6, 2*half)
}

// span is a range of numbers that grows to contain those added to it.
type span struct{ lo, hi float64 }

func emptySpan() span { return span{math.Inf(1), math.Inf(-1)} }

// add extends the span to contain the values; it ignores those that are not finite.
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

// key is an entry of a legend: a symbol, its class, and its meaning. The
// symbol is drawn into a box symbolWidth wide, given the middle of its left side.
type key struct {
	text, class string
	symbol      func(c *Canvas, at Point)
}

const (
	SymbolWidth = 28.0
	SymbolGap   = 7.0  // between a symbol and its text
	KeyGap      = 24.0 // between one entry and the next
	LineHeight  = 20.0
)

// drawHeader writes the title and the legend at the top of the card, in as many
// lines as they need, and returns the y at which they end.
func drawHeader(c *Canvas, title string, legend []key) float64 {
	width := c.width - 2*Margin
	y := Margin
	for _, line := range wrap(title, titleSize, width) {
		c.Text("title", Point{Margin, y + 0.85*titleSize}, line)
		y += LineHeight
	}
	if len(legend) == 0 {
		return y
	}
	if y > Margin {
		y += 6
	}
	x := Margin
	for _, k := range legend {
		if strings.TrimSpace(k.text) == "" {
			k.text = "…"
		}
		lines := wrap(k.text, TextSize, width-SymbolWidth-SymbolGap)
		text := lines[0]
		wide := TextWidth(text, TextSize)
		if len(lines) > 1 {
			wide = width // it has its lines for itself
		}
		if x > Margin && x+SymbolWidth+SymbolGap+wide > Margin+width {
			x = Margin
			y += LineHeight
		}
		c.Open(k.class)
		k.symbol(c, Point{x, y + LineHeight/2})
		c.Close()
		x += SymbolWidth + SymbolGap
		c.Text("key", Point{x, y + LineHeight/2 + 0.36*TextSize}, text)
		for _, more := range lines[1:] {
			y += TextSize + lineGap
			c.Text("key", Point{x, y + LineHeight/2 + 0.36*TextSize}, more)
		}
		// Even gaps in Helvetica, and still some gap in a wider font.
		x += max(wide/wider+KeyGap, wide+KeyGap/3)
	}
	return y + LineHeight
}

// lineKey is the entry of a line in a legend.
func lineKey(text, class string) key {
	return key{text, class, func(c *Canvas, at Point) {
		c.Curve("curve", []Point{at, {at.X + SymbolWidth, at.Y}})
	}}
}

// dotKey is the entry of a dot in a legend, with a whisker behind it or not.
func dotKey(text, class string, whisker bool) key {
	return key{text, class, func(c *Canvas, at Point) {
		x := at.X + SymbolWidth/2
		if whisker {
			drawUpright(c, x, at.Y-8, at.Y+8)
		}
		c.Dot("dot", Point{x, at.Y}, dotRadius)
	}}
}

// areaKey is the entry of a shaded area in a legend.
func areaKey(text, class string) key {
	return key{text, class, func(c *Canvas, at Point) { c.Rect("shade", at.X, at.Y-6, SymbolWidth, 12) }}
}

// rowKey is the entry of a row with an interval in a legend.
func rowKey(text, class string) key {
	return key{text, class, func(c *Canvas, at Point) {
		drawWhiskers(c, [][2]float64{{at.X + 2, at.X + SymbolWidth - 2}}, at.Y, rowCap)
		c.Dot("dot", Point{at.X + SymbolWidth/2, at.Y}, dotRadius)
	}}
}

// truthKey is the entry of the mark of a true value in a legend.
func truthKey(text string) key {
	return key{text, "text", func(c *Canvas, at Point) { c.Rect("solid", at.X+SymbolWidth/2-1, at.Y-7, 2, 14) }}
}
