package plot

import "strings"

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
