package table

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
)

// csvTable is a text table. Text tables are written by spreadsheets, R, pandas and by
// hand, in undocumented variants. Reading one is a short sequence of decisions, each made
// once, in this order:
//
//  1. start inspects the first 64 kB without consuming them, for properties that are lost
//     once the text is split into fields: gzip, a byte-order mark, UTF-16, lines that
//     end in carriage returns only, and the line "sep=;" that Excel hides.
//  2. The separator is declared by that line or by the caller; otherwise it is the most
//     frequent one in the header. A semicolon implies a locale in which numbers have a
//     decimal comma, so it also determines how numbers are parsed.
//  3. The header names the columns. A first column without a name is either blank or
//     holds row names. The first record decides, so it is read and kept in ahead.
//  4. Records whose fields are all blank are kept in blanks, because only the next records
//     decide what they are: padding at the end of the file, which is dropped, or rows
//     in between, which are returned so that rows keep their numbers.
//
// After that, Next returns records: those in blanks and ahead first, then those of the
// file. A record of the wrong length is returned with ErrRagged, and reading can continue.
type csvTable struct {
	base
	r *csv.Reader

	above    int        // lines above the header
	blanks   []blanks   // blank records that were read but not returned yet
	ahead    *csvRecord // the record after them, or nil
	returned int        // number of records returned
	title    string     // names of groups of columns above the header
}

// csvRecord is one line of a text table.
type csvRecord struct {
	fields []string
	line   int
	err    error
}

// openText opens a text table, or a JSON text under any name.
func openText(ctx context.Context, in input, opts Options) (Table, error) {
	src, _, err := in.open()
	if err != nil {
		return nil, err
	}
	head := make([]byte, 512)
	if n, _ := src.ReadAt(head, 0); isJSON(head[:n]) {
		src.Close()
		in.lines = false
		return openJSON(ctx, in, opts)
	}
	return NewText(ctx, src, in.name, opts)
}

// NewText reads a text table or JSON text from src, which the table closes. It returns
// after the header.
func NewText(ctx context.Context, src io.ReadCloser, file string, opts Options) (Table, error) {
	buf := bufio.NewReader(src)
	if peekJSON(buf) {
		return newJSONStream(ctx, readCloser{buf, src}, file, opts)
	}
	src = readCloser{buf, src}
	raw := &counter{r: fault.Reader(ctx, src)}
	t := &csvTable{base: base{file: file, src: src, kept: "keeping the rows up to line %d"}}
	t.meter = &budget.Meter{File: file, Limit: budget.Of(opts.Memory), Read: func() int64 { return raw.n }}
	if err := t.start(raw, opts.Comma); err != nil {
		src.Close()
		return nil, err
	}
	return t, nil
}

func (t *csvTable) start(src io.Reader, comma rune) error {
	buf, head, err := plainText(src, t.file)
	if err != nil {
		return err
	}
	if bytes.IndexByte(head[:len(head)-1], '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		return &fault.Error{File: t.file, Msg: "lines end in carriage returns only: save the file with line feeds, in a spreadsheet as \"CSV UTF-8\""}
	}
	if c, n := declared(head); c != 0 {
		head = head[n:]
		buf.Discard(n)
		t.above = 1
		if comma == 0 {
			comma = c
		}
	}
	if comma == 0 {
		comma, t.traits.Plain = separator(head)
	}
	limit := &recordLimit{r: buf, file: t.file, limit: t.meter.Limit, comma: byte(comma), line: 1 + t.above}
	t.r = csv.NewReader(bufio.NewReaderSize(limit, peekSize))
	t.r.FieldsPerRecord = -1
	t.r.ReuseRecord = true
	t.r.Comma = comma
	t.traits.Commas = comma == ';'
	return t.header()
}

// header reads the column names.
func (t *csvTable) header() error {
	rec, err := t.r.Read()
	if err == io.EOF {
		return &fault.Error{File: t.file, Msg: "no header"}
	}
	if err != nil {
		return t.parseError(err)
	}
	t.line, _ = t.r.FieldPos(0)
	t.line += t.above
	if err := budget.Check(t.meter.Limit, columnCost*int64(len(rec)), t.file, "line %d: a header of %s columns", t.line, words.Thousands(len(rec))); err != nil {
		return err
	}
	rec = slices.Clone(rec) // the reader reuses it
	if err := t.setNames(rec); err != nil {
		return err
	}
	if slices.Contains(t.traits.Blank, true) {
		t.lookAhead()
		if next := t.ahead.fields; len(t.blanks) == 0 && groupsAbove(rec, next) {
			t.title = strings.Join(nonBlank(rec), ", ")
			t.line = t.ahead.line
			if err := t.setNames(next); err != nil {
				return err
			}
			t.ahead = nil
		}
	}
	if err := t.begin(t.line); err != nil {
		return err
	}
	if err := checkNames(t.file, t.line, t.names); err != nil {
		return err
	}
	if t.traits.Blank[0] {
		first := t.ahead.fields
		t.traits.RowNames = len(t.blanks) == 0 && len(first) > 1 && strings.TrimSpace(first[0]) != ""
	}
	return nil
}

// saveUTF8 explains how to fix a text in another encoding.
const saveUTF8 = `save it as "CSV UTF-8" in a spreadsheet, or convert it, for example with iconv`

// declared returns the separator in a first line such as "sep=;", which Excel
// writes and hides, and the length of that line.
func declared(head []byte) (comma rune, length int) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	text := strings.ToLower(strings.TrimRight(string(line), "\r"))
	if len(text) != len("sep=;") || !strings.HasPrefix(text, "sep=") || !strings.Contains(separators, text[4:]) {
		return 0, 0
	}
	return rune(text[4]), min(len(line)+1, len(head))
}

const separators = ",;\t|"

// separator returns the most frequent of , ; tab and | in the first line, outside
// quotes, and reports whether there is none.
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
	best := slices.Index(n[:], slices.Max(n[:]))
	return rune(separators[best]), n[best] == 0
}

// read returns the next record of the file.
func (t *csvTable) read() csvRecord {
	fields, err := t.r.Read()
	if err != nil {
		return csvRecord{err: err}
	}
	line, _ := t.r.FieldPos(0)
	return csvRecord{fields: fields, line: line + t.above}
}

// lookAhead reads the next record that is not blank into ahead, and those before it into blanks. Records whose
// fields are all blank are dropped at the end of the file, where spreadsheets write many of them. Elsewhere
// they are kept, so that rows keep their numbers.
func (t *csvTable) lookAhead() {
	r := t.read()
	for r.err == nil && len(t.names) > 1 && allBlank(r.fields) {
		if r.err = t.keep(r); r.err == nil {
			r = t.read()
		}
	}
	if r.err == io.EOF || errors.Is(r.err, budget.ErrMemory) {
		t.blanks = nil
	}
	t.ahead = &r // its fields are valid until the next is read
}

// take returns the next record, blank or not.
func (t *csvTable) take() csvRecord {
	if len(t.blanks) == 0 && t.ahead == nil {
		t.lookAhead()
	}
	if len(t.blanks) > 0 {
		first := &t.blanks[0]
		r := csvRecord{fields: make([]string, first.fields), line: first.line}
		first.line++
		if first.n--; first.n == 0 {
			t.blanks = t.blanks[1:]
		}
		return r
	}
	r := *t.ahead
	t.ahead = nil
	return r
}

// keep appends a record of blank fields to blanks.
func (t *csvTable) keep(r csvRecord) error {
	if n := len(t.blanks); n > 0 {
		last := &t.blanks[n-1]
		if last.fields == len(r.fields) && last.line+last.n == r.line {
			last.n++
			return nil
		}
	}
	t.blanks = append(t.blanks, blanks{r.line, len(r.fields), 1})
	return t.meter.Keep(2*int64(unsafe.Sizeof(blanks{})), func() string { return fmt.Sprintf("line %d: many blank rows", r.line) })
}

func allBlank(fields []string) bool {
	return !slices.ContainsFunc(fields, func(s string) bool { return strings.TrimSpace(s) != "" })
}

func (t *csvTable) Next() ([]Cell, error) {
	r := t.take()
	if r.err == io.EOF {
		return nil, r.err
	}
	if r.err != nil {
		return nil, t.parseError(r.err)
	}
	rec := r.fields
	t.line = r.line
	t.returned++
	for i, s := range rec[:min(len(rec), len(t.cells))] {
		if !utf8.ValidString(s) {
			return nil, t.ErrorAt(i, "the text is not UTF-8: %s", saveUTF8)
		}
		t.cells[i] = Cell{Text: s}
	}
	if len(rec) != len(t.names) {
		for i := len(rec); i < len(t.cells); i++ {
			t.cells[i] = Cell{Kind: MissingCell}
		}
		msg := fmt.Sprintf("expected %s, as in the header, found %d", words.Plural(len(t.names), "field"), len(rec))
		if t.returned == 1 && len(rec) == len(t.names)+1 {
			msg += ": if the first field is a row name, as R writes it, name that column (col.names = NA) or omit it (row.names = FALSE)"
		}
		return t.cells, &fault.Error{File: t.file, Line: t.line, Column: min(len(rec), len(t.names)) + 1, Msg: msg, Err: ErrRagged}
	}
	return t.cells, nil
}

// ErrRagged marks a record of the wrong length. Next returns the fields that are
// there, and reading can continue.
var ErrRagged = errors.New("wrong number of fields")

// parseError adds the position and advice to an error of the CSV reader.
func (t *csvTable) parseError(err error) error {
	if pe, ok := errors.AsType[*csv.ParseError](err); ok {
		t.line = pe.Line + t.above
		msg := fmt.Sprintf("character %d: %v", pe.Column, pe.Err)
		switch {
		case t.traits.Plain && t.names == nil:
			msg += NoSeparator
		case pe.Err == csv.ErrBareQuote:
			msg = fmt.Sprintf(`character %d: unescaped quote ("): enclose the field in quotes and double the quotes inside it`, pe.Column)
		case pe.Err == csv.ErrQuote && pe.StartLine != pe.Line:
			msg = fmt.Sprintf(`character %d: the quote (") opened on line %d is not closed, or not followed by a separator`, pe.Column, pe.StartLine+t.above)
		}
		return &fault.Error{File: t.file, Line: t.line, Msg: msg, Err: err}
	}
	return readError(t.file, err)
}

// NoSeparator is the end of error messages about a header of one field.
const NoSeparator = "; expected fields separated by commas, semicolons, tabs or bars, found none of them in the first line"

// The size of records is limited before the CSV reader gets them, because it reads each
// record entirely, using a multiple of its size in memory, without any limit.
const (
	// byteCost is the memory used per byte of a record: in the buffers of the CSV
	// reader, which grow by doubling, and in the text of its fields.
	byteCost = 4
	// fieldCost is the additional memory per field: its position, its text and its cell.
	fieldCost = 128
	// columnCost is the memory per column: its name, its cell, statistics from a scan.
	columnCost = 768
)

// recordLimit is a reader that fails if a record needs more memory than allowed. It
// splits records at line feeds outside quotes, as the CSV reader does. If quotes are
// unbalanced, the CSV reader returns an error.
type recordLimit struct {
	r      io.Reader
	file   string
	limit  int64
	comma  byte
	quoted bool
	line   int // first line of the record, from 1
	lines  int // within the record
	bytes  int64
	fields int64
}

func (l *recordLimit) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		part := rest[:end]
		if end == 0 {
			part = rest
		}
		rest = rest[len(part):]
		l.quoted = l.quoted != (bytes.Count(part, []byte{'"'})%2 == 1)
		l.bytes += int64(len(part))
		l.fields += int64(bytes.Count(part, []byte{l.comma}))
		if need := byteCost*l.bytes + fieldCost*l.fields; need > l.limit {
			return 0, budget.Check(l.limit, need, l.file, "line %d: a record of %d bytes or more", l.line, l.bytes)
		}
		if end > 0 {
			l.lines++
		}
		if end > 0 && !l.quoted {
			l.line += l.lines
			l.lines, l.bytes, l.fields = 0, 0, 0
		}
	}
	return n, err
}

// blanks is a run of blank records that were read ahead: n records with the given number
// of fields, one per line, starting at line.
type blanks struct {
	line, fields, n int
}

// counter counts the bytes read from r.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
