// Package table reads tables: CSV, TSV and their kin, sheets of workbooks, JSON, Parquet, Arrow streams, and
// matrices in NPY files. It deals with cells, records and their positions in the file, not with their
// meaning. It also writes Parquet and Arrow streams.
package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"credence/internal/array"
	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
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
			return &fault.Error{File: file, Line: line, Column: i + 1, Msg: fmt.Sprintf("duplicate column %q: already column %d", n, j+1)}
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

// matrix presents a matrix in an NPY file as a table with columns named 0, 1, 2, …
type matrix struct {
	base
	a   *array.Array
	row []float32
}

// maxMatrix is the largest number of columns of a matrix.
const maxMatrix = 100_000

func openMatrix(ctx context.Context, in input, opts Options) (Table, error) {
	a, err := array.OpenNPY(in.name)
	if err != nil {
		return nil, err
	}
	t, err := newMatrix(ctx, a, budget.Of(opts.Memory))
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return t, nil
}

func newMatrix(ctx context.Context, a *array.Array, memory int64) (*matrix, error) {
	if len(a.Shape) != 2 {
		return nil, fault.Malformed(a.File(), "expected a matrix of votes with one row per item, found an array of %s", words.Shape(a.Shape))
	}
	if err := budget.Check(memory, a.Bytes(), a.File(), "a matrix of %s in Fortran order", words.Shape(a.Shape)); err != nil && a.Fortran() {
		return nil, err
	}
	a, err := a.RowMajor(ctx, array.Options{Memory: a.Bytes()})
	if err != nil {
		return nil, err
	}
	w := a.Width()
	if w > maxMatrix {
		return nil, fault.Malformed(a.File(), "expected at most %s columns of votes, found %s", words.Thousands(maxMatrix), words.Thousands(w))
	}
	t := &matrix{a: a, row: make([]float32, w), base: base{file: a.File(), src: a, kept: rowsKept, cells: make([]Cell, w)}}
	t.meter = &budget.Meter{File: a.File(), Limit: memory, Read: a.Bytes}
	for i := range w {
		t.names = append(t.names, strconv.Itoa(i))
	}
	return t, nil
}

func (t *matrix) Next() ([]Cell, error) {
	if t.line == t.a.Len() {
		return nil, io.EOF
	}
	if err := t.a.ReadRow(t.line, t.row); err != nil {
		return nil, err
	}
	t.line++
	for i, x := range t.row {
		t.cells[i] = Cell{Kind: NumberCell, Num: float64(x)}
	}
	return t.cells, nil
}

func (t *matrix) ErrorAt(col int, format string, args ...any) *fault.Error {
	return &fault.Error{File: t.Name(), Msg: fmt.Sprintf("row %d, column %d: %s", t.line-1, max(col, 0), fmt.Sprintf(format, args...))}
}
