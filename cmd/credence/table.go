package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// table prints cells in columns, as wide as their widest cell.
type table struct {
	rows [][]string
	// left says which columns are aligned on the left: text, not numbers.
	left map[int]bool
	bare bool // there is no header
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the rows, their columns two spaces apart.
func (t *table) print(w io.StringWriter) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var b strings.Builder
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(pad(cell, widths[i], t.left[i]))
		}
		w.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	}
}

// printMarkdown writes the rows as a table of Markdown, which always has a
// header.
func (t *table) printMarkdown(w io.StringWriter) {
	columns := 0
	for _, row := range t.rows {
		columns = max(columns, len(row))
	}
	line := func(cells []string) {
		for i := range columns {
			cell := ""
			if i < len(cells) {
				cell = strings.ReplaceAll(strings.TrimSpace(cells[i]), "|", `\|`)
			}
			w.WriteString("| " + cell + strings.Repeat(" ", min(1, len(cell))))
		}
		w.WriteString("|\n")
	}
	rows := t.rows
	if t.bare {
		line(nil)
	} else if len(rows) > 0 {
		line(rows[0])
		rows = rows[1:]
	}
	for i := range columns {
		rule := "| ---: "
		if t.left[i] {
			rule = "| --- "
		}
		w.WriteString(rule)
	}
	w.WriteString("|\n")
	for _, row := range rows {
		line(row)
	}
}

// pad fills s up with spaces, behind it if it is aligned on the left.
func pad(s string, width int, left bool) string {
	spaces := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if left {
		return s + spaces
	}
	return spaces + s
}
