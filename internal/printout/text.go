package printout

import (
	"io"
	"strconv"
	"strings"
)

// Wrap writes text in lines of at most width characters, the first after
// lead and the others indented as far.
func Wrap(w io.StringWriter, lead, text string, width int) {
	indent := strings.Repeat(" ", len([]rune(lead)))
	line := lead
	room := width - len(indent)
	used := 0
	for word := range strings.FieldsSeq(text) {
		n := len([]rune(word))
		if used > 0 && used+1+n > room {
			w.WriteString(line + "\n")
			line, used = indent, 0
		}
		if used > 0 {
			line += " "
			used++
		}
		line += word
		used += n
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
