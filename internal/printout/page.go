// Package printout writes reports for people: text for a terminal, or Markdown.
package printout

import (
	"bytes"
	"fmt"
	"strings"
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
