// Package printout writes reports for people: text for a terminal, or Markdown.
package printout

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"credence/internal/words"
)

// Page is a report: text for a terminal, or Markdown.
type Page struct {
	bytes.Buffer
	Markdown bool
	Width    int // of the text
}

// Sections writes each section, with an empty line between them.
func (p *Page) Sections(list ...func(*Page)) {
	for _, section := range list {
		from := p.Len()
		section(p)
		if p.Len() > from {
			p.Truncate(len(bytes.TrimRight(p.Bytes(), "\n")))
			p.WriteString("\n\n")
		}
	}
	p.Truncate(max(0, p.Len()-1))
}

// Heading begins a section.
func (p *Page) Heading(format string, args ...any) {
	text := p.foreign(fmt.Sprintf(format, args...))
	if p.Markdown {
		text = "## " + text + "\n"
	}
	p.WriteString(text + "\n")
}

// Paragraph writes text after a lead that the other lines are indented by.
func (p *Page) Paragraph(lead, text string) {
	lead, text = p.foreign(lead), p.foreign(text)
	if !p.Markdown {
		Wrap(p, lead, text, p.Width)
		return
	}
	if lead = strings.TrimSpace(lead); lead != "" && lead != "-" {
		lead = "**" + lead + "**"
	}
	p.WriteString(strings.TrimSpace(lead+" "+text) + "\n")
	if !strings.HasPrefix(lead, "-") {
		p.WriteByte('\n')
	}
}

// Table writes a table.
func (p *Page) Table(t *Table) {
	if !p.Markdown {
		t.Print(p)
		return
	}
	t.printMarkdown(p)
}

// Note writes a line below a table.
func (p *Page) Note(format string, args ...any) {
	lead := "  "
	if p.Markdown {
		lead = "\n"
	}
	p.WriteString(lead + p.foreign(fmt.Sprintf(format, args...)) + "\n")
}

// Bullets writes warnings, each beginning with a dash.
func (p *Page) Bullets(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	p.Heading("Warnings")
	for _, text := range warnings {
		p.Paragraph("  - ", text)
	}
}

// Table is cells in columns, as wide as their widest cell. Its first row is its
// header.
type Table struct {
	Rows [][]string

	left []int // columns aligned on the left: text, not numbers
	bare bool  // there is no header
}

// NewTable returns a table whose columns of the given numbers are aligned on the
// left.
func NewTable(left ...int) *Table { return &Table{left: left} }

// Bare says that there is no header.
func (t *Table) Bare() *Table {
	t.bare = true
	return t
}

// Left aligns further columns on the left.
func (t *Table) Left(columns ...int) { t.left = append(t.left, columns...) }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, words.Each(cells, line)) }

// Print writes the rows, their columns two spaces apart.
func (t *Table) Print(w io.StringWriter) {
	var widths []int
	for _, row := range t.Rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.Rows {
		var b strings.Builder
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(Pad(cell, widths[i], slices.Contains(t.left, i)))
		}
		w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}

// printMarkdown writes the rows as a table of Markdown, which always has a
// header.
func (t *Table) printMarkdown(w io.StringWriter) {
	columns := 0
	for _, row := range t.Rows {
		columns = max(columns, len(row))
	}
	write := func(cells []string) {
		for i := range columns {
			cell := ""
			if i < len(cells) {
				cell = markdown.Replace(strings.ReplaceAll(strings.TrimSpace(cells[i]), "|", `\|`))
			}
			w.WriteString("| " + cell + strings.Repeat(" ", min(1, len(cell))))
		}
		w.WriteString("|\n")
	}
	rows := t.Rows
	if t.bare {
		write(nil)
	} else if len(rows) > 0 {
		write(rows[0])
		rows = rows[1:]
	}
	for i := range columns {
		rule := "| ---: "
		if slices.Contains(t.left, i) {
			rule = "| --- "
		}
		w.WriteString(rule)
	}
	w.WriteString("|\n")
	for _, row := range rows {
		write(row)
	}
}

// Pad fills s up with spaces, behind it if it is aligned on the left.
func Pad(s string, width int, left bool) string {
	spaces := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if left {
		return s + spaces
	}
	return spaces + s
}

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
