package dataset

import (
	"fmt"
	"strings"
)

// Table is a table in memory, as text, for callers that give columns a meaning
// of their own.
type Table struct {
	File   string
	Header []string
	// Rows hold one text a column, without blanks around it; that of a missing
	// value is empty.
	Rows [][]string

	lines  []int
	commas bool
}

// ReadTable reads a CSV, TSV or Parquet file.
func ReadTable(path string, opts TableOptions) (*Table, error) {
	src, err := openTable(path, opts)
	if err != nil {
		return nil, err
	}
	defer src.close()
	t := &Table{File: src.name(), Header: src.header(), commas: commasOf(src)}
	err = records(src, func(rec []cell) error {
		row := make([]string, len(rec))
		for i := range rec {
			if !opts.missing(&rec[i], featureNA) {
				row[i] = strings.Clone(rec[i].string())
			}
		}
		t.Rows, t.lines = append(t.Rows, row), append(t.lines, src.line())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Column returns the index of the first of the given columns that there is, or
// −1. Case, blanks, underscores, hyphens and dots in names make no difference,
// unless two columns differ in nothing else.
func (t *Table) Column(names ...string) int {
	for _, want := range names {
		near := -1
		for i, h := range t.Header {
			switch {
			case h == want:
				return i
			case near < 0 && plain(h) == plain(want):
				near = i
			}
		}
		if near >= 0 {
			return near
		}
	}
	return -1
}

// Number returns the value of a text, if it is a number.
func (t *Table) Number(text string) (float64, bool) { return parseNumber(text, t.commas) }

// Line returns where row i stands in the file.
func (t *Table) Line(i int) int { return t.lines[i] }

// Errorf reports something wrong in a row and column of the table; a negative
// column means the whole row, a negative row the whole table.
func (t *Table) Errorf(row, col int, format string, args ...any) error {
	e := &ParseError{File: t.File, Msg: fmt.Sprintf(format, args...)}
	if row >= 0 {
		e.Line = t.lines[row]
	}
	if row >= 0 && col >= 0 {
		e.Column, e.Name = col+1, t.Header[col]
	}
	return e
}
