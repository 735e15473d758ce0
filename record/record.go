// Package record has the values of table records and the errors about them, which readers of files,
// the packages that interpret them, and programs with their own sources share.
package record

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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
	if len(groups) < 2 || strings.Trim(fraction, "0123456789") != "" || len(groups[0]) < 1 || len(groups[0]) > 3 || groups[0][0] == '0' {
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

// ErrFormat is the cause if a file is truncated, damaged, or not of the format
// that its name implies.
var ErrFormat = errors.New("malformed file")

// Error is an error about a file, with its position.
type Error struct {
	File   string // as named by the caller
	Line   int    // from 1; 0 means the whole file
	Column int    // the field, from 1; 0 means the whole line
	Sheet  string // of a workbook, whose rows are the lines; else ""
	Name   string // of the column, if it has one
	Path   string // of a value in JSON, such as items["12"].text.user, which has no line; else ""
	Msg    string
	Err    error // the cause, or nil
}

// Error returns a message such as `reading votes.csv: line 17, column 3 (label): …`.
func (e *Error) Error() string {
	var place string
	switch {
	case e.Path != "":
		return fmt.Sprintf("reading %s: %s: %s", e.File, e.Path, e.Msg)
	case e.Sheet != "" && e.Line > 0 && e.Column > 0:
		place = fmt.Sprintf("sheet %q, cell %s%d", e.Sheet, Letters(e.Column), e.Line)
	case e.Sheet != "" && e.Line > 0:
		place = fmt.Sprintf("sheet %q, row %d", e.Sheet, e.Line)
	case e.Sheet != "":
		place = fmt.Sprintf("sheet %q", e.Sheet)
	case e.Line > 0 && e.Column > 0:
		place = fmt.Sprintf("line %d, column %d", e.Line, e.Column)
	case e.Line > 0:
		place = fmt.Sprintf("line %d", e.Line)
	default:
		return fmt.Sprintf("reading %s: %s", e.File, e.Msg)
	}
	if e.Column > 0 && e.Name != "" {
		place += " (" + e.Name + ")"
	}
	return fmt.Sprintf("reading %s: %s: %s", e.File, place, e.Msg)
}

// Letters returns the name of a column, from 1, in spreadsheets: A, B, …, Z, AA, AB …
func Letters(column int) string {
	name := ""
	for ; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
