package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// csvTable reads CSV, TSV and their kin: quoted fields, CRLF, a byte-order
// mark and gzip are understood.
type csvTable struct {
	file   string
	src    io.Closer
	r      *csv.Reader
	names  []string
	cells  []cell
	at     int  // line of the last record
	commas bool // numbers may have a decimal comma
	// rowNames says that the first column has values but no name.
	rowNames bool
	blank    []bool   // columns without a name
	ahead    []record // read but not handed out
	above    int      // lines above the header
	plain    bool     // the header has no separator
	handed   int      // records handed out
}

// record is one line of a text table.
type record struct {
	fields []string
	line   int
	err    error
}

// newCSV reads the header. The table owns src.
func newCSV(src io.ReadCloser, file string, opts TableOptions) (table, error) {
	t := &csvTable{file: file, src: src}
	if err := t.start(src, opts); err != nil {
		src.Close()
		return nil, err
	}
	return t, nil
}

func (t *csvTable) start(src io.Reader, opts TableOptions) error {
	const peek = 1 << 16
	buf := bufio.NewReaderSize(src, peek)
	if magic, _ := buf.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buf)
		if err != nil {
			return failed(t.file, err)
		}
		buf = bufio.NewReaderSize(z, peek)
	}
	head, err := buf.Peek(peek)
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return t.parseError(err)
	}
	switch {
	case len(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))) == 0:
		return &ParseError{File: t.file, Msg: "the file is empty"}
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return &ParseError{File: t.file, Msg: "the text is UTF-16: " + saveUTF8}
	case bytes.IndexByte(head, 0) >= 0:
		return malformed(t.file, "this is not text: expected CSV or TSV")
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		head = head[3:]
		buf.Discard(3)
	}
	if bytes.IndexByte(head[:len(head)-1], '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		return &ParseError{File: t.file, Msg: "its lines end in carriage returns alone: save it with line feeds, in a spreadsheet as \"CSV UTF-8\""}
	}
	comma := opts.Comma
	if c, n := declared(head); c != 0 {
		head = head[n:]
		buf.Discard(n)
		t.above = 1
		if comma == 0 {
			comma = c
		}
	}
	t.r = csv.NewReader(buf)
	t.r.FieldsPerRecord = -1
	t.r.ReuseRecord = true
	t.r.Comma = comma
	if comma == 0 {
		t.r.Comma, t.plain = separator(head)
	}
	t.commas = t.r.Comma == ';'
	rec, err := t.r.Read()
	if err != nil {
		return t.parseError(err)
	}
	t.at, _ = t.r.FieldPos(0)
	t.at += t.above
	for i, name := range rec {
		name = strings.TrimSpace(name)
		t.blank = append(t.blank, name == "")
		if name == "" {
			name = "column " + strconv.Itoa(i+1)
		}
		if !utf8.ValidString(name) {
			return t.errorAt(i, "the text is not UTF-8: %s", saveUTF8)
		}
		t.names = append(t.names, strings.Clone(name))
	}
	t.cells = make([]cell, len(t.names))
	if err := checkHeader(t.file, t.at, t.names); err != nil {
		return err
	}
	if t.blank[0] {
		first := t.take()
		first.fields = slices.Clone(first.fields)
		t.ahead = append([]record{first}, t.ahead...)
		t.rowNames = first.err == nil && len(first.fields) > 1 && strings.TrimSpace(first.fields[0]) != ""
	}
	return nil
}

// saveUTF8 is how to mend a text in another encoding.
const saveUTF8 = `save it as "CSV UTF-8", as spreadsheets call it, or convert it, such as with iconv`

// declared returns the separator that a first line such as "sep=;" names, which
// Excel writes and hides, and the length of that line.
func declared(head []byte) (comma rune, length int) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	text := strings.ToLower(strings.TrimRight(string(line), "\r"))
	if len(text) != len("sep=;") || !strings.HasPrefix(text, "sep=") || !strings.Contains(separators, text[4:]) {
		return 0, 0
	}
	return rune(text[4]), len(line) + 1
}

const separators = ",;\t|"

// separator returns whichever of , ; tab and | the first line has most of
// outside quotes, and whether it has none.
func separator(head []byte) (comma rune, none bool) {
	var n [4]int
	quoted := false
	for _, c := range head {
		if c == '"' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		if c == '\n' || c == '\r' {
			break
		}
		if i := strings.IndexByte(separators, c); i >= 0 {
			n[i]++
		}
	}
	best := 0
	for i := range n {
		if n[i] > n[best] {
			best = i
		}
	}
	return rune(separators[best]), n[best] == 0
}

func (t *csvTable) name() string     { return t.file }
func (t *csvTable) header() []string { return t.names }
func (t *csvTable) line() int        { return t.at }
func (t *csvTable) close() error     { return t.src.Close() }

// read returns the next record of the file.
func (t *csvTable) read() record {
	fields, err := t.r.Read()
	if err != nil {
		return record{err: err}
	}
	line, _ := t.r.FieldPos(0)
	return record{fields: fields, line: line + t.above}
}

// take returns the next record that is handed out. Records whose fields are all
// blank are left out at the end of the file, where spreadsheets write many; in
// between they stay, so that rows keep their numbers.
func (t *csvTable) take() record {
	if len(t.ahead) > 0 {
		first := t.ahead[0]
		t.ahead = t.ahead[1:]
		return first
	}
	r := t.read()
	for r.err == nil && len(t.names) > 1 && allBlank(r.fields) {
		t.keep(r)
		r = t.read()
	}
	if r.err == io.EOF {
		t.ahead = nil
	}
	if len(t.ahead) == 0 {
		return r
	}
	t.keep(r)
	return t.take()
}

// keep puts a record behind those that were read ahead.
func (t *csvTable) keep(r record) {
	r.fields = slices.Clone(r.fields) // the reader uses them again
	t.ahead = append(t.ahead, r)
}

func allBlank(fields []string) bool {
	for _, s := range fields {
		if strings.TrimSpace(s) != "" {
			return false
		}
	}
	return true
}

func (t *csvTable) next() ([]cell, error) {
	r := t.take()
	if r.err == io.EOF {
		return nil, r.err
	}
	if r.err != nil {
		return nil, t.parseError(r.err)
	}
	rec := r.fields
	t.at = r.line
	t.handed++
	for i, s := range rec[:min(len(rec), len(t.cells))] {
		if !utf8.ValidString(s) {
			return nil, t.errorAt(i, "the text is not UTF-8: %s", saveUTF8)
		}
		t.cells[i] = cell{text: s}
	}
	if len(rec) != len(t.names) {
		for i := len(rec); i < len(t.cells); i++ {
			t.cells[i] = cell{kind: missingCell}
		}
		msg := fmt.Sprintf("%s, but the header has %d", number(len(rec), "field"), len(t.names))
		if t.handed == 1 && len(rec) == len(t.names)+1 {
			msg += ": if the first are row names, as R writes them, give them a header (col.names = NA) or leave them out (row.names = FALSE)"
		}
		return t.cells, &ParseError{File: t.file, Line: t.at, Column: min(len(rec), len(t.names)) + 1, Msg: msg, Err: errRagged}
	}
	return t.cells, nil
}

// errRagged marks a record of the wrong length, which next returns as far as it
// goes; reading can go on.
var errRagged = errors.New("wrong number of fields")

func (t *csvTable) parseError(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		t.at = pe.Line + t.above
		msg := fmt.Sprintf("character %d: %v", pe.Column, pe.Err)
		switch {
		case t.plain && t.names == nil:
			msg += noSeparator
		case pe.Err == csv.ErrBareQuote:
			msg = fmt.Sprintf(`character %d: a quote (") in a field that does not begin with one: put the field in quotes and write this one twice`, pe.Column)
		case pe.Err == csv.ErrQuote && pe.StartLine != pe.Line:
			msg = fmt.Sprintf(`character %d: the quote (") that opens on line %d is not closed, or not followed by a separator`, pe.Column, pe.StartLine+t.above)
		}
		return &ParseError{File: t.file, Line: t.at, Msg: msg, Err: err}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &ParseError{File: t.file, Msg: "the compressed file is cut short", Err: err}
	}
	return failed(t.file, err)
}

// noSeparator explains a header of one field.
const noSeparator = "; fields are separated by commas, semicolons, tabs or bars, and its first line has none"

func (t *csvTable) errorAt(col int, format string, args ...any) error {
	return tableError(t, col, format, args...)
}

func tableError(t table, col int, format string, args ...any) error {
	e := &ParseError{File: t.name(), Line: t.line(), Msg: fmt.Sprintf(format, args...)}
	if col >= 0 {
		e.Column = col + 1
		if h := t.header(); col < len(h) {
			e.Name = h[col]
		}
	}
	return e
}
