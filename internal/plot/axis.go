package plot

import (
	"math"
	"strconv"
	"strings"
)

// axis maps the numbers from lo to hi linearly to the pixels from start to end
// (for a vertical axis start is below end, so larger), with a tick at every
// multiple of step inside.
type axis struct {
	lo, hi     float64
	start, end float64
	step       float64
}

// Room that ticks leave to each other, in pixels.
const (
	tickSpacingX = 60
	tickSpacingY = 32
	tickLabelGap = 16
)

// horizontal returns the axis between two pixels whose labels stand side by
// side without touching.
func horizontal(lo, hi, left, right float64) axis {
	return spaced(lo, hi, left, right, niceStep((hi-lo)*tickSpacingX/(right-left)))
}

// spaced is horizontal with a least step.
func spaced(lo, hi, left, right, step float64) axis {
	a := axis{lo: lo, hi: hi, start: left, end: right, step: step}
	for a.step < hi-lo && a.labelWidth()+tickLabelGap > (right-left)*a.step/(hi-lo) {
		a.step = niceStep(1.5 * a.step)
	}
	return a
}

// vertical returns the axis between two pixels.
func vertical(lo, hi, bottom, top float64) axis {
	return axis{lo: lo, hi: hi, start: bottom, end: top,
		step: niceStep((hi - lo) * tickSpacingY / (bottom - top))}
}

// niceStep returns the smallest of 1, 2 or 5 times a power of ten from x up.
func niceStep(x float64) float64 {
	e := math.Floor(math.Log10(x))
	for _, m := range []float64{1, 2, 5} {
		if s := m * math.Pow(10, e); s >= x*(1-1e-9) {
			return s
		}
	}
	return math.Pow(10, e+1)
}

// pixel returns the pixel of v.
func (a axis) pixel(v float64) float64 {
	return a.start + (a.end-a.start)*((v-a.lo)/(a.hi-a.lo))
}

// value returns the number at a pixel: the inverse of pixel.
func (a axis) value(pixel float64) float64 {
	return a.lo + (a.hi-a.lo)*((pixel-a.start)/(a.end-a.start))
}

// ticks returns the multiples of step inside the axis.
func (a axis) ticks() []float64 {
	first, last := math.Ceil(a.lo/a.step-1e-6), math.Floor(a.hi/a.step+1e-6)
	var ticks []float64
	for i := first; i <= last; i++ {
		ticks = append(ticks, i*a.step+0) // +0 turns −0 into 0
	}
	return ticks
}

// decimals returns how many decimals a multiple of step has, negative if it
// ends in zeros.
func (a axis) decimals() int { return -int(math.Floor(math.Log10(a.step) + 1e-9)) }

// exponent returns the power of ten with which numbers on the axis are written,
// if they are so large or small that they have one.
func (a axis) exponent() (e int, scientific bool) {
	d := a.decimals()
	e = int(math.Floor(math.Log10(max(math.Abs(a.lo), math.Abs(a.hi)))))
	return e, (d > 4 || d < -4) && e+d <= 2
}

// label returns v as it stands beside a tick.
func (a axis) label(v float64) string { return a.format(v, 0) }

// format returns v with some more decimals than a tick has.
func (a axis) format(v float64, more int) string {
	d := a.decimals() + more
	e, scientific := a.exponent()
	switch {
	case !scientific:
		return strconv.FormatFloat(v, 'f', max(0, d), 64)
	case v == 0:
		return "0"
	}
	return strconv.FormatFloat(v*math.Pow(10, -float64(e)), 'f', max(0, d+e), 64) + "×10" + superscript(e)
}

// probability returns v, a number between 0 and 1, with one more decimal than a
// tick has. One so close to 0 or 1 that it would round to it has two more, or is
// given as a bound.
func (a axis) probability(v float64) string {
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
func (a axis) labelWidth() float64 {
	widest := 0.0
	for _, v := range a.ticks() {
		widest = max(widest, textWidth(a.label(v), tickSize))
	}
	return widest
}

var superscripts = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
	"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")

func superscript(n int) string { return superscripts.Replace(strconv.Itoa(n)) }

// lineGap is the room between lines of the name of an axis.
const lineGap = 3

// drawX draws the grid lines of a horizontal axis from top to bottom, its labels
// and its name below, and returns the y at which the name ends.
func (a axis) drawX(c *canvas, name string, top, bottom float64) float64 {
	for _, v := range a.ticks() {
		c.line("grid", point{a.pixel(v), top}, point{a.pixel(v), bottom})
	}
	c.open("muted")
	defer c.close()
	y := a.labelsX(c, bottom)
	if name == "" {
		return y
	}
	y += 8 - lineGap
	for _, line := range wrap(name, textSize, a.end-a.start) {
		y += textSize + lineGap
		c.text("middle", point{(a.start + a.end) / 2, y}, line)
	}
	return y
}

// drawY draws the grid lines of a vertical axis from left to right, its labels
// and, upright at the edge of the card, its name.
func (a axis) drawY(c *canvas, name string, left, right float64) {
	for _, v := range a.ticks() {
		c.line("grid", point{left, a.pixel(v)}, point{right, a.pixel(v)})
	}
	c.open("muted")
	defer c.close()
	a.labelsY(c, left)
	if name != "" {
		c.textUp("middle", point{margin + 0.8*textSize, (a.start + a.end) / 2}, fit(name, textSize, a.start-a.end))
	}
}

// labelsX writes the labels below the ticks of a horizontal axis at bottom, and returns
// their y.
func (a axis) labelsX(c *canvas, bottom float64) (y float64) {
	y = bottom + tickSize + 5
	for _, v := range a.ticks() {
		c.text("tick middle", point{a.pixel(v), y}, a.label(v))
	}
	return y
}

// labelsY writes the labels beside the ticks of a vertical axis at left.
func (a axis) labelsY(c *canvas, left float64) {
	for _, v := range a.ticks() {
		c.text("tick end", point{left - labelOffset, a.pixel(v) + 0.36*tickSize}, a.label(v))
	}
}

// drawInterval draws an interval of a horizontal axis at the height y, its ends marked.
// An end beyond the axis is cut off and has no mark.
func (a axis) drawInterval(c *canvas, lo, hi, y float64) {
	left, right := a.pixel(max(lo, a.lo)), a.pixel(min(hi, a.hi))
	c.rect("solid", left, y-0.75, max(0, right-left), 1.5)
	if lo >= a.lo {
		c.rect("solid", left-0.75, y-rowCap, 1.5, 2*rowCap)
	}
	if hi <= a.hi {
		c.rect("solid", right-0.75, y-rowCap, 1.5, 2*rowCap)
	}
}

// rowCap is half of the stroke that ends an interval in a row.
const rowCap = 4.0

// labelOffset is the room between an axis and its labels, or between a mark and
// the number beside it.
const labelOffset = 8

// roomY returns how far from the edge of the card the panel right of a vertical
// axis begins.
func (a axis) roomY(name string) float64 {
	room := margin + a.labelWidth() + labelOffset
	if name != "" {
		room += textSize + labelOffset
	}
	return room
}
