package table

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
	"credence/record"
)

// Limits of the grid of a sheet.
const (
	maxSheetRows    = 1 << 20
	maxSheetColumns = 1 << 14
)

// sheetReader collects the cells of a sheet.
type sheetReader struct {
	b      *workbook
	t      *xlsx
	row    int        // number of the present row
	cells  []xlsxCell // of the row
	col    int        // of the cell
	kind   string     // of the cell, as in the file
	style  int
	value  richText
	merged [][4]int // first row and column, last row and column
}

// read reads the cells of a sheet.
func (b *workbook) read(sheet xlsxSheet, t *xlsx) error {
	if b.part(sheet.part) == nil {
		return fault.Malformed(b.file, "the workbook is damaged: %s is missing", sheet.part)
	}
	r := &sheetReader{b: b, t: t, col: -1}
	if err := b.scan(sheet.part, r.token); err != nil {
		return err
	}
	if len(t.rows) == 0 {
		msg := fmt.Sprintf("sheet %q is empty", sheet.name)
		others := slices.DeleteFunc(slices.Clone(b.sheets), func(s xlsxSheet) bool { return s.name == sheet.name })
		if len(others) > 0 {
			quoted := words.Each(others[:min(len(others), 5)], func(s xlsxSheet) string { return strconv.Quote(s.name) })
			msg += "; other sheets: " + strings.Join(quoted, ", ")
		}
		return &fault.Error{File: b.file, Msg: msg, Err: ErrNoSheet}
	}
	t.skipTitle()
	t.skipGroups()
	return r.merge()
}

// token handles a tag or text of the sheet.
func (r *sheetReader) token(x *xmlScanner) error {
	switch {
	case x.opens("row"):
		return r.beginRow(x)
	case x.closes("row"):
		return r.endRow(x)
	case x.opens("c"):
		return r.beginCell(x)
	case x.closes("c"):
		return r.endCell(x)
	case x.opens("mergeCell"):
		if area, ok := parseArea(x.attr("ref")); ok {
			r.merged = append(r.merged, area)
			return x.keep(64)
		}
	}
	return r.value.token(x)
}

func (r *sheetReader) beginRow(x *xmlScanner) error {
	number := r.row + 1
	if text := x.attr("r"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < number || n > maxSheetRows {
			return fault.Malformed(r.b.file, "%s: row %q after row %d", x.part, text, r.row)
		}
		number = n
	}
	if number > maxSheetRows {
		return fault.Malformed(r.b.file, "%s: more than %d rows", x.part, maxSheetRows)
	}
	r.row, r.cells, r.col = number, r.cells[:0], -1
	return nil
}

func (r *sheetReader) endRow(x *xmlScanner) error {
	if len(r.cells) == 0 {
		return nil
	}
	r.t.rows = append(r.t.rows, xlsxRow{r.row, slices.Clone(r.cells)})
	r.cells = r.cells[:0]
	return x.keep(96)
}

func (r *sheetReader) beginCell(x *xmlScanner) error {
	col := r.col + 1
	if ref := x.attr("r"); ref != "" {
		row, c, ok := parseRef(ref)
		if !ok || row != r.row || c < col {
			return fault.Malformed(r.b.file, "%s: cell %q in row %d, after column %s", x.part, ref, r.row, record.Letters(r.col+1))
		}
		col = c
	}
	if col >= maxSheetColumns {
		return fault.Malformed(r.b.file, "%s: more than %d columns", x.part, maxSheetColumns)
	}
	r.col, r.kind, r.style = col, x.attr("t"), 0
	if style := x.attr("s"); style != "" {
		r.style, _ = strconv.Atoi(style)
	}
	r.value.begin()
	return nil
}

// endCell appends a cell, unless it is empty.
func (r *sheetReader) endCell(x *xmlScanner) error {
	own := len(r.t.texts)
	c, err := r.cell()
	if err != nil {
		return &fault.Error{File: r.b.file, Sheet: r.t.sheet, Line: r.row, Column: r.col + 1, Msg: err.Error(), Err: fault.ErrFormat}
	}
	if c.kind == MissingCell || c.kind == TextCell && strings.TrimSpace(r.t.texts[c.text]) == "" {
		r.t.texts = r.t.texts[:own]
		return nil
	}
	c.col = uint16(r.col)
	r.cells = append(r.cells, c)
	size := cellCost
	if len(r.t.texts) > own {
		size += textCost + len(r.t.texts[own])
	}
	return x.keep(size)
}

// ownText returns a cell with a text that is not shared.
func (r *sheetReader) ownText(text string) (xlsxCell, error) {
	if len(r.t.texts) >= math.MaxUint32 {
		return xlsxCell{}, errors.New("too many texts")
	}
	r.t.texts = append(r.t.texts, text)
	return xlsxCell{text: uint32(len(r.t.texts) - 1)}, nil
}

// cell converts the value of the present cell.
func (r *sheetReader) cell() (xlsxCell, error) {
	text := r.value.end()
	if !utf8.ValidString(text) {
		return xlsxCell{}, fmt.Errorf("the text is not UTF-8")
	}
	switch r.kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || i < 0 || i >= len(r.b.texts) {
			return xlsxCell{}, fmt.Errorf("expected the number of a shared text below %[2]d, found %[1]q", text, len(r.b.texts))
		}
		return xlsxCell{text: uint32(i)}, nil
	case "d":
		return r.ownText(text)
	case "inlineStr", "str":
		return r.ownText(unescaped(text))
	case "b":
		return r.ownText(map[bool]string{true: "TRUE", false: "FALSE"}[isTrue(strings.TrimSpace(text))])
	case "e":
		if text = strings.TrimSpace(text); text != "#N/A" && text != "" {
			if r.t.bad++; r.t.bad == 1 {
				r.t.first, r.t.text = record.Letters(r.col+1)+strconv.Itoa(r.row), text
			}
		}
		return xlsxCell{kind: MissingCell}, nil
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return xlsxCell{kind: MissingCell}, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return xlsxCell{}, fmt.Errorf("expected a number, found %q", text)
	}
	if r.style >= 0 && r.style < len(r.b.styles) && r.b.styles[r.style] {
		if date, ok := dateText(v, r.b.from1904); ok {
			return r.ownText(date)
		}
	}
	return xlsxCell{kind: NumberCell, num: v}, nil
}

// parseRef parses the name of a cell, such as B17.
func parseRef(ref string) (row, col int, ok bool) {
	letters := strings.TrimRight(ref, "0123456789")
	row, err := strconv.Atoi(ref[len(letters):])
	if err != nil || row < 1 || row > maxSheetRows || letters == "" || len(letters) > 3 {
		return 0, 0, false
	}
	for _, c := range strings.ToUpper(letters) {
		if c < 'A' || c > 'Z' {
			return 0, 0, false
		}
		col = col*26 + int(c-'A') + 1
	}
	return row, col - 1, col <= maxSheetColumns
}

// parseArea parses an area, such as A1:B3.
func parseArea(ref string) (area [4]int, ok bool) {
	first, last, ok := strings.Cut(ref, ":")
	if !ok {
		return area, false
	}
	r0, c0, ok0 := parseRef(first)
	r1, c1, ok1 := parseRef(last)
	return [4]int{r0, c0, r1, c1}, ok0 && ok1 && r0 <= r1 && c0 <= c1
}

// skipTitle drops title rows above the header: up to five rows of a single cell, the first at the left, above
// a row of several texts.
func (t *xlsx) skipTitle() {
	left := maxSheetColumns
	for _, row := range t.rows {
		left = min(left, int(row.cells[0].col))
	}
	k := 0 // rows of a single cell
	for k < len(t.rows)-1 && len(t.rows[k].cells) == 1 {
		k++
	}
	head := t.rows[k].cells
	if len(t.rows) < 3 || k == 0 || k > 5 || int(t.rows[0].cells[0].col) != left ||
		len(head) < 2 || slices.ContainsFunc(head, func(c xlsxCell) bool { return c.kind != TextCell }) {
		return
	}
	t.title = t.cell(t.rows[0].cells[0]).Text
	t.rows = t.rows[k:]
}

// mergedArea is an area of merged cells that covers the present row: its last row, its columns, and its value.
type mergedArea struct {
	last, from, to int
	value          xlsxCell
}

// merge copies the value of merged cells below the header to all of them, so that for
// example a patient's name is in all of the patient's rows.
func (r *sheetReader) merge() error {
	slices.SortStableFunc(r.merged, func(a, b [4]int) int { return a[0] - b[0] })
	var active []mergedArea // by column
	next := 0
	for k := range r.t.rows {
		if err := r.b.ctx.Err(); err != nil {
			return err
		}
		row := &r.t.rows[k]
		active = slices.DeleteFunc(active, func(a mergedArea) bool { return a.last < row.number })
		for ; next < len(r.merged) && r.merged[next][0] <= row.number; next++ {
			a := r.merged[next]
			at, found := slices.BinarySearchFunc(row.cells, a[1], func(c xlsxCell, col int) int { return int(c.col) - col })
			if k > 0 && a[0] == row.number && found {
				active = append(active, mergedArea{a[2], a[1], a[3], row.cells[at]})
			}
		}
		if err := r.fill(row, active); err != nil {
			return err
		}
	}
	return nil
}

// fill sets the empty cells of a row that are covered by areas to the values of these.
func (r *sheetReader) fill(row *xlsxRow, active []mergedArea) error {
	if len(active) == 0 {
		return nil
	}
	slices.SortStableFunc(active, func(a, b mergedArea) int { return a.from - b.from })
	cells, filled, col := row.cells, r.cells[:0], 0
	for _, a := range active {
		if err := r.t.meter.Keep(int64(cellCost*(a.to-a.from+1)), func() string { return "merged cells" }); err != nil {
			return err
		}
		for col = max(col, a.from); col <= a.to; col++ {
			for len(cells) > 0 && int(cells[0].col) < col {
				filled, cells = append(filled, cells[0]), cells[1:]
			}
			if len(cells) == 0 || int(cells[0].col) > col {
				a.value.col = uint16(col)
				filled = append(filled, a.value)
			}
		}
	}
	r.cells = append(filled, cells...)
	row.cells = slices.Clone(r.cells)
	return nil
}

// header takes the column names from the first row.
func (t *xlsx) header(b *workbook) error {
	head := t.rows[0]
	used := map[int]bool{}
	for _, row := range t.rows {
		for _, c := range row.cells {
			used[int(c.col)] = true
		}
	}
	t.cols = slices.Sorted(maps.Keys(used))
	// Empty cells take no memory, but readers of the table iterate over them.
	if err := budget.Check(b.limit, 4*int64(len(t.rows))*int64(len(t.cols)), t.file, "sheet %q: %s of %s", t.sheet,
		words.Plural(len(t.rows), "row"), words.Plural(len(t.cols), "column")); err != nil {
		return err
	}
	seen := map[string]int{}
	k := 0 // cells of the header so far
	for i, col := range t.cols {
		name := "column " + record.Letters(col+1)
		blank := k == len(head.cells) || int(head.cells[k].col) != col
		t.traits.Blank = append(t.traits.Blank, blank)
		if !blank {
			cell := t.cell(head.cells[k])
			name = strings.Join(strings.Fields(cell.String()), " ")
			k++
		}
		if j, twice := seen[name]; twice {
			return &fault.Error{File: t.file, Sheet: t.sheet, Line: head.number, Column: col + 1,
				Msg: fmt.Sprintf("duplicate column %q: already column %s", name, record.Letters(t.cols[j]+1))}
		}
		seen[name] = i
		t.names = append(t.names, name)
	}
	if err := checkNames(t.file, head.number, t.names); err != nil {
		return err
	}
	t.rows = t.rows[1:]
	t.traits.RowNames = t.traits.Blank[0] && len(t.rows) > 0 && int(t.rows[0].cells[0].col) == t.cols[0]
	t.cells = missing(len(t.names))
	return nil
}

func (t *xlsx) cell(c xlsxCell) Cell {
	if c.kind == TextCell {
		return Cell{Text: t.texts[c.text]}
	}
	return Cell{Kind: c.kind, Num: c.num}
}

// Next returns the next row that is not empty.
func (t *xlsx) Next() ([]Cell, error) {
	if t.at == len(t.rows) {
		return nil, io.EOF
	}
	row := &t.rows[t.at]
	t.line = row.number
	t.at++
	k := 0
	for i, col := range t.cols {
		t.cells[i] = Cell{Kind: MissingCell}
		if k < len(row.cells) && int(row.cells[k].col) == col {
			t.cells[i] = t.cell(row.cells[k])
			k++
		}
	}
	return t.cells, nil
}

// Again returns a table that starts again at the first record, if the records are in memory.
func Again(t Table) (Table, bool) {
	x, ok := t.(*xlsx)
	if !ok {
		return nil, false
	}
	again := *x
	again.meter = &again.fresh
	again.src, again.at, again.line, again.cells = io.NopCloser(nil), 0, 0, missing(len(x.names))
	return &again, true
}
