package table

import (
	"context"
	"fmt"
	"strings"

	"credence/internal/fault"
)

// Sheet is a table in memory, as text, for callers that give columns a meaning
// of their own.
type Sheet struct {
	File   string
	Header []string
	// Rows hold one text a column, without blanks around it; that of a missing
	// value is empty.
	Rows [][]string

	lines  []int
	commas bool
}

// ReadSheet reads a CSV, TSV or Parquet file. na are the spellings of a missing
// value; nil means the usual ones.
func ReadSheet(ctx context.Context, path string, na []string) (*Sheet, error) {
	src, err := Open(ctx, path, Options{})
	if err != nil {
		return nil, err
	}
	if na == nil {
		na = FeatureNA
	}
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

// Column returns the index of the first of the given columns that there is, or
// −1. Case, blanks, underscores, hyphens and dots in names make no difference,
// unless two columns differ in nothing else.
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

// Number returns the value of a text, if it is a number.
func (t *Sheet) Number(text string) (float64, bool) { return ParseNumber(text, t.commas) }

// Line returns where row i stands in the file.
func (t *Sheet) Line(i int) int { return t.lines[i] }

// Errorf reports something wrong in a row and column of the table; a negative
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

// Plain drops case, blanks, underscores, hyphens and dots from a column's name.
func Plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}
