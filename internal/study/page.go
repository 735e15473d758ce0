package study

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// page is the text of a study in Markdown, which reads as it is and is shown
// with its figures where a repository is browsed.
type page struct{ text bytes.Buffer }

func (p *page) heading(level int, s string) {
	fmt.Fprintf(&p.text, "%s %s\n\n", strings.Repeat("#", level), s)
}

// paragraph writes a paragraph; line breaks in s are of no meaning.
func (p *page) paragraph(format string, args ...any) {
	fmt.Fprintf(&p.text, "%s\n\n", strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// list writes the items of a list.
func (p *page) list(items ...string) {
	for _, s := range items {
		fmt.Fprintf(&p.text, "- %s\n", strings.Join(strings.Fields(s), " "))
	}
	p.text.WriteByte('\n')
}

// command shows how the page was made.
func (p *page) command(line string) { fmt.Fprintf(&p.text, "```sh\n%s\n```\n\n", line) }

// table writes rows of cells, of which the first names the columns. All columns
// but the first are set to the right.
func (p *page) table(rows [][]string) {
	for i, row := range rows {
		cells := make([]string, len(row))
		for k, cell := range row {
			cells[k] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&p.text, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			p.text.WriteString("| --- |" + strings.Repeat(" ---: |", len(row)-1) + "\n")
		}
	}
	p.text.WriteByte('\n')
}

// figure shows a picture of the folder with its caption.
func (p *page) figure(file, caption string) {
	caption = strings.Join(strings.Fields(caption), " ")
	fmt.Fprintf(&p.text, "![%s](%s)\n\n*%s*\n\n", strings.NewReplacer("[", "(", "]", ")").Replace(caption), file, caption)
}

// write makes the page the file of the given name.
func (p *page) write(f *Folder, name string) error {
	text := append(bytes.TrimRight(p.text.Bytes(), "\n"), '\n')
	return f.Write(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
