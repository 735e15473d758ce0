package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cellKind says what a cell of a table holds.
type cellKind uint8

const (
	textCell    cellKind = iota
	numberCell           // num
	wholeCell            // whole
	vectorCell           // vec
	missingCell          // nothing: a null
)

// cell is one value of a table. Text tables have text cells alone; those of
// typed formats have the others as well.
type cell struct {
	text  string
	num   float64
	whole int64
	vec   []float32
	kind  cellKind
}

// string returns the cell as text, without blanks around it.
func (c *cell) string() string {
	switch c.kind {
	case textCell:
		return strings.TrimSpace(c.text)
	case numberCell:
		if math.IsNaN(c.num) {
			return ""
		}
		return formatNumber(c.num)
	case wholeCell:
		return strconv.FormatInt(c.whole, 10)
	case vectorCell:
		return fmt.Sprintf("a list of %d numbers", len(c.vec))
	}
	return ""
}

// formatNumber writes whole numbers without an exponent.
func formatNumber(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// table is a source of records under named columns.
type table interface {
	name() string     // of the file, for messages
	header() []string // unique names
	// next returns the next record, valid until the next call, and io.EOF
	// after the last.
	next() ([]cell, error)
	// errorAt reports something wrong in column col of the last record, or in
	// all of it when col is negative.
	errorAt(col int, format string, args ...any) error
	line() int // of the last record
	close() error
}

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

// stdinName is what messages call the file "-".
const stdinName = "standard input"

var (
	voteNA    = []string{"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"}
	featureNA = append(slices.Clone(voteNA), "None", "none", "-", ".", "?")
)

// missing reports whether a cell holds nothing.
func (o *TableOptions) missing(c *cell, usual []string) bool {
	switch c.kind {
	case missingCell:
		return true
	case numberCell:
		return math.IsNaN(c.num)
	case textCell:
		s := strings.TrimSpace(c.text)
		if s == "" {
			return true
		}
		if o.NA != nil {
			usual = o.NA
		}
		return len(s) <= maxNA(usual) && slices.Contains(usual, s)
	}
	return false
}

func maxNA(list []string) int {
	n := 0
	for _, s := range list {
		n = max(n, len(s))
	}
	return n
}

// openTable opens a file as a table, by its extension.
func openTable(path string, opts TableOptions) (table, error) {
	if path == "-" && opts.Stdin != nil {
		return newCSV(io.NopCloser(bytes.NewReader(opts.Stdin)), stdinName, opts)
	}
	ext := strings.ToLower(filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz")))
	switch ext {
	case ".parquet", ".pq":
		return openParquet(path)
	case ".npy":
		return openNPYTable(path)
	case ".npz", ".idx", ".xlsx", ".xls", ".json", ".jsonl", ".feather", ".arrow", ".rds", ".sav", ".dta":
		return nil, &ParseError{File: path, Msg: fmt.Sprintf("%s is not a format for tables: use CSV, TSV or Parquet", ext)}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	return newCSV(f, path, opts)
}

// openError drops the operation and the path, which ParseError says already.
func openError(path string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return failed(path, err)
}

// column returns the index of a named column, or an error that lists them.
func column(t table, name string) (int, error) {
	for i, h := range t.header() {
		if h == name {
			return i, readable(t, i)
		}
	}
	return -1, &ParseError{File: t.name(), Name: name, Msg: fmt.Sprintf("no column %q among [%s]", name, few(t.header())), Err: ErrNoColumn}
}

// lacking holds the errors about columns that were named and are not there.
type lacking []*ParseError

// lackingOf returns what t lacks of the named columns.
func lackingOf(t table, names []string) lacking {
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

// checkHeader refuses tables without columns and with two of one name.
func checkHeader(file string, line int, names []string) error {
	if len(names) == 0 {
		return &ParseError{File: file, Msg: "no columns"}
	}
	seen := make(map[string]int, len(names))
	for i, n := range names {
		if j, ok := seen[n]; ok {
			return &ParseError{File: file, Line: line, Column: i + 1, Msg: fmt.Sprintf("column %q is there already, as column %d", n, j+1)}
		}
		seen[n] = i
	}
	return nil
}

// records calls f with every record of t.
func records(t table, f func([]cell) error) error {
	for {
		rec, err := t.next()
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
