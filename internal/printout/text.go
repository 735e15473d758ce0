package printout

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Wrap writes text in lines of at most width characters, the first after
// lead and the others indented as far.
func Wrap(w io.StringWriter, lead, text string, width int) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(lead))
	line, separator := lead, ""
	for word := range strings.FieldsSeq(text) {
		if separator != "" && utf8.RuneCountInString(line+separator+word) > width {
			w.WriteString(line + "\n")
			line, separator = indent, ""
		}
		line += separator + word
		separator = " "
	}
	w.WriteString(line + "\n")
}

// Share writes a probability of which only the first digits matter.
func Share(x float64) string {
	switch {
	case x > 0 && x < 0.00005:
		return "<0.0001"
	case x < 1 && x >= 0.99995:
		return ">0.9999"
	}
	return strconv.FormatFloat(x, 'f', 4, 64)
}

// Percent writes a level: 95%, 99.9%.
func Percent(level float64) string {
	return strconv.FormatFloat(100*level, 'g', 10, 64) + "%"
}

// Ellipsis cuts s to at most n ≥ 8 characters.
func Ellipsis(s string, n int) string {
	runes := []rune(s)
	n = max(n, 8)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}
