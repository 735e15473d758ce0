package printout

import (
	"fmt"
	"strings"
	"unicode"
)

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
