package plot

import (
	"strings"
	"unicode"
)

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

// textWidth estimates how wide s is in pixels at a font size, on the safe side.
func textWidth(s string, size float64) float64 {
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

// fit returns s on one line, shortened with an ellipsis to at most the width.
func fit(s string, size, width float64) string {
	s = strings.Join(strings.Fields(s), " ")
	if textWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for n := len(runes) - 1; n > 0; n-- {
		if short := strings.TrimRight(string(runes[:n]), " ") + "…"; textWidth(short, size) <= width {
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
		if line != "" && textWidth(longer, size) > width {
			lines = append(lines, fit(line, size, width))
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, fit(line, size, width))
	}
	return lines
}
