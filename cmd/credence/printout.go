package main

import (
	"bytes"
	"fmt"
	"strings"
)

// printout is a report for people: text for a terminal, or Markdown.
type printout struct {
	bytes.Buffer
	markdown bool
	width    int // of the text
}

// sections writes each section, with an empty line between them.
func (p *printout) sections(list ...func(*printout)) {
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

// heading begins a section.
func (p *printout) heading(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.markdown {
		text = "## " + text + "\n"
	}
	p.WriteString(text + "\n")
}

// paragraph writes text after a lead that the other lines are indented by.
func (p *printout) paragraph(lead, text string) {
	if !p.markdown {
		wrapped(p, lead, text, p.width)
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

// table writes a table whose first row is its header, unless it is bare.
func (p *printout) table(t *table) {
	if !p.markdown {
		t.print(p)
		return
	}
	t.printMarkdown(p)
}

// note writes a line below a table.
func (p *printout) note(format string, args ...any) {
	lead := "  "
	if p.markdown {
		lead = "\n"
	}
	fmt.Fprintf(p, lead+format+"\n", args...)
}

// bullets writes warnings, each beginning with a dash.
func (p *printout) bullets(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	p.heading("Warnings")
	for _, text := range warnings {
		p.paragraph("  - ", text)
	}
}
