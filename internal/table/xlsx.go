package table

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
	"credence/record"
)

// A workbook (ECMA-376) is a ZIP archive of XML files: xl/workbook.xml lists the sheets, texts
// shared by cells are in xl/sharedStrings.xml, and the number formats in xl/styles.xml determine
// whether a number is a date. The value of a formula is the one that the program saved with
// it.
//
// A sheet is read entirely, since its end contains the merged cells, and since the used columns
// are only known then. Sizes are measured while unpacking: sizes stated in the archive are not
// trusted.

// xlsx is a sheet of a workbook as a table.
type xlsx struct {
	base
	sheet  string
	cols   []int // column of the sheet, from 0, for each column of the table
	rows   []xlsxRow
	texts  []string     // of cells
	first  string       // first cell with an error other than #N/A
	text   string       // that error
	bad    int          // number of cells with such errors
	title  string       // text above the header
	cover  string       // a sheet before this one that was skipped
	sheets []string     // names of all sheets, quoted
	at     int          // rows returned so far
	fresh  budget.Meter // the meter before the first record
}

// xlsxRow is a row of a sheet with its nonempty cells, sorted by column.
type xlsxRow struct {
	number int // from 1
	cells  []xlsxCell
}

// xlsxCell is a cell. It is small because a sheet may have millions.
type xlsxCell struct {
	num  float64
	text uint32 // index of its text
	col  uint16 // from 0
	kind record.CellKind
}

// cellCost is the memory of a cell, including unused capacity.
const cellCost = 24

// textCost is the memory of a text in addition to its bytes: its string header, including unused capacity.
const textCost = 48

// isWorkbook reports whether a file begins like a ZIP archive.
func isWorkbook(head []byte) bool { return bytes.HasPrefix(head, []byte("PK")) }

// openXLSX opens a sheet of a workbook, selected by opts.
func openXLSX(ctx context.Context, in input, opts Options) (Table, error) {
	src, size, err := in.open()
	if err != nil {
		return nil, err
	}
	t, err := newXLSX(ctx, in.name, src, size, opts)
	if err != nil {
		src.Close()
		return nil, err
	}
	t.src = src
	return t, nil
}

func newXLSX(ctx context.Context, file string, src io.ReaderAt, size int64, opts Options) (*xlsx, error) {
	head := make([]byte, 8)
	n, _ := src.ReadAt(head, 0)
	head = head[:n]
	switch {
	case n == 0:
		return nil, &fault.Error{File: file, Msg: "the file is empty"}
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return nil, fault.Malformed(file, "the workbook is password-protected or in the old .xls format: save it as .xlsx without a password")
	case !isWorkbook(head):
		return nil, fault.Malformed(file, "expected a workbook as Excel saves it (.xlsx), found another format")
	}
	archive, err := zip.NewReader(src, size)
	if err != nil {
		return nil, fault.Malformed(file, "the workbook is damaged or truncated: %v", err)
	}
	b := &workbook{ctx: ctx, file: file, archive: archive, limit: budget.Of(opts.Memory)}
	b.meter = &budget.Meter{File: file, Limit: b.limit, Read: func() int64 { return size }}
	if err := b.open(); err != nil {
		return nil, err
	}
	sheet, err := b.choose(opts.Sheet, opts.SheetOptional)
	if err != nil {
		return nil, err
	}
	t := &xlsx{base: base{file: file, meter: b.meter}, sheet: sheet.name, texts: b.texts}
	t.kept = rowsKept
	if err := b.read(sheet, t); err != nil {
		return nil, err
	}
	if opts.Sheet == "" || opts.SheetOptional && sheet.name != opts.Sheet {
		if t, err = b.skipCover(t); err != nil {
			return nil, err
		}
		t.kept = rowsKept
	}
	t.sheets = b.sheetNames()
	t.fresh = *t.meter
	return t, t.header(b)
}

// workbook holds the data shared by the sheets of a workbook.
type workbook struct {
	ctx     context.Context
	file    string
	archive *zip.Reader
	limit   int64
	meter   *budget.Meter

	sheets   []xlsxSheet
	from1904 bool     // dates are days since 1904
	texts    []string // shared by cells
	styles   []bool   // whether a style displays numbers as dates or times
}

type xlsxSheet struct {
	name   string
	part   string // file in the archive
	hidden bool
}

// part returns a file of the archive, or nil. Case is ignored because programs differ in it.
func (b *workbook) part(name string) *zip.File {
	name = strings.TrimPrefix(name, "/")
	for _, f := range b.archive.File {
		if strings.EqualFold(strings.ReplaceAll(f.Name, "\\", "/"), name) {
			return f
		}
	}
	return nil
}

// open reads the data shared by the sheets.
func (b *workbook) open() error {
	book := "xl/workbook.xml"
	links, err := b.links("_rels/.rels")
	if err != nil {
		return err
	}
	for _, l := range links {
		if strings.HasSuffix(l.kind, "/officeDocument") {
			book = resolved("", l.target)
		}
	}
	if b.part(book) == nil {
		if strings.HasSuffix(book, ".bin") {
			return fault.Malformed(b.file, "the workbook is binary (.xlsb): save it as .xlsx")
		}
		return fault.Malformed(b.file, "expected a workbook as Excel saves it (.xlsx), found another archive")
	}
	dir, base := path.Split(book)
	if links, err = b.links(dir + "_rels/" + base + ".rels"); err != nil {
		return err
	}
	target := map[string]string{}
	for _, l := range links {
		switch {
		case strings.HasSuffix(l.kind, "/worksheet"):
			target[l.id] = resolved(dir, l.target)
		case strings.HasSuffix(l.kind, "/sharedStrings"):
			err = b.shared(resolved(dir, l.target))
		case strings.HasSuffix(l.kind, "/styles"):
			err = b.readStyles(resolved(dir, l.target))
		}
		if err != nil {
			return err
		}
	}
	return b.list(book, target)
}

// resolved returns the name of the part that a link in dir refers to.
func resolved(dir, target string) string {
	if strings.HasPrefix(target, "/") {
		return strings.TrimPrefix(path.Clean(target), "/")
	}
	return path.Join(dir, target)
}

// xlsxLink is a link from one part to another.
type xlsxLink struct{ id, kind, target string }

// links reads a file of links. There are none if the file does not exist.
func (b *workbook) links(name string) ([]xlsxLink, error) {
	var list []xlsxLink
	err := b.scan(name, func(x *xmlScanner) error {
		if x.opens("Relationship") {
			list = append(list, xlsxLink{x.attr("Id"), x.attr("Type"), x.attr("Target")})
			return x.keep(256)
		}
		return nil
	})
	return list, err
}

// list reads the names of the sheets, in order. Charts are left out, as they have no cells.
func (b *workbook) list(book string, target map[string]string) error {
	return b.scan(book, func(x *xmlScanner) error {
		switch {
		case x.opens("workbookPr"):
			b.from1904 = isTrue(x.attr("date1904"))
		case x.opens("sheet"):
			if part := target[x.attr("id")]; part != "" {
				state := x.attr("state")
				b.sheets = append(b.sheets, xlsxSheet{x.attr("name"), part, state == "hidden" || state == "veryHidden"})
				return x.keep(256)
			}
		}
		return nil
	})
}

func isTrue(text string) bool { return text == "1" || strings.EqualFold(text, "true") || text == "on" }

// choose returns the sheet with the given name or number, from 1. "" is the first that is
// not hidden, and so is an optional name that no sheet has.
func (b *workbook) choose(name string, optional bool) (xlsxSheet, error) {
	if len(b.sheets) == 0 {
		return xlsxSheet{}, fault.Malformed(b.file, "the workbook has no sheets")
	}
	at := slices.IndexFunc(b.sheets, func(s xlsxSheet) bool { return s.name == name })
	if at < 0 && name != "" {
		at = slices.IndexFunc(b.sheets, func(s xlsxSheet) bool { return Plain(s.name) == Plain(name) })
	}
	if n, err := strconv.Atoi(name); at < 0 && err == nil && n >= 1 && n <= len(b.sheets) {
		at = n - 1
	}
	if at < 0 && (name == "" || optional) {
		at = max(0, slices.IndexFunc(b.sheets, func(s xlsxSheet) bool { return !s.hidden }))
	}
	if at >= 0 {
		return b.sheets[at], nil
	}
	names := words.Each(b.sheets, func(s xlsxSheet) string { return strconv.Quote(s.name) })
	return xlsxSheet{}, &fault.Error{File: b.file, Err: ErrNoSheet, Msg: fmt.Sprintf("no sheet %q among [%s]", name, words.Few(names))}
}

// shared reads the texts shared by cells.
func (b *workbook) shared(part string) error {
	var text richText
	return b.scan(part, func(x *xmlScanner) error {
		switch {
		case x.opens("si"):
			text.begin()
		case x.closes("si"):
			b.texts = append(b.texts, unescaped(text.end()))
			return x.keep(textCost + len(b.texts[len(b.texts)-1]))
		}
		return text.token(x)
	})
}

// Notes returns warnings about cells with errors and about text above the header.
func (t *xlsx) Notes() []error {
	var list []error
	if t.title != "" {
		list = append(list, fmt.Errorf("%s, sheet %q: %q above the header is treated as a title", t.file, t.sheet, t.title))
	}
	if t.cover != "" {
		list = append(list, fmt.Errorf("%s: sheet %q looks like a cover page: reading sheet %q of [%s]", t.file, t.cover, t.sheet, strings.Join(t.sheets, ", ")))
	}
	if t.bad > 0 {
		list = append(list, fmt.Errorf("%s, sheet %q: %s treated as missing, such as %s in %s", t.file, t.sheet, words.Plural(t.bad, "cell")+" with an error", t.text, t.first))
	}
	return list
}

// Sheets returns the quoted names of the sheets of the workbook.
func (t *xlsx) Sheets() []string { return t.sheets }

// ErrorAt returns an error with the sheet and the cell.
func (t *xlsx) ErrorAt(col int, format string, args ...any) *fault.Error {
	return t.ErrorIn(t.line, col, format, args...)
}

// ErrorIn is ErrorAt for an earlier row.
func (t *xlsx) ErrorIn(row, col int, format string, args ...any) *fault.Error {
	e := t.base.ErrorAt(-1, format, args...)
	e.Sheet, e.Line = t.sheet, row
	if col >= 0 && col < len(t.cols) {
		e.Column, e.Name = t.cols[col]+1, t.names[col]
	}
	return e
}

// ErrNoSheet is the cause if the requested sheet of a workbook does not exist, or is
// empty.
var ErrNoSheet = errors.New("no such sheet")

// readStyles determines which styles display numbers as dates or times.
func (b *workbook) readStyles(part string) error {
	own := map[int]bool{} // formats defined by the workbook
	inCells := false      // within the styles of cells, not those they are derived from
	return b.scan(part, func(x *xmlScanner) error {
		switch {
		case x.opens("numFmt"):
			if id, err := strconv.Atoi(x.attr("numFmtId")); err == nil {
				own[id] = isDateFormat(x.attr("formatCode"))
				return x.keep(64)
			}
		case x.opens("cellXfs"):
			inCells = true
		case x.closes("cellXfs"):
			inCells = false
		case inCells && x.opens("xf"):
			id, _ := strconv.Atoi(x.attr("numFmtId"))
			date, ok := own[id]
			if !ok {
				date = isDateID(id)
			}
			b.styles = append(b.styles, date)
			return x.keep(1)
		}
		return nil
	})
}

// isDateID reports whether a built-in format, which workbooks do not list, is for dates or
// times. 46 is for durations, which are numbers.
func isDateID(id int) bool {
	return id >= 14 && id <= 22 || id >= 27 && id <= 36 || id == 45 || id == 47 || id >= 50 && id <= 58
}

// isDateFormat reports whether a format displays numbers as dates or times. Texts in quotes,
// characters after \, _ and *, colors and conditions are ignored. [h], [m] and [s] are for
// durations, which are numbers.
func isDateFormat(code string) bool {
	code, _, _ = strings.Cut(strings.ToLower(code), ";")
	duration := false
	plain := unshown().ReplaceAllStringFunc(code, func(part string) string {
		duration = duration || part[0] == '[' && slices.Contains([]string{"h", "m", "s"}, part[1:2]) &&
			strings.Trim(part[1:len(part)-1], part[1:2]) == ""
		return ""
	})
	hidden := duration || strings.Contains(plain, "[") || strings.Contains(plain, "general")
	return !hidden && strings.ContainsAny(plain, "ymdhs")
}

// unshown matches the parts of a format that do not display the number.
var unshown = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)"[^"]*"|"|[\\_*].?|\[[^\]]*\]`) })

// lastDate is the last day of the year 9999 as a number.
const lastDate = 2958465

// dateText converts a number to a date, as 2021-03-24 or, with a time of day,
// 2021-03-24T10:30:00. A number below 1 is only a time. Workbooks count days from 1900, with
// a 29th of February in that year, or from 1904.
func dateText(v float64, from1904 bool) (string, bool) {
	if v < 0 || v > lastDate+1 {
		return "", false
	}
	seconds := math.Round(v * 86400)
	days := math.Floor(seconds / 86400)
	seconds -= days * 86400
	base := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		base = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days < 60:
		base = base.AddDate(0, 0, 1)
	}
	at := base.AddDate(0, 0, int(days)).Add(time.Duration(seconds) * time.Second)
	switch {
	case days == 0 && (seconds > 0 || !from1904):
		return at.Format("15:04:05"), true
	case seconds == 0:
		return at.Format("2006-01-02"), true
	}
	return at.Format("2006-01-02T15:04:05"), true
}
