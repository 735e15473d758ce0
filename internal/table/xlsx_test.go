package table

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/python"
	"credence/record"
)

// The cells of the workbooks that testdata/workbooks.py writes.
var bookCells = []struct{ file, sheet, want, notes string }{
	{"book-openpyxl.xlsx", "", "patient|visit|age|share|smoker|seen at|note|score|duration|code\n" +
		"P01|2021-03-24|61|0.125|TRUE|10:30:00|plain bold||1.5|007\n" +
		"P01|1999-12-31T23:59:58|58.5|0.5|FALSE||line\nbreak & <é😀>|||12\n" +
		"P02|1900-02-28||-1e-09||||||",
		`[book-openpyxl.xlsx, sheet "Visits": 1 cell with an error treated as missing, such as #DIV/0! in I5]`},
	{"book-openpyxl.xlsx", "Votes", "item|rater|label\nP01|x|yes\nP01|y|no\nP02|x|no\nP02|y|3", "[]"},
	{"book-openpyxl.xlsx", "votes", "item|rater|label\nP01|x|yes\nP01|y|no\nP02|x|no\nP02|y|3", "[]"},
	{"book-openpyxl.xlsx", "3", "item|rater|label\nP01|x|yes\nP01|y|no\nP02|x|no\nP02|y|3", "[]"},
	{"book-openpyxl.xlsx", "Hidden", "no", "[]"},
	{"book-xlsxwriter.xlsx", "", "id|when|cost|risk\na|2021-03-24|1234.5|high\nb|1904-01-02|0|low\nc|||TRUE",
		`[book-xlsxwriter.xlsx, sheet "Data & more": "Study of nodules" above the header is treated as a title book-xlsxwriter.xlsx, sheet "Data & more": 1 cell with an error treated as missing, such as #DIV/0! in C5]`},
	{"book-inline.xlsx", "1", "id|x\nu|1\nv|2", "[]"},
}

func checkBooks(t *testing.T) {
	t.Helper()
	for _, c := range bookCells {
		table, err := Open(t.Context(), c.file, Options{Sheet: c.sheet})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := dump(table); got != c.want || err != nil {
			t.Errorf("%s %s: %v\n%s\nwant\n%s", c.file, c.sheet, err, got, c.want)
		}
		if got := fmt.Sprint(table.Notes()); got != c.notes {
			t.Errorf("%s: %s, want %s", c.file, got, c.notes)
		}
		table.Close()
	}
}

func TestXLSX(t *testing.T) {
	t.Chdir("testdata")
	checkBooks(t)
	for sheet, want := range map[string]string{
		"Empty": `sheet "Empty" is empty; other sheets: "Hidden", "Visits", "Votes"`,
		"none":  `no sheet "none" among ["Hidden", "Visits", "Votes", "Empty"]`,
		"9":     `no sheet "9" among`,
	} {
		_, err := Open(t.Context(), "book-openpyxl.xlsx", Options{Sheet: sheet})
		if !errors.Is(err, ErrNoSheet) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sheet, err)
		}
	}
	table, err := Open(t.Context(), "book-openpyxl.xlsx", Options{Sheet: "none", SheetOptional: true})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	table.Next()
	table.Next()
	if got, want := table.ErrorAt(2, "what").Error(), `reading book-openpyxl.xlsx: sheet "Visits", cell C3 (age): what`; got != want {
		t.Error(got)
	}
	if got, want := table.ErrorAt(-1, "what").Error(), `reading book-openpyxl.xlsx: sheet "Visits", row 3: what`; got != want {
		t.Error(got)
	}
	// As standard input.
	text, err := os.ReadFile("book-inline.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	if table, err = Open(t.Context(), "-", Options{Stdin: text}); err != nil {
		t.Fatal(err)
	}
	if got, err := dump(table); got != "id|x\nu|1\nv|2" || err != nil {
		t.Error(got, err)
	}
}

// TestXLSXLibraries reads workbooks written by the installed libraries.
func TestXLSXLibraries(t *testing.T) {
	interpreter := python.Interpreter(t, "openpyxl", "xlsxwriter")
	dir := t.TempDir()
	if out, err := exec.Command(interpreter, "testdata/workbooks.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(dir)
	checkBooks(t)
}

const (
	bookHead = `<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`
	bookRels = `<Relationships><Relationship Id="r1" Type="x/worksheet" Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="r2" Type="x/sharedStrings" Target="/xl/strings.xml"/><Relationship Id="r3" Type="x/styles" Target="styles.xml"/></Relationships>`
)

// archived returns a workbook with one sheet, parts of which may be replaced.
func archived(t testing.TB, sheet string, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	all := map[string]string{"xl/workbook.xml": bookHead, "xl/_rels/workbook.xml.rels": bookRels,
		"xl/worksheets/sheet1.xml": "<worksheet><sheetData>" + sheet + "</sheetData></worksheet>"}
	for name, text := range parts {
		all[name] = text
	}
	for name, text := range all {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	z.Close()
	return b.Bytes()
}

const tinySheet = `<row><c t="inlineStr"><is><t>a</t></is></c><c t="str"><v>b</v></c></row><row r="4"><c r="B4"><v>1.5</v></c></row>`

func TestXLSXRefuses(t *testing.T) {
	whole := string(archived(t, tinySheet, nil))
	cell := func(c string) string {
		return string(archived(t, `<row r="1"><c r="A1" t="str"><v>a</v></c></row><row r="2">`+c+"</row>", nil))
	}
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty"},
		{"a,b\n", "expected a workbook as Excel saves it (.xlsx), found another format"},
		{"\xd0\xcf\x11\xe0\xa1\xb1", "the workbook is password-protected or in the old .xls format"},
		{whole[:len(whole)-30], "the workbook is damaged or truncated"},
		{string(archived(t, "", map[string]string{"xl/workbook.xml": "<workbook/>"})), "the workbook has no sheets"},
		{string(archived(t, "", map[string]string{"xl/workbook.xml": "<workbook>"})), "xl/workbook.xml is truncated"},
		{string(archived(t, "", nil)), `sheet "S" is empty`},
		{string(archived(t, "", map[string]string{"_rels/.rels": `<a><Relationship Type="x/officeDocument" Target="xl/workbook.bin"/></a>`})), "the workbook is binary (.xlsb): save it as .xlsx"},
		{string(archived(t, "", map[string]string{"xl/worksheets/sheet1.xml": "<a>&lol;</a>"})), "xl/worksheets/sheet1.xml: XML syntax error"},
		{cell(`<c r="B2" t="s"><v>7</v></c>`), `sheet "S", cell B2: expected the number of a shared text below 0, found "7"`},
		{cell(`<c r="A2"><v>x</v></c>`), `sheet "S", cell A2: expected a number, found "x"`},
		{cell(`<c r="B3"><v>1</v></c>`), `xl/worksheets/sheet1.xml: cell "B3" in row 2`},
		{cell(`<c r="ZZZZ2"><v>1</v></c>`), `xl/worksheets/sheet1.xml: cell "ZZZZ2" in row 2`},
		{string(archived(t, `<row r="2"/><row r="1"/>`, nil)), `row "1" after row 2`},
		{string(archived(t, `<row><c t="str"><v>a</v></c><c t="str"><v> a</v></c></row>`, nil)), `sheet "S", cell B1: duplicate column "a": already column A`},
	} {
		_, err := Open(t.Context(), written(t, "x.xlsx", c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), ": "+c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	for _, name := range []string{"x.xls", "x.ods", "x.xlsb"} {
		if _, err := Open(t.Context(), name, Options{}); err == nil || !strings.Contains(err.Error(), "is not supported: save the file as .xlsx or CSV UTF-8") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Archives that unpack to much more than their size are an error.
func TestXLSXLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("reads hundreds of megabytes")
	}
	cells := strings.Repeat("<row>"+strings.Repeat(`<c><v>1</v></c>`, 1000)+"</row>", 3500)
	var names, areas strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&names, `<c t="str"><v>n%d</v></c>`, i)
	}
	for i := range 1000 {
		fmt.Fprintf(&areas, `<mergeCell ref="%s2:%s2000"/>`, record.Letters(2*i+1), record.Letters(2*i+2))
	}
	header := names.String()
	for name, book := range map[string][]byte{
		"many cells":               archived(t, cells, nil),
		"a long text":              archived(t, `<row><c t="str"><v>`+strings.Repeat("x", 40<<20)+"</v></c></row>", nil),
		"many texts":               archived(t, "", map[string]string{"xl/strings.xml": "<sst>" + strings.Repeat("<si><t>"+strings.Repeat("x", 4096)+"</t></si>", 17_000) + "</sst>"}),
		"many small texts":         archived(t, "", map[string]string{"xl/strings.xml": "<sst>" + strings.Repeat("<si><t>x</t></si>", 2_000_000) + "</sst>"}),
		"a text in pieces":         archived(t, `<row><c t="str"><v>`+strings.Repeat("xxxxxxx<!---->", 6<<20)+"</v></c></row>", nil),
		"a tag in pieces":          archived(t, `<row x="`+strings.Repeat(">", 40<<20)+`"/>`, nil),
		"few cells in a wide grid": archived(t, "<row>"+header+"</row>"+strings.Repeat(`<row><c><v>1</v></c></row>`, 2000), nil),
		"merged cells side by side": archived(t, "", map[string]string{"xl/worksheets/sheet1.xml": "<w><sheetData>" + "<row>" + header + "</row>" +
			strings.Repeat("<row>"+strings.Repeat(`<c><v>1</v></c><c/>`, 1000)+"</row>", 2400) + "</sheetData><mergeCells>" + areas.String() + "</mergeCells></w>"}),
		"merged cells": archived(t, strings.Repeat(`<row><c t="str"><v>a</v></c></row>`, 2000), map[string]string{"xl/worksheets/sheet1.xml": "<w><sheetData>" + strings.Repeat(`<row><c t="str"><v>a</v></c></row>`, 2000) + `</sheetData><mergeCells><mergeCell ref="A2:XFD1048576"/></mergeCells></w>`}),
	} {
		_, err := Open(t.Context(), written(t, "x.xlsx", string(book)), Options{Memory: budget.Least})
		if !errors.Is(err, budget.ErrMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestXLSXCost checks that a cell takes few bytes and no separate allocation, and that a second pass over the
// records takes no memory.
func TestXLSXCost(t *testing.T) {
	const rows, columns = 2000, 100
	var head strings.Builder
	for i := range columns {
		fmt.Fprintf(&head, `<c t="str"><v>n%d</v></c>`, i)
	}
	path := written(t, "x.xlsx", string(archived(t, "<row>"+head.String()+"</row>"+strings.Repeat("<row>"+strings.Repeat(`<c><v>1</v></c>`, columns)+"</row>", rows), nil)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	runtime.ReadMemStats(&after)
	if n := float64(after.Mallocs-before.Mallocs) / (rows * columns); n > 0.5 {
		t.Errorf("%.1f objects per cell", n)
	}
	if n := float64(after.TotalAlloc-before.TotalAlloc) / (rows * columns); n > 60 {
		t.Errorf("%.0f bytes per cell", n)
	}
	first, err := dump(table)
	if err != nil {
		t.Fatal(err)
	}
	again, ok := Again(table)
	if !ok {
		t.Fatal("a sheet is not kept")
	}
	second, err := dump(again)
	if err != nil || fmt.Sprint(first) != fmt.Sprint(second) || again.Close() != nil {
		t.Errorf("read again, %d records instead of %d, %v", len(second), len(first), err)
	}
}

func TestDateFormats(t *testing.T) {
	for code, want := range map[string]bool{
		"General": false, "0.00": false, "yyyy-mm-dd": true, "d/m/yy h:mm": true, "[h]:mm:ss": false, "[$-409]d-mmm-yy;@": true,
		`0.0 "days"`: false, `[Red]0.00;[Blue]"m"0`: false, `0\d`: false, "_d0": false, "mm:ss.0": true, "[mm]": false, "[<1]0;d": false,
	} {
		if got := isDateFormat(code); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
	for _, c := range []struct {
		v    float64
		old  bool
		want string
	}{
		{1, false, "1900-01-01"}, {59, false, "1900-02-28"}, {61, false, "1900-03-01"}, {44279, false, "2021-03-24"}, {44279.4375, false, "2021-03-24T10:30:00"},
		{0.5, false, "12:00:00"}, {0, true, "1904-01-01"}, {42817, true, "2021-03-24"}, {44278.9999999, false, "2021-03-24"},
	} {
		if got, ok := dateText(c.v, c.old); got != c.want || !ok {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
	}
	if _, ok := dateText(-1, false); ok {
		t.Error("a negative date")
	}
}

// FuzzXLSX reads damaged sheets, in archives and directly.
func FuzzXLSX(f *testing.F) {
	for _, name := range []string{"book-openpyxl.xlsx", "book-xlsxwriter.xlsx", "book-inline.xlsx"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "1")
	}
	f.Add([]byte(tinySheet), "")
	f.Add([]byte(`<row><c s="0"><v>4e4</v></c><c t="e"><v>#REF!</v></c><c t="s"><v>0</v></c></row></sheetData><mergeCell ref="A1:B9"/>`), "S")
	f.Fuzz(func(t *testing.T, text []byte, sheet string) {
		if !bytes.HasPrefix(text, []byte("PK")) {
			text = archived(t, string(text), map[string]string{"xl/strings.xml": string(text), "xl/styles.xml": string(text)})
		}
		table, err := newXLSX(t.Context(), "x.xlsx", bytes.NewReader(text), int64(len(text)), Options{Sheet: sheet})
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok {
				t.Errorf("%v without a place", err)
			}
			return
		}
		if _, err := dump(table); err != nil {
			t.Error(err)
		}
		table.Notes()
	})
}
