package table

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"credence/internal/fault"
)

// The grid of a sheet.
const (
	maxSheetRows    = 1 << 20
	maxSheetColumns = 1 << 14
)

// sheetReader gathers the cells of a sheet.
type sheetReader struct {
	b      *workbook
	t      *xlsx
	row    xlsxRow
	col    int    // of the cell
	kind   string // of the cell, as the file says it
	style  int
	value  []byte // of the cell
	reads  bool   // in its value
	inline richText
	merged [][4]int // first row and column, last row and column
}

// read reads the cells of a sheet.
func (b *workbook) read(sheet xlsxSheet, t *xlsx) error {
	r := &sheetReader{b: b, t: t, col: -1}
	if err := b.scan(sheet.part, r.see); err != nil {
		return err
	}
	if len(t.rows) == 0 {
		var others []string
		for _, s := range b.sheets {
			if s.name != sheet.name {
				others = append(others, strconv.Quote(s.name))
			}
		}
		msg := fmt.Sprintf("sheet %q is empty", sheet.name)
		if len(others) > 0 {
			msg += "; there are also " + strings.Join(others[:min(len(others), 5)], ", ")
		}
		return &fault.Error{File: b.file, Msg: msg, Err: ErrNoSheet}
	}
	t.skipTitle()
	return r.merge()
}

func (r *sheetReader) see(x *xmlScanner) error {
	switch {
	case x.opens("row"):
		return r.beginRow(x)
	case x.closes("row"):
		return r.endRow(x)
	case x.opens("c"):
		return r.beginCell(x)
	case x.closes("c"):
		return r.endCell(x)
	case x.opens("v"):
		r.reads = true
	case x.closes("v"):
		r.reads = false
	case x.opens("is"):
		r.inline.begin()
	case x.closes("is"):
		r.value = append(r.value[:0], r.inline.end()...)
	case x.opens("mergeCell"):
		if area, ok := parseArea(x.attr("ref")); ok {
			r.merged = append(r.merged, area)
			return x.keep(64)
		}
	case r.reads:
		r.value = append(r.value, x.chars()...)
	default:
		r.inline.see(x)
	}
	return nil
}

func (r *sheetReader) beginRow(x *xmlScanner) error {
	number := r.row.number + 1
	if text := x.attr("r"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < number || n > maxSheetRows {
			return fault.Malformed(r.b.file, "%s: row %q after row %d", x.part, text, r.row.number)
		}
		number = n
	}
	if number > maxSheetRows {
		return fault.Malformed(r.b.file, "%s: more than %d rows", x.part, maxSheetRows)
	}
	r.row, r.col = xlsxRow{number: number}, -1
	return nil
}

func (r *sheetReader) endRow(x *xmlScanner) error {
	if len(r.row.cells) == 0 {
		return nil
	}
	r.row.cells = slices.Clone(r.row.cells)
	r.t.rows = append(r.t.rows, r.row)
	return x.keep(96)
}

func (r *sheetReader) beginCell(x *xmlScanner) error {
	col := r.col + 1
	if ref := x.attr("r"); ref != "" {
		row, c, ok := parseRef(ref)
		if !ok || row != r.row.number || c < col {
			return fault.Malformed(r.b.file, "%s: cell %q in row %d, after column %s", x.part, ref, r.row.number, fault.Letters(r.col+1))
		}
		col = c
	}
	if col >= maxSheetColumns {
		return fault.Malformed(r.b.file, "%s: more than %d columns", x.part, maxSheetColumns)
	}
	r.col, r.kind, r.value, r.reads = col, x.attr("t"), r.value[:0], false
	r.style, _ = strconv.Atoi(x.attr("s"))
	return nil
}

// endCell keeps a cell, unless it is empty.
func (r *sheetReader) endCell(x *xmlScanner) error {
	c, err := r.cell()
	if err != nil {
		return &fault.Error{File: r.b.file, Sheet: r.t.sheet, Line: r.row.number, Column: r.col + 1, Msg: err.Error(), Err: fault.ErrFormat}
	}
	if c.kind == MissingCell || c.kind == TextCell && strings.TrimSpace(c.text) == "" {
		return nil
	}
	c.col = r.col
	r.row.cells = append(r.row.cells, c)
	size := 64
	if r.kind != "s" {
		size += len(c.text)
	}
	return x.keep(size)
}

// cell returns the value of the cell that was read.
func (r *sheetReader) cell() (xlsxCell, error) {
	text := string(r.value)
	if !utf8.ValidString(text) {
		return xlsxCell{}, fmt.Errorf("the text is not UTF-8")
	}
	switch r.kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || i < 0 || i >= len(r.b.texts) {
			return xlsxCell{}, fmt.Errorf("text number %q of %d that cells share", text, len(r.b.texts))
		}
		return xlsxCell{text: r.b.texts[i]}, nil
	case "inlineStr", "d":
		return xlsxCell{text: text}, nil
	case "str":
		return xlsxCell{text: unescaped(text)}, nil
	case "b":
		return xlsxCell{text: map[bool]string{true: "TRUE", false: "FALSE"}[isTrue(strings.TrimSpace(text))]}, nil
	case "e":
		if text = strings.TrimSpace(text); text != "#N/A" && text != "" {
			if r.t.bad++; r.t.bad == 1 {
				r.t.first, r.t.text = fault.Letters(r.col+1)+strconv.Itoa(r.row.number), text
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
		return xlsxCell{}, fmt.Errorf("%q is not a number", text)
	}
	if r.style >= 0 && r.style < len(r.b.styles) && r.b.styles[r.style] {
		if date, ok := dateText(v, r.b.from1904); ok {
			return xlsxCell{text: date}, nil
		}
	}
	return xlsxCell{kind: NumberCell, num: v}, nil
}

// parseRef reads the name of a cell, such as B17.
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

// parseArea reads the names of the first and last cell of an area, such as A1:B3.
func parseArea(ref string) (area [4]int, ok bool) {
	first, last, ok := strings.Cut(ref, ":")
	if !ok {
		return area, false
	}
	r0, c0, ok0 := parseRef(first)
	r1, c1, ok1 := parseRef(last)
	return [4]int{r0, c0, r1, c1}, ok0 && ok1 && r0 <= r1 && c0 <= c1
}

// skipTitle drops rows above the header: a single cell at the left, above a row of several
// texts.
func (t *xlsx) skipTitle() {
	left := maxSheetColumns
	for _, row := range t.rows {
		left = min(left, row.cells[0].col)
	}
	isText := func(c xlsxCell) bool { return c.kind == TextCell }
	for len(t.rows) > 2 && len(t.rows[0].cells) == 1 && t.rows[0].cells[0].col == left &&
		(len(t.rows[1].cells) == 1 || !slices.ContainsFunc(t.rows[1].cells, func(c xlsxCell) bool { return !isText(c) })) {
		// Several such rows in turn are a title only above a header.
		k := 1
		for k < len(t.rows)-1 && len(t.rows[k].cells) == 1 {
			k++
		}
		if k > 5 || len(t.rows[k].cells) < 2 || slices.ContainsFunc(t.rows[k].cells, func(c xlsxCell) bool { return !isText(c) }) {
			return
		}
		t.title = t.rows[0].cells[0].text
		t.rows = t.rows[k:]
	}
}

// merge puts the value of merged cells below the header into all of them: a patient's name
// stands beside all of the patient's rows.
func (r *sheetReader) merge() error {
	t := r.t
	for _, a := range r.merged {
		from, _ := slices.BinarySearchFunc(t.rows, a[0], func(row xlsxRow, n int) int { return row.number - n })
		if from == 0 || from == len(t.rows) || t.rows[from].number != a[0] {
			continue
		}
		at := slices.IndexFunc(t.rows[from].cells, func(c xlsxCell) bool { return c.col == a[1] })
		if at < 0 {
			continue
		}
		value := t.rows[from].cells[at]
		for k := from; k < len(t.rows) && t.rows[k].number <= a[2]; k++ {
			if err := r.b.ctx.Err(); err != nil {
				return err
			}
			if err := t.fillArea(k, a[1], a[3], value); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillArea gives a value to the empty cells of a row from one column to another.
func (t *xlsx) fillArea(row, from, to int, value xlsxCell) error {
	cells := t.rows[row].cells
	for col := from; col <= to; col++ {
		at, found := slices.BinarySearchFunc(cells, col, func(c xlsxCell, col int) int { return c.col - col })
		if found {
			continue
		}
		value.col = col
		cells = slices.Insert(cells, at, value)
		if err := t.meter.Keep(64, "merged cells"); err != nil {
			return err
		}
	}
	t.rows[row].cells = cells
	return nil
}

// header names the columns by the first row.
func (t *xlsx) header(b *workbook) error {
	head := t.rows[0]
	used := map[int]bool{}
	for _, row := range t.rows {
		for _, c := range row.cells {
			used[c.col] = true
		}
	}
	for col := range used {
		t.cols = append(t.cols, col)
	}
	slices.Sort(t.cols)
	names := map[int]string{}
	for _, c := range head.cells {
		cell := c.cell()
		names[c.col] = strings.Join(strings.Fields(cell.String()), " ")
	}
	seen := map[string]int{}
	for i, col := range t.cols {
		name, ok := names[col]
		t.blank = append(t.blank, !ok)
		if !ok {
			name = "column " + fault.Letters(col+1)
		}
		if j, twice := seen[name]; twice {
			return &fault.Error{File: t.file, Sheet: t.sheet, Line: head.number, Column: col + 1,
				Msg: fmt.Sprintf("column %q is there already, in column %s", name, fault.Letters(t.cols[j]+1))}
		}
		seen[name] = i
		t.names = append(t.names, name)
	}
	t.rows = t.rows[1:]
	t.named = t.blank[0] && len(t.rows) > 0 && t.rows[0].cells[0].col == t.cols[0]
	t.cells = make([]Cell, len(t.names))
	return nil
}

func (c *xlsxCell) cell() Cell { return Cell{Kind: c.kind, Text: c.text, Num: c.num} }

// Next returns the next row that is not empty.
func (t *xlsx) Next() ([]Cell, error) {
	if t.at == len(t.rows) {
		return nil, io.EOF
	}
	row := &t.rows[t.at]
	t.at++
	k := 0
	for i, col := range t.cols {
		t.cells[i] = Cell{Kind: MissingCell}
		if k < len(row.cells) && row.cells[k].col == col {
			t.cells[i] = row.cells[k].cell()
			k++
		}
	}
	return t.cells, nil
}
