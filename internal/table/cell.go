package table

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/internal/fault"
	"credence/record"
)

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

// ReadSheet reads a CSV, TSV or Parquet file. na lists the spellings of a missing
// value; nil means FeatureNA.
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

// digits reports whether s has no characters other than decimal digits.
func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }
