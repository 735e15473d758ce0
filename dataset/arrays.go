package dataset

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"credence/internal/words"
)

// readNPYFeatures takes an array as one feature named "x".
func readNPYFeatures(path string, opts *FeatureOptions) (*Features, error) {
	a, err := OpenNPY(path)
	if err != nil {
		return nil, err
	}
	return arrayFeatures(a, opts)
}

func readIDXFeatures(path string, opts *FeatureOptions) (*Features, error) {
	a, err := openIDX(path, opts)
	if err != nil {
		return nil, err
	}
	return arrayFeatures(a, opts)
}

func readNPZFeatures(path string, opts *FeatureOptions) (*Features, error) {
	a, err := openNPZ(path, opts.Array, opts)
	if err != nil {
		return nil, err
	}
	return arrayFeatures(a, opts)
}

// arrayPart is the name of a feature that comes from an array.
const arrayPart = "x"

// arrayFeatures makes features of an array, whose items are numbered from 0.
func arrayFeatures(a *Array, opts *FeatureOptions) (*Features, error) {
	if opts.GroupColumn != "" || opts.SplitColumn != "" || opts.WeightColumn != "" {
		return nil, errors.Join(&ParseError{File: a.file, Msg: "an array has no columns for groups, splits or weights: give them in a table beside it"}, a.Close())
	}
	b, err := a.rowMajor(opts)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	shape, rows, err := opts.Layout.arrange(b.Shape[1:], b)
	if err != nil {
		return nil, errors.Join(&ParseError{File: a.file, Msg: err.Error()}, b.Close())
	}
	part := Part{Name: arrayPart, Kind: Tensor, Shape: shape}
	if len(opts.Schema) == 1 && opts.Schema[0].Kind == Tensor {
		part.Name = opts.Schema[0].Name
	}
	f := &Features{Parts: []Part{part}, Rows: rows, numbered: true, closers: []io.Closer{b}}
	f.Columns = []ColumnInfo{{Name: part.Name, Role: Feature, Part: part}}
	f.Items = make([]string, rows.Len())
	for i := range f.Items {
		f.Items[i] = strconv.Itoa(i)
	}
	return f, nil
}

// npyTable shows a matrix as a table with columns named 0, 1, 2, …
type npyTable struct {
	a     *Array
	names []string
	row   []float32
	cells []cell
	at    int
}

func openNPYTable(path string) (table, error) {
	a, err := OpenNPY(path)
	if err != nil {
		return nil, err
	}
	t, err := newNPYTable(a)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return t, nil
}

func newNPYTable(a *Array) (*npyTable, error) {
	if len(a.Shape) != 2 {
		return nil, malformed(a.file, "an array of %s: votes are a matrix with one row an item", shapeString(a.Shape))
	}
	a, err := a.rowMajor(&FeatureOptions{})
	if err != nil {
		return nil, err
	}
	w := a.Width()
	if w > 100*maxClasses {
		return nil, malformed(a.file, "%s columns: too many for votes", words.Thousands(w))
	}
	t := &npyTable{a: a, row: make([]float32, w), cells: make([]cell, w)}
	for i := range w {
		t.names = append(t.names, strconv.Itoa(i))
	}
	return t, nil
}

func (t *npyTable) name() string     { return t.a.file }
func (t *npyTable) header() []string { return t.names }
func (t *npyTable) line() int        { return t.at }
func (t *npyTable) close() error     { return t.a.Close() }

func (t *npyTable) next() ([]cell, error) {
	if t.at == t.a.Len() {
		return nil, io.EOF
	}
	if err := t.a.ReadRow(t.at, t.row); err != nil {
		return nil, err
	}
	t.at++
	for i, x := range t.row {
		t.cells[i] = cell{kind: numberCell, num: float64(x)}
	}
	return t.cells, nil
}

func (t *npyTable) errorAt(col int, format string, args ...any) error {
	return &ParseError{File: t.name(), Msg: fmt.Sprintf("row %d, column %d: %s", t.at-1, max(col, 0), fmt.Sprintf(format, args...))}
}
