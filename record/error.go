package record

import (
	"errors"
	"fmt"
)

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
	Msg    string
	Err    error // the cause, or nil
}

// Error returns a message such as `reading votes.csv: line 17, column 3 (label): …`.
func (e *Error) Error() string {
	var place string
	switch {
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
