package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"credence/internal/fault"
	"credence/internal/words"
	"credence/record"
)

// Tables of people have more above their records than one row of names: a title, groups of columns, a cover sheet; or
// less, no header at all. This file recognizes such headers.

// checkNames returns an error if the names of the columns look like a record: one with a digit first, and
// decimal numbers for half of the columns or more.
func checkNames(file string, line int, names []string) error {
	if n := decimals(names); n == 0 || 2*n < len(names)-1 || !strings.ContainsAny(names[0], "0123456789") {
		return nil
	}
	return &fault.Error{File: file, Line: line, Msg: fmt.Sprintf("expected the names of the columns in the first line, found values [%s]: add a line of names above it", words.Few(names))}
}

// decimals returns the number of names that are decimal numbers.
func decimals(names []string) (n int) {
	for _, name := range names {
		if _, ok := record.ParseNumber(name, false); ok && strings.Contains(name, ".") {
			n++
		}
	}
	return n
}

// groupsAbove reports whether a row of names is above the header: at least half of its cells are blank, while the next row
// has a different text in every column.
func groupsAbove(names, next []string) bool {
	named := 0
	for _, name := range names {
		if strings.TrimSpace(name) != "" {
			named++
		}
	}
	if len(names) < 3 || named == 0 || 2*named > len(names) || len(next) != len(names) {
		return false
	}
	seen := map[string]bool{}
	for _, name := range next {
		name = strings.TrimSpace(name)
		if _, number := record.ParseNumber(name, false); name == "" || number || seen[name] || len(name) > 100 {
			return false
		}
		seen[name] = true
	}
	return true
}

// Notes returns a warning about a line above the header.
func (t *csvTable) Notes() []error {
	if t.title == "" {
		return nil
	}
	return []error{fmt.Errorf("%s: %q above the header is treated as a title", t.file, t.title)}
}

// setNames sets the names of the columns; those without one are numbered.
func (t *csvTable) setNames(rec []string) error {
	t.names, t.traits.Blank = nil, nil
	for i, name := range rec {
		name = strings.TrimSpace(name)
		t.traits.Blank = append(t.traits.Blank, name == "")
		if name == "" {
			name = "column " + strconv.Itoa(i+1)
		}
		if !utf8.ValidString(name) {
			return t.ErrorAt(i, "the text is not UTF-8: %s", saveUTF8)
		}
		t.names = append(t.names, strings.Clone(name))
	}
	return nil
}

// nonBlank returns the names that are not blank.
func nonBlank(names []string) []string {
	return slices.DeleteFunc(words.Each(names, strings.TrimSpace), func(s string) bool { return s == "" })
}

// skipGroups drops a row above the header that names groups of columns, in at most half of the columns of the header.
func (t *xlsx) skipGroups() {
	if len(t.rows) < 3 || t.title != "" {
		return
	}
	first, head := t.rows[0].cells, t.rows[1].cells
	text := func(c xlsxCell) bool { return c.kind == TextCell }
	all := func(cells []xlsxCell) bool {
		return !slices.ContainsFunc(cells, func(c xlsxCell) bool { return !text(c) })
	}
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row.cells))
	}
	if len(head) < 3 || len(head) < width || 2*len(first) > len(head) || !all(first) || !all(head) || all(t.rows[2].cells) {
		return
	}
	t.title = strings.Join(words.Each(first, func(c xlsxCell) string { cell := t.cell(c); return cell.String() }), ", ")
	t.rows = t.rows[1:]
}

// isCover reports whether a sheet looks like a page of text: few rows, of one or two cells, without ids.
func (t *xlsx) isCover() bool {
	const fewRows = 30
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row.cells))
	}
	if width > 2 || len(t.rows) > fewRows {
		return false
	}
	first := t.cell(t.rows[0].cells[0])
	return width == 1 || !(NamesIDs(first.String()) || slices.Contains([]string{"item", "case", "sample", "image", "label", "text"}, Plain(first.String())))
}

// skipCover reads the first visible sheet that has three columns or more and more rows, if t is a cover sheet. It
// returns t itself if there is none.
func (b *workbook) skipCover(t *xlsx) (*xlsx, error) {
	if len(b.sheets) < 2 || !t.isCover() {
		return t, nil
	}
	for _, sheet := range b.sheets {
		if sheet.hidden || sheet.name == t.sheet {
			continue
		}
		other := &xlsx{base: base{file: t.file, meter: t.meter}, sheet: sheet.name, texts: t.texts}
		if err := b.read(sheet, other); err != nil {
			continue // an empty sheet, or a damaged one that was not asked for
		}
		wide := slices.ContainsFunc(other.rows, func(row xlsxRow) bool { return len(row.cells) > 2 })
		if wide && len(other.rows) > len(t.rows) {
			other.cover = t.sheet
			return other, nil
		}
	}
	return t, nil
}

// sheetNames returns the quoted names of the sheets.
func (b *workbook) sheetNames() []string {
	return words.Each(b.sheets, func(s xlsxSheet) string { return fmt.Sprintf("%q", s.name) })
}
