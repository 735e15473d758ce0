package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/fault"
)

// CellKind is the type of the value in a cell.
type CellKind uint8

const (
	TextCell    CellKind = iota
	NumberCell           // Num
	WholeCell            // Whole
	VectorCell           // Vec
	MissingCell          // no value: a null
)

// Cell is one value of a table. Text tables only have text cells; tables in
// typed formats have the other kinds as well.
type Cell struct {
	Text  string
	Num   float64
	Whole int64
	Vec   []float32
	Kind  CellKind
}

// String returns the cell as text, without surrounding white space.
func (c *Cell) String() string {
	switch c.Kind {
	case TextCell:
		return strings.TrimSpace(c.Text)
	case NumberCell:
		if math.IsNaN(c.Num) {
			return ""
		}
		return FormatNumber(c.Num)
	case WholeCell:
		return strconv.FormatInt(c.Whole, 10)
	case VectorCell:
		return fmt.Sprintf("a list of %d numbers", len(c.Vec))
	}
	return ""
}

// Number returns the value of a cell, and whether it is a number. If commas is true, text
// may have a decimal comma.
func (c *Cell) Number(commas bool) (float64, bool) {
	switch c.Kind {
	case NumberCell:
		return c.Num, true
	case WholeCell:
		return float64(c.Whole), true
	case TextCell:
		return ParseFormatted(strings.TrimSpace(c.Text), commas)
	}
	return 0, false
}

// Common spellings of a missing value, in addition to an empty cell: in votes, and in
// features.
var (
	VoteNA    = []string{"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"}
	FeatureNA = append(slices.Clone(VoteNA), "None", "none", "-", ".", "?")
)

// Missing reports whether a cell is empty or contains one of the given spellings of a missing value.
func (c *Cell) Missing(na []string) bool {
	switch c.Kind {
	case MissingCell:
		return true
	case NumberCell:
		return math.IsNaN(c.Num)
	case TextCell:
		s := strings.TrimSpace(c.Text)
		return s == "" || slices.Contains(na, s)
	}
	return false
}

// FormatNumber formats a number, without an exponent if it is whole.
func FormatNumber(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// ParseNumber parses a number and reports whether s is one. If commas is true, it also accepts "3,14".
func ParseNumber(s string, commas bool) (float64, bool) {
	if s == "" {
		return 0, false
	}
	// ParseFloat also accepts "infinity", "0x1p-2" and "1_000", which in a table
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
	// A number beyond the range of float64 is returned as an infinity, which the
	// caller rejects as too large.
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return x, true
}

// ParseFormatted parses a number as spreadsheets display it: plain, "12.5%", which
// is 0.125, or "1,234.5" with separators between groups of three digits. If commas
// is true, the comma is the decimal separator and dots may separate groups, but
// a single dot is a decimal point: "1.234" could be either.
func ParseFormatted(s string, commas bool) (float64, bool) {
	x, ok := ParseNumber(s, commas)
	if ok || s == "" {
		return x, ok
	}
	// Most texts are not numbers, and this is called for all of them.
	if c := s[0]; c != '-' && c != '+' && (c < '0' || c > '9') {
		return 0, false
	}
	if rest, percent := strings.CutSuffix(s, "%"); percent {
		x, ok := ParseFormatted(strings.TrimRight(rest, " \u00a0\u202f"), commas)
		return x / 100, ok && !strings.HasSuffix(rest, "%")
	}
	separators := []string{",", "'", "’", "\u00a0", "\u202f"}
	decimal := "."
	if commas {
		separators[0], decimal = ".", ","
	}
	for _, sep := range separators {
		if plain, ok := ungroup(s, sep, decimal); ok {
			return ParseNumber(plain, false)
		}
	}
	return 0, false
}

// ungroup removes the group separators from a number such as "-1,234,567.8", and
// replaces its decimal separator by a dot.
func ungroup(s, sep, decimal string) (string, bool) {
	sign := ""
	if s[0] == '-' || s[0] == '+' {
		sign, s = s[:1], s[1:]
	}
	whole, fraction, _ := strings.Cut(s, decimal)
	groups := strings.Split(whole, sep)
	if len(groups) < 2 || !digits(fraction) || len(groups[0]) < 1 || len(groups[0]) > 3 || groups[0][0] == '0' {
		return "", false
	}
	for i, g := range groups {
		if i > 0 && len(g) != 3 || !digits(g) {
			return "", false
		}
	}
	return sign + strings.Join(groups, "") + "." + fraction, true
}

// digits reports whether s has no characters other than decimal digits.
func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// IsDate reports whether a text looks like a date: 2021-03-24, 3/24/2021 or
// 24.3.2021, optionally followed by a time.
func IsDate(s string) bool {
	if at := strings.IndexAny(s, " T"); at > 0 {
		s = s[:at]
	}
	for _, sep := range []string{"-", "/", "."} {
		part := strings.Split(s, sep)
		if len(part) != 3 {
			continue
		}
		for i, p := range part {
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
func (t *Sheet) Number(text string) (float64, bool) { return ParseNumber(text, t.commas) }

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
