package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
		return failed(t.file, err)
	}
	switch {
	case len(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))) == 0:
		return &ParseError{File: t.file, Msg: "the file is empty"}
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return &ParseError{File: t.file, Msg: "the text is UTF-16: save it as UTF-8"}
	case bytes.IndexByte(head, 0) >= 0:
		return malformed(t.file, "this is not text: expected CSV or TSV")
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		head = head[3:]
		buf.Discard(3)
	}
	t.r = csv.NewReader(buf)
	t.r.FieldsPerRecord = -1
	t.r.ReuseRecord = true
	t.r.Comma = opts.Comma
	if t.r.Comma == 0 {
		t.r.Comma = separator(head)
	}
	t.commas = t.r.Comma == ';'
	rec, err := t.r.Read()
	if err != nil {
		return t.parseError(err)
	}
	t.at, _ = t.r.FieldPos(0)
	for i, name := range rec {
		name = strings.TrimSpace(name)
		if name == "" {
			name = "column " + strconv.Itoa(i+1)
		}
		if !utf8.ValidString(name) {
			return t.errorAt(i, "the text is not UTF-8")
		}
		t.names = append(t.names, strings.Clone(name))
	}
	t.cells = make([]cell, len(t.names))
	return checkHeader(t.file, t.at, t.names)
}

// separator returns whichever of , ; tab and | the first line has most of
// outside quotes.
func separator(head []byte) rune {
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
		if i := strings.IndexByte(",;\t|", c); i >= 0 {
			n[i]++
		}
	}
	best := 0
	for i := range n {
		if n[i] > n[best] {
			best = i
		}
	}
	return rune(",;\t|"[best])
}

func (t *csvTable) name() string     { return t.file }
func (t *csvTable) header() []string { return t.names }
func (t *csvTable) line() int        { return t.at }
func (t *csvTable) close() error     { return t.src.Close() }

func (t *csvTable) next() ([]cell, error) {
	rec, err := t.r.Read()
	if err == io.EOF {
		return nil, err
	}
	if err != nil {
		return nil, t.parseError(err)
	}
	t.at, _ = t.r.FieldPos(0)
	for i, s := range rec[:min(len(rec), len(t.cells))] {
		if !utf8.ValidString(s) {
			return nil, t.errorAt(i, "the text is not UTF-8")
		}
		t.cells[i] = cell{text: s}
	}
	if len(rec) != len(t.names) {
		for i := len(rec); i < len(t.cells); i++ {
			t.cells[i] = cell{kind: missingCell}
		}
		return t.cells, &ParseError{File: t.file, Line: t.at, Column: min(len(rec), len(t.names)) + 1,
			Msg: fmt.Sprintf("%s, but the header has %d", number(len(rec), "field"), len(t.names)), Err: errRagged}
	}
	return t.cells, nil
}

// errRagged marks a record of the wrong length, which next returns as far as it
// goes; reading can go on.
var errRagged = errors.New("wrong number of fields")

func (t *csvTable) parseError(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		t.at = pe.Line
		return &ParseError{File: t.file, Line: pe.Line, Msg: fmt.Sprintf("character %d: %v", pe.Column, pe.Err), Err: err}
	}
	return failed(t.file, err)
}

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

// parseNumber reads a number; with commas, also "3,14".
func parseNumber(s string, commas bool) (float64, bool) {
	if s == "" {
		return 0, false
	}
	// ParseFloat also takes "infinity", "0x1p-2" and "1_000", which in a table
	// are more likely text.
	if c := s[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return 0, false
	}
	if len(s) > 1 && (s[1] == 'x' || s[1] == 'X' || s[1] == 'i' || s[1] == 'I') || strings.IndexByte(s, '_') >= 0 {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && commas && strings.Count(s, ",") == 1 {
		x, err = strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	}
	// A number beyond the range of float64 comes back as an infinity, which the
	// caller refuses as too large.
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return x, true
}
