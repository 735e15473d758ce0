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

// pad fills s up with spaces, behind it if it is aligned on the left.
func pad(s string, width int, left bool) string {
	spaces := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if left {
		return s + spaces
	}
	return spaces + s
}
