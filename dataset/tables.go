package dataset

import (
	"context"
	"errors"
	"fmt"

	"credence/internal/table"
	"credence/internal/words"
)

// TableOptions says how a table is read.
type TableOptions struct {
	// Comma separates the fields of a text table. 0 finds out: comma,
	// semicolon, tab or bar, whichever the header has most of.
	Comma rune
	// NA are the spellings of a missing value, besides an empty cell. Nil means
	// NA, N/A, n/a, #N/A, <NA>, NaN, nan, NULL and null, and in features also
	// None, none, "-", "." and "?".
	NA []string
	// Stdin is the text of the file called "-".
	Stdin []byte `json:",omitempty"`
}

// missing reports whether a cell holds nothing.
func (o *TableOptions) missing(c *table.Cell, usual []string) bool {
	if o.NA != nil {
		usual = o.NA
	}
	return c.Missing(usual)
}

// openTable opens a file as a table, by its extension. memory is what reading may take.
func openTable(ctx context.Context, path string, opts TableOptions, memory int64) (table.Table, error) {
	return table.Open(ctx, path, table.Options{Comma: opts.Comma, Stdin: opts.Stdin, Memory: memory})
}

// column returns the index of a named column, or an error that lists them.
func column(t table.Table, name string) (int, error) {
	for i, h := range t.Header() {
		if h == name {
			return i, readable(t, i)
		}
	}
	return -1, &ParseError{File: t.Name(), Name: name, Msg: fmt.Sprintf("no column %q among [%s]", name, words.Few(t.Header())), Err: ErrNoColumn}
}

// readable refuses a column that is not read.
func readable(t table.Table, col int) error {
	if col < 0 {
		return nil
	}
	if err := t.Unread(col); err != nil {
		name := t.Header()[col]
		return &ParseError{File: t.Name(), Name: name, Msg: fmt.Sprintf("column %q: %v", name, err)}
	}
	return nil
}

// lacking holds the errors about columns that were named and are not there.
type lacking []*ParseError

// lackingOf returns what t lacks of the named columns.
func lackingOf(t table.Table, names []string) lacking {
	var l lacking
	for _, name := range names {
		_, err := column(t, name)
		if e, ok := errors.AsType[*ParseError](err); ok && errors.Is(err, ErrNoColumn) {
			l = append(l, e)
		}
	}
	return l
}

// of returns the error about a column, or nil if it is there.
func (l lacking) of(name string) error {
	for _, e := range l {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// first returns the first error, or nil.
func (l lacking) first() error {
	if len(l) == 0 {
		return nil
	}
	return l[0]
}
