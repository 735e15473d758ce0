package printout

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
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

// Ids, classes and names of columns come from files, perhaps somebody else's. What
// steers a terminal is shown instead of obeyed, and Markdown has no HTML in it.

// Plain shows control characters and those that turn the direction of writing as
// \x1b or \u202e. Line breaks and tabs stay.
func Plain(s string) string {
	steers := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
	}
	if strings.IndexFunc(s, steers) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !steers(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// markdown escapes what Markdown would pass on as HTML or as a link.
var markdown = strings.NewReplacer("<", "&lt;", "](", `]\(`)

// line is Plain without line breaks and tabs.
func line(s string) string { return breaks.Replace(Plain(s)) }

var breaks = strings.NewReplacer("\n", `\x0a`, "\t", `\x09`)

// foreign makes text fit for the page.
func (p *Page) foreign(s string) string {
	if s = Plain(s); p.Markdown {
		s = markdown.Replace(s)
	}
	return s
}
