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

// Page is a report under construction: text for a terminal, or Markdown.
type Page struct {
	bytes.Buffer
	Markdown bool
	Width    int // line width of text
}

// Sections writes the sections, separated by empty lines. A section that writes nothing is omitted.
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

// Heading writes the heading of a section.
func (p *Page) Heading(format string, args ...any) {
	text := p.foreign(fmt.Sprintf(format, args...))
	if p.Markdown {
		text = "## " + text + "\n"
	}
	p.WriteString(text + "\n")
}

// Paragraph writes text after a lead. Further lines are indented by the width of the lead.
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

// NewTable writes a heading and returns a table to fill and write below it; left is as in the function [NewTable].
func (p *Page) NewTable(heading string, left ...int) *Table {
	p.Heading("%s", heading)
	return NewTable(left...)
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

// Bullets writes warnings as a list, below a heading.
func (p *Page) Bullets(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	p.Heading("Warnings")
	for _, text := range warnings {
		p.Paragraph("  - ", text)
	}
}

// Table is a table whose columns are as wide as their widest cell. The first row
// is the header.
type Table struct {
	Rows [][]string

	left []int // columns aligned on the left: text, not numbers
	bare bool  // there is no header
}

// NewTable returns a table. The given columns, counted from 0, are aligned on the
// left, the others on the right.
func NewTable(left ...int) *Table { return &Table{left: left} }

// Bare marks the table as one without a header, and returns it.
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

// printMarkdown writes the rows as a Markdown table, which always has a header,
// if need be an empty one.
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

// Pad pads s with spaces to a width: on the right if it is aligned on the left.
func Pad(s string, width int, left bool) string {
	spaces := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if left {
		return s + spaces
	}
	return spaces + s
}

// Wrap writes text in lines of at most width characters. The first line begins
// with lead; the others are indented by its width.
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

// Share formats a probability with four decimals; values that would round to 0 or 1 become <0.0001 or >0.9999.
func Share(x float64) string {
	switch {
	case x > 0 && x < 0.00005:
		return "<0.0001"
	case x < 1 && x >= 0.99995:
		return ">0.9999"
	}
	return strconv.FormatFloat(x, 'f', 4, 64)
}

// Percent formats a level: 95%, 99.9%.
func Percent(level float64) string {
	return strconv.FormatFloat(100*level, 'g', 10, 64) + "%"
}

// Ellipsis truncates s to at most n ≥ 8 characters.
func Ellipsis(s string, n int) string {
	runes := []rune(s)
	n = max(n, 8)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}

// Ids, classes and column names come from files that may not be trustworthy. Terminal
// control sequences are escaped, and so is HTML in Markdown.

// Plain escapes control characters and bidirectional controls, as \x1b or \u202e.
// Line breaks and tabs are kept.
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

// markdown escapes what Markdown would interpret as HTML or as a link.
var markdown = strings.NewReplacer("<", "&lt;", "](", `]\(`)

// line is Plain that also escapes line breaks and tabs.
func line(s string) string { return breaks.Replace(Plain(s)) }

var breaks = strings.NewReplacer("\n", `\x0a`, "\t", `\x09`)

// foreign escapes untrusted text for the page.
func (p *Page) foreign(s string) string {
	if s = Plain(s); p.Markdown {
		s = markdown.Replace(s)
	}
	return s
}
