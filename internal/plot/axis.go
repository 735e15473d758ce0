package plot

import (
	"math"
	"strconv"
	"strings"
)

// Axis maps the numbers from lo to hi linearly to the pixels from start to end
// (for a vertical axis start is below end, so larger), with a tick at every
// multiple of step inside.
type Axis struct {
	Lo, Hi     float64
	Start, End float64
	step       float64
}

// Room that ticks leave to each other, in pixels.
const (
	tickSpacingX = 60
	tickSpacingY = 32
	tickLabelGap = 16
)

// Horizontal returns the axis between two pixels, with a step at which labels do
// not touch.
func Horizontal(lo, hi, left, right float64) Axis {
	return Spaced(lo, hi, left, right, NiceStep((hi-lo)*tickSpacingX/(right-left)))
}

// Spaced is Horizontal with a least step.
func Spaced(lo, hi, left, right, step float64) Axis {
	a := Axis{Lo: lo, Hi: hi, Start: left, End: right, step: step}
	for a.step < hi-lo && a.labelWidth()+tickLabelGap > (right-left)*a.step/(hi-lo) {
		a.step = NiceStep(1.5 * a.step)
	}
	return a
}

// Vertical returns the axis between two pixels.
func Vertical(lo, hi, bottom, top float64) Axis {
	return Axis{Lo: lo, Hi: hi, Start: bottom, End: top,
		step: NiceStep((hi - lo) * tickSpacingY / (bottom - top))}
}

// NiceStep returns the smallest of 1, 2 or 5 times a power of ten from x up.
func NiceStep(x float64) float64 {
	e := math.Floor(math.Log10(x))
	for _, m := range []float64{1, 2, 5} {
		if s := m * math.Pow(10, e); s >= x*(1-1e-9) {
			return s
		}
	}
	return math.Pow(10, e+1)
}

// Pixel returns the pixel of v.
func (a Axis) Pixel(v float64) float64 {
	return a.Start + (a.End-a.Start)*((v-a.Lo)/(a.Hi-a.Lo))
}

// value returns the number at a pixel: the inverse of Pixel.
func (a Axis) value(pixel float64) float64 {
	return a.Lo + (a.Hi-a.Lo)*((pixel-a.Start)/(a.End-a.Start))
}

// Ticks returns the multiples of step inside the axis.
func (a Axis) Ticks() []float64 {
	first, last := math.Ceil(a.Lo/a.step-1e-6), math.Floor(a.Hi/a.step+1e-6)
	var ticks []float64
	for i := first; i <= last; i++ {
		ticks = append(ticks, i*a.step+0) // +0 turns −0 into 0
	}
	return ticks
}

// decimals returns the number of decimals of a multiple of step, negative if it
// ends in zeros.
func (a Axis) decimals() int { return -int(math.Floor(math.Log10(a.step) + 1e-9)) }

// exponent returns the power of ten with which numbers on the axis are written,
// if they are so large or small that they have one.
func (a Axis) exponent() (e int, scientific bool) {
	d := a.decimals()
	e = int(math.Floor(math.Log10(max(math.Abs(a.Lo), math.Abs(a.Hi)))))
	return e, (d > 4 || d < -4) && e+d <= 2
}

// Label returns the label of a tick at v.
func (a Axis) Label(v float64) string { return a.format(v, 0) }

// format returns v with some more decimals than a tick has.
func (a Axis) format(v float64, more int) string {
	d := a.decimals() + more
	e, scientific := a.exponent()
	switch {
	case !scientific:
		return strconv.FormatFloat(v, 'f', max(0, d), 64)
	case v == 0:
		return "0"
	}
	digits := strconv.FormatFloat(v*math.Pow(10, -float64(e)), 'f', max(0, d+e), 64)
	return digits + "×10" + superscripts.Replace(strconv.Itoa(e))
}

// probability returns v, a number between 0 and 1, with one more decimal than a
// tick has. One so close to 0 or 1 that it would round to it has two more, or is
// given as a bound.
func (a Axis) probability(v float64) string {
	rounded := func(s string) bool {
		digits, _, _ := strings.Cut(s, "×")
		return strings.Trim(digits, "0.") == "" || s[0] == '1' && !strings.Contains(s, "×")
	}
	s := a.format(v, 1)
	if v == 0 || v == 1 || !rounded(s) {
		return s
	}
	if s = a.format(v, 3); !rounded(s) {
		return s
	}
	least := math.Pow(10, -float64(a.decimals()+3))
	if v < 0.5 {
		return "<" + a.format(least, 3)
	}
	return ">" + a.format(1-least, 3)
}

// labelWidth returns the width of the widest label of a tick.
func (a Axis) labelWidth() float64 {
	widest := 0.0
	for _, v := range a.Ticks() {
		widest = max(widest, TextWidth(a.Label(v), TickSize))
	}
	return widest
}

// superscripts writes the digits of an exponent.
var superscripts = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
	"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

// lineGap is the room between lines of the name of an axis.
const lineGap = 3

// drawX draws the grid lines of a horizontal axis from top to bottom, its labels
// and its name below, and returns the y at which the name ends.
func (a Axis) drawX(c *Canvas, name string, top, bottom float64) float64 {
	for _, v := range a.Ticks() {
		c.Line("grid", Point{a.Pixel(v), top}, Point{a.Pixel(v), bottom})
	}
	c.Open("muted")
	defer c.Close()
	y := a.LabelsX(c, bottom)
	if name == "" {
		return y
	}
	y += 8 - lineGap
	for _, line := range wrap(name, TextSize, a.End-a.Start) {
		y += TextSize + lineGap
		c.Text("middle", Point{(a.Start + a.End) / 2, y}, line)
	}
	return y
}

// drawY draws the grid lines of a vertical axis from left to right, its labels
// and, upright at the edge of the card, its name.
func (a Axis) drawY(c *Canvas, name string, left, right float64) {
	for _, v := range a.Ticks() {
		c.Line("grid", Point{left, a.Pixel(v)}, Point{right, a.Pixel(v)})
	}
	c.Open("muted")
	defer c.Close()
	a.LabelsY(c, left)
	if name != "" {
		c.TextUp("middle", Point{Margin + 0.8*TextSize, (a.Start + a.End) / 2}, Fit(name, TextSize, a.Start-a.End))
	}
}

// LabelsX writes the labels below the ticks of a horizontal axis at bottom, and returns
// their y.
func (a Axis) LabelsX(c *Canvas, bottom float64) (y float64) {
	y = bottom + TickSize + 5
	for _, v := range a.Ticks() {
		c.Text("tick middle", Point{a.Pixel(v), y}, a.Label(v))
	}
	return y
}

// LabelsY writes the labels next to the ticks of a vertical axis at left.
func (a Axis) LabelsY(c *Canvas, left float64) {
	for _, v := range a.Ticks() {
		c.Text("tick end", Point{left - LabelOffset, a.Pixel(v) + 0.36*TickSize}, a.Label(v))
	}
}

// drawInterval draws an interval of a horizontal axis at the height y, its ends marked.
// An end beyond the axis is cut off and has no mark.
func (a Axis) drawInterval(c *Canvas, lo, hi, y float64) {
	left, right := a.Pixel(max(lo, a.Lo)), a.Pixel(min(hi, a.Hi))
	c.Rect("solid", left, y-0.75, max(0, right-left), 1.5)
	if lo >= a.Lo {
		c.Rect("solid", left-0.75, y-rowCap, 1.5, 2*rowCap)
	}
	if hi <= a.Hi {
		c.Rect("solid", right-0.75, y-rowCap, 1.5, 2*rowCap)
	}
}

// rowCap is half of the stroke that ends an interval in a row.
const rowCap = 4.0

// LabelOffset is the room between an axis and its labels, or between a mark and
// the number next to it.
const LabelOffset = 8

// RoomY returns the distance from the edge of the card to the panel right of a
// vertical axis.
func (a Axis) RoomY(name string) float64 {
	room := Margin + a.labelWidth() + LabelOffset
	if name != "" {
		room += TextSize + LabelOffset
	}
	return room
}
