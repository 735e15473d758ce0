package dataset

import (
	"context"

	"credence/internal/table"
)

// Source is where items or votes come from that lie in no file: a request, a query of a database.
// It has columns, then records.
type Source interface {
	// Name is what messages call the source.
	Name() string
	// Header returns the names of the columns; no two are the same.
	Header() []string
	// Next returns the next record, a cell per column, which is valid until the next call, and
	// io.EOF after the last.
	Next() ([]Cell, error)
	Close() error
}

// Cell is a value of a record: Text, Num, Whole or Vec, as its Kind says. The zero value is an empty
// text, which is a missing value.
type Cell = table.Cell

// Kinds of cells.
const (
	TextCell    = table.TextCell
	NumberCell  = table.NumberCell
	WholeCell   = table.WholeCell
	VectorCell  = table.VectorCell
	MissingCell = table.MissingCell
)

// StreamOf reads the items of a source, and closes it.
func StreamOf(ctx context.Context, s Source, parts []Part, opts StreamOptions) (*Stream, error) {
	return newStream(ctx, s.Name(), tableFrom(s), parts, opts)
}

// tableFrom returns a source as a table, which it may be already.
func tableFrom(s Source) table.Table {
	if t, ok := s.(table.Table); ok {
		return t
	}
	return &sourceTable{Source: s}
}

// sourceTable has what a table knows of itself besides its records. Its lines are the records, from 1.
type sourceTable struct {
	Source
	records int
}

func (t *sourceTable) Next() ([]Cell, error) {
	t.records++
	return t.Source.Next()
}

func (t *sourceTable) Line() int            { return t.records }
func (t *sourceTable) Unread(int) error     { return nil }
func (t *sourceTable) Keep(int) error       { return nil }
func (t *sourceTable) Traits() table.Traits { return table.Traits{Lists: true} }
func (t *sourceTable) Notes() []error       { return nil }

func (t *sourceTable) ErrorAt(col int, format string, args ...any) *ParseError {
	return errorOn(t, t.records, col, format, args...)
}
