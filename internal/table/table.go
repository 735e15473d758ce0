// Package table reads tables: CSV, TSV and their kin, sheets of workbooks, JSON, Parquet, Arrow streams, and
// matrices in NPY files. It deals with cells, records and their positions in the file, not with their
// meaning. It also writes Parquet and Arrow streams.
package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/record"
)

// Table is a source of records under named columns.
type Table interface {
	Name() string     // file name, for messages
	Header() []string // unique column names
	// Next returns the next record, valid until the next call, and io.EOF
	// after the last.
	Next() ([]Cell, error)
	Line() int // of the last record
	// ErrorAt returns an error about column col of the last record, or about
	// the whole record if col is negative.
	ErrorAt(col int, format string, args ...any) *fault.Error
	// Unread returns the reason why a column cannot be read, or nil.
	Unread(col int) error
	// Keep counts memory that the caller retains, and returns an error beyond the limit.
	Keep(bytes int) error
	// Traits returns properties of the table as a whole.
	Traits() Traits
	// Notes returns warnings about what was left out or corrected so far.
	Notes() []error
	Close() error
}

// base implements the methods that most tables share.
type base struct {
	file  string // as the caller named it
	src   io.Closer
	names []string // of the columns
	line  int      // of the last record, or its number where there are no lines
	cells []Cell   // of the last record
	kept  string   // describes what Keep counts: a format that takes the line
	rows  bool     // there are rows instead of lines
	meter *budget.Meter

	traits Traits
}

// newRows returns the base of a table with typed columns, in a file that has rows instead of lines.
func newRows(file string) base {
	return base{file: file, rows: true, kept: rowsKept, traits: Traits{Lists: true}}
}

const rowsKept = "keeping the rows up to row %d"

func (b *base) Name() string     { return b.file }
func (b *base) Header() []string { return b.names }
func (b *base) Line() int        { return b.line }
func (b *base) Unread(int) error { return nil }
func (b *base) Notes() []error   { return nil }
func (b *base) Traits() Traits   { return b.traits }
func (b *base) Close() error     { return b.src.Close() }

// begin checks the column names, found on the given line, and allocates a record without values.
func (b *base) begin(line int) error {
	b.cells = missing(len(b.names))
	return checkHeader(b.file, line, b.names)
}

// missing returns n cells without a value.
func missing(n int) []Cell { return slices.Repeat([]Cell{{Kind: MissingCell}}, n) }

// Keep counts memory that the caller retains.
func (b *base) Keep(n int) error {
	return b.meter.Keep(int64(n), func() string { return fmt.Sprintf(b.kept, b.line) })
}

// ErrorAt returns an error with the line or row, and the column with its name.
func (b *base) ErrorAt(col int, format string, args ...any) *fault.Error {
	if b.rows {
		return errorInRow(b.file, b.line, b.names, col, fmt.Sprintf(format, args...))
	}
	e := &fault.Error{File: b.file, Line: b.line, Msg: fmt.Sprintf(format, args...)}
	if col >= 0 {
		e.Column = col + 1
		if col < len(b.names) {
			e.Name = b.names[col]
		}
	}
	return e
}

// Traits are properties of a table as a whole.
type Traits struct {
	Commas   bool   // numbers may have a decimal comma
	RowNames bool   // the first column has values but no name
	Lists    bool   // cells may be lists of numbers
	Plain    bool   // the header has no separator
	Blank    []bool // columns without a name, in text; else nil
	Roles    []Role // of the columns, if the format defines them; else nil
}

// Role is the purpose of a column as defined by the file format. Most formats define none;
// collections of labeled items, in JSON, have fields for raters and labels.
type Role uint8

const (
	DataRole  Role = iota // a value of the item
	ItemRole              // the id of the item
	RaterRole             // who cast the vote
	LabelRole             // the label of the vote
	OtherRole             // a label for another question, which may be used instead
	NoteRole              // metadata about the votes or how they were collected
	TextRole              // a document of the item, whatever its values look like
)

// Options configures how a table is read.
type Options struct {
	// Comma separates the fields of a text table. 0 detects it: the most
	// frequent of comma, semicolon, tab and bar in the header.
	Comma rune
	// Stdin is the text of the file called "-".
	Stdin []byte
	// Memory limits the bytes of a record, a page or a row group, and of what
	// callers retain of all records; see package budget. 0 means the default.
	Memory int64
	// Items requests one record per item from formats that hold items with their votes.
	// Otherwise there is one record per vote.
	Items bool
	// Sheet is the name of the workbook sheet to read, or its number, from 1; "" is the
	// first that is not hidden. With SheetOptional, a missing sheet is not an error.
	Sheet         string
	SheetOptional bool
}

// Stdin is the name of the file "-" in messages.
const Stdin = "standard input"

// checkHeader returns an error if there are no columns or two have the same name.
func checkHeader(file string, line int, names []string) error {
	if len(names) == 0 {
		return &fault.Error{File: file, Msg: "no columns"}
	}
	seen := make(map[string]int, len(names))
	for i, n := range names {
		if j, ok := seen[n]; ok {
			msg := fmt.Sprintf("duplicate column %q: already column %d", n, j+1)
			if line > 0 && decimals(names) > 0 {
				msg += "; are these values? Then add a line of names above them"
			}
			return &fault.Error{File: file, Line: line, Column: i + 1, Msg: msg}
		}
		seen[n] = i
	}
	return nil
}

// Only restricts a table to the given columns, so that the others need not be
// read. It must be called before the first record is read.
func Only(t Table, columns ...int) {
	only := make([]bool, len(t.Header()))
	for _, i := range columns {
		only[i] = true
	}
	switch t := t.(type) {
	case *parquetTable:
		t.only(only)
	case *folder:
		t.only = only
	}
}

// Skip skips up to n records and returns the number skipped, which is less than n at the end of the table.
// Parquet row groups and files that are skipped entirely are not read, and values are not converted to cells.
func Skip(t Table, n int) (skipped int, err error) {
	switch t := t.(type) {
	case *folder:
		return t.skip(n)
	case *parquetTable:
		return t.skip(n)
	}
	for ; skipped < n; skipped++ {
		if _, err := t.Next(); err == io.EOF {
			break
		} else if err != nil && !errors.Is(err, ErrRagged) {
			return skipped, err
		}
	}
	return skipped, nil
}

// Records calls f with every record of t, until f returns an error or the context is done.
func Records(ctx context.Context, t Table, f func([]Cell) error) error {
	const every = 1024 // records between checks of the context
	for n := 0; ; n++ {
		if n%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rec, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f(rec)
		}
		if err != nil {
			return err
		}
	}
}

// Cell is one value of a table.
type Cell = record.Cell

// Kinds of cells.
const (
	TextCell    = record.TextCell
	NumberCell  = record.NumberCell
	WholeCell   = record.WholeCell
	VectorCell  = record.VectorCell
	MissingCell = record.MissingCell
)

// listNumber returns a cell as an element of a list of numbers: NaN if it is missing, and 1 or 0 for true or false.
func listNumber(c *Cell) float32 {
	switch {
	case c.Kind == MissingCell:
		return float32(math.NaN())
	case c.Kind == TextCell && c.Text == "true":
		return 1
	}
	x, _ := c.Number(false) // 0 if it is not a number
	return float32(x)
}

// Common spellings of a missing value, in addition to an empty cell: in votes, and in
// features.
var (
	VoteNA    = []string{"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"}
	FeatureNA = append(slices.Clone(VoteNA), "None", "none", "-", ".", "?")
)

// IsDate reports whether a text looks like a date: 2021-03-24, 3/24/2021 or
// 24.3.2021, optionally followed by a time.
func IsDate(s string) bool {
	if at := strings.IndexAny(s, " T"); at > 0 {
		s = s[:at]
	}
	for _, sep := range []string{"-", "/", "."} {
		fields := strings.Split(s, sep)
		if len(fields) != 3 {
			continue
		}
		for i, p := range fields {
			if p == "" || !digits(p) || len(p) > 2 && !(len(p) == 4 && i != 1) {
				return false
			}
		}
		return true
	}
	return false
}

// Sheet is a table in memory, as text, for callers that interpret the columns
// themselves.
type Sheet struct {
	File   string
	Header []string
	// Rows hold one text per column, without surrounding white space. Missing
	// values are empty.
	Rows [][]string

	lines  []int
	commas bool
}

// ReadSheet reads a CSV, TSV or Parquet file. na lists spellings of a missing
// value in addition to FeatureNA.
func ReadSheet(ctx context.Context, path string, na []string) (*Sheet, error) {
	src, err := Open(ctx, path, Options{})
	if err != nil {
		return nil, err
	}
	na = slices.Concat(FeatureNA, na)
	defer src.Close()
	t := &Sheet{File: src.Name(), Header: src.Header(), commas: src.Traits().Commas}
	err = Records(ctx, src, func(rec []Cell) error {
		row := make([]string, len(rec))
		for i := range rec {
			if !rec[i].Missing(na) {
				row[i] = strings.Clone(rec[i].String())
			}
		}
		size := 24 + 8
		for _, text := range row {
			size += 16 + len(text)
		}
		if err := src.Keep(size); err != nil {
			return err
		}
		t.Rows, t.lines = append(t.Rows, row), append(t.lines, src.Line())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Column returns the index of the first of the given columns that exists, or
// −1. Case, blanks, underscores, hyphens and dots in names are ignored, but an
// exact match takes precedence.
func (t *Sheet) Column(names ...string) int {
	for _, want := range names {
		near := -1
		for i, h := range t.Header {
			switch {
			case h == want:
				return i
			case near < 0 && Plain(h) == Plain(want):
				near = i
			}
		}
		if near >= 0 {
			return near
		}
	}
	return -1
}

// Number returns the value of a text, and whether it is a number.
func (t *Sheet) Number(text string) (float64, bool) { return record.ParseNumber(text, t.commas) }

// Line returns the line of row i in the file.
func (t *Sheet) Line(i int) int { return t.lines[i] }

// Errorf returns an error about a row and column of the table. A negative
// column means the whole row, a negative row the whole table.
func (t *Sheet) Errorf(row, col int, format string, args ...any) error {
	e := &fault.Error{File: t.File, Msg: fmt.Sprintf(format, args...)}
	if row >= 0 {
		e.Line = t.lines[row]
	}
	if row >= 0 && col >= 0 {
		e.Column, e.Name = col+1, t.Header[col]
	}
	return e
}

// Plain returns a column name in lower case, without blanks, underscores, hyphens and dots.
func Plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// NamesIDs reports whether the last word of a column name says that the column contains ids: "conversation_id(s)",
// "tweetId", "user IDs". A word that only ends like one, such as "valid", does not.
func NamesIDs(name string) bool {
	name = strings.TrimSuffix(strings.TrimSpace(name), "(s)")
	for _, word := range []string{"id", "ids", "uuid", "uuids", "guid", "guids"} {
		at := len(name) - len(word)
		if at < 0 || !strings.EqualFold(name[at:], word) {
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(name[:at])
		if at == 0 || strings.ContainsRune(" _-./", last) || unicode.IsLower(last) && unicode.IsUpper(rune(name[at])) {
			return true
		}
	}
	return false
}

// digits reports whether s has no characters other than decimal digits.
func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }
