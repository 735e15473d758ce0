package plot

import (
	"fmt"
	"strings"
	"unicode"
)

// Sizes that layouts and the style sheet share, in pixels.
const (
	FigureWidth = 760.0
	Margin      = 16.0 // between the edge of the card and anything on it

	titleSize = 15.0
	TextSize  = 12.0 // legend and labels of axes
	TickSize  = 11.0
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

// Series returns the class of the i-th of the things compared in a figure. After
// the last color they begin again with dashed lines.
func Series(i int) string {
	n := len(light.series)
	class := fmt.Sprintf("s%d", i%n)
	if i/n%2 == 1 {
		class += " dashed"
	}
	return class
}

// Rules returns the part of the style sheet that depends on the theme.
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
`, TextSize, titleSize, TickSize) + light.rules() +
		"@media (prefers-color-scheme:dark){\n" + dark.rules() + "}\n"
}

// helvetica holds the widths of the printable ASCII characters, from space to
// tilde, in thousandths of the font size: Adobe's metrics of Helvetica, which
// Arial and Liberation Sans share.
var helvetica = [...]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
}

// wider is by how much the text of the widest usual sans-serif fonts (Verdana,
// DejaVu Sans), and that of bold Helvetica, may exceed that of Helvetica.
const wider = 1.15

// TextWidth estimates how wide s is in pixels at a font size, on the safe side.
func TextWidth(s string, size float64) float64 {
	total := 0
	for _, r := range s {
		switch {
		case r >= ' ' && r <= '~':
			total += helvetica[r-' ']
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r >= 0x1F000:
			total += 1000
		default:
			total += 667
		}
	}
	return wider * size * float64(total) / 1000
}

// Fit returns s on one line, shortened with an ellipsis to at most the width.
func Fit(s string, size, width float64) string {
	s = strings.Join(strings.Fields(s), " ")
	if TextWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for n := len(runes) - 1; n > 0; n-- {
		if short := strings.TrimRight(string(runes[:n]), " ") + "…"; TextWidth(short, size) <= width {
			return short
		}
	}
	return "…"
}

// wrap breaks s between words into lines of at most the width.
func wrap(s string, size, width float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && TextWidth(longer, size) > width {
			lines = append(lines, Fit(line, size, width))
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, Fit(line, size, width))
	}
	return lines
}
