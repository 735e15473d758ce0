package plot

import (
	"fmt"
	"strings"
)

// Sizes that layouts and the style sheet share, in pixels.
const (
	figureWidth = 760.0
	margin      = 16.0 // between the edge of the card and anything on it

	titleSize = 15.0
	textSize  = 12.0 // legend and labels of axes
	tickSize  = 11.0
)

// theme is a set of colors: for light pages, and for dark ones.
type theme struct {
	card, text, muted, rule, grid string
	shade                         string // the opacity of shaded areas
	series                        [6]string
}

// The series are the colors of Okabe and Ito (2008), which remain distinct to
// the color-blind. Those too pale for a white card (orange, yellow, sky blue,
// pink) are darker, those too dark for a dark card lighter, so that each has a
// contrast of at least 3 with its card.
var (
	light = theme{
		card: "#ffffff", text: "#1f2328", muted: "#59636e", rule: "#818b98", grid: "#e6e9ed", shade: ".2",
		series: [6]string{"#0072b2", "#d55e00", "#008f68", "#b5578a", "#a87400", "#59636e"},
	}
	dark = theme{
		card: "#0d1117", text: "#f0f6fc", muted: "#a5afba", rule: "#6e7681", grid: "#23292f", shade: ".26",
		series: [6]string{"#56b4e9", "#f0803c", "#2bbd90", "#de94bd", "#e6b32e", "#a5afba"},
	}
)

// series returns the class of the i-th of the things compared in a figure. After
// the last color they begin again with dashed lines.
func series(i int) string {
	n := len(light.series)
	class := fmt.Sprintf("s%d", i%n)
	if i/n%2 == 1 {
		class += " dashed"
	}
	return class
}

// rules returns the part of the style sheet that depends on the theme.
func (t theme) rules() string {
	var b strings.Builder
	rule := func(selector, declarations string) {
		fmt.Fprintf(&b, ".credence %s{%s}\n", selector, declarations)
	}
	fmt.Fprintf(&b, ".credence{color:%s}\n", t.text)
	rule(".card", "fill:"+t.card)
	rule(".muted", "color:"+t.muted)
	rule(".rule", "stroke:"+t.rule)
	rule(".grid", "stroke:"+t.grid)
	rule(".shade", "fill-opacity:"+t.shade)
	rule(".halo,.credence .dot", "stroke:"+t.card)
	for i, color := range t.series {
		rule(fmt.Sprintf(".s%d", i), "color:"+color)
	}
	return b.String()
}

// styleSheet returns the style of every figure. Its rules begin with .credence
// because those of an SVG inside an HTML page hold for the whole page.
func styleSheet() string {
	return fmt.Sprintf(`.credence{font:%gpx "Helvetica Neue",Helvetica,Arial,sans-serif}
.credence text{fill:currentColor}
.credence .title{font-size:%gpx;font-weight:bold}
.credence .tick{font-size:%gpx;font-variant-numeric:tabular-nums}
.credence .middle{text-anchor:middle}
.credence .end{text-anchor:end}
.credence .halo{stroke-width:4px;stroke-linejoin:round;paint-order:stroke}
.credence .rule,.credence .grid{fill:none;stroke-width:1px}
.credence .curve{fill:none;stroke:currentColor;stroke-width:2px;stroke-linejoin:round;stroke-linecap:round}
.credence .dashed .curve{stroke-dasharray:6 4}
.credence .bar{fill:none;stroke:currentColor}
.credence .shade{fill:currentColor}
.credence .solid{fill:currentColor}
.credence .dot{stroke-width:1.5px;fill:currentColor}
`, textSize, titleSize, tickSize) + light.rules() +
		"@media (prefers-color-scheme:dark){\n" + dark.rules() + "}\n"
}
