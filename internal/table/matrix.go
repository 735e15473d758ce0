package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"credence/internal/array"
	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/words"
)

// matrix shows a matrix in an NPY file as a table with columns named 0, 1, 2, …
type matrix struct {
	base
	a   *array.Array
	row []float32
}

// maxMatrix bounds the columns of a matrix.
const maxMatrix = 100_000

func openMatrix(ctx context.Context, in input, opts Options) (Table, error) {
	a, err := array.OpenNPY(in.name)
	if err != nil {
		return nil, err
	}
	t, err := newMatrix(ctx, a, budget.Of(opts.Memory))
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return t, nil
}

func newMatrix(ctx context.Context, a *array.Array, memory int64) (*matrix, error) {
	if len(a.Shape) != 2 {
		return nil, fault.Malformed(a.File(), "an array of %s: votes are a matrix with one row per item", words.Shape(a.Shape))
	}
	if err := budget.Check(memory, a.Bytes(), a.File(), "a matrix of %s in Fortran order", words.Shape(a.Shape)); err != nil && a.Fortran() {
		return nil, err
	}
	a, err := a.RowMajor(ctx, array.Options{Memory: a.Bytes()})
	if err != nil {
		return nil, err
	}
	w := a.Width()
	if w > maxMatrix {
		return nil, fault.Malformed(a.File(), "%s columns: too many for votes", words.Thousands(w))
	}
	t := &matrix{a: a, row: make([]float32, w), base: base{file: a.File(), src: a, cells: make([]Cell, w)}}
	t.meter = &budget.Meter{File: a.File(), Limit: memory, Read: a.Bytes}
	for i := range w {
		t.names = append(t.names, strconv.Itoa(i))
	}
	return t, nil
}

func (t *matrix) Keep(n int) error { return t.meter.Keep(int64(n), "what is kept of the rows") }

func (t *matrix) Next() ([]Cell, error) {
	if t.line == t.a.Len() {
		return nil, io.EOF
	}
	if err := t.a.ReadRow(t.line, t.row); err != nil {
		return nil, err
	}
	t.line++
	for i, x := range t.row {
		t.cells[i] = Cell{Kind: NumberCell, Num: float64(x)}
	}
	return t.cells, nil
}

func (t *matrix) ErrorAt(col int, format string, args ...any) *fault.Error {
	return &fault.Error{File: t.Name(), Msg: fmt.Sprintf("row %d, column %d: %s", t.line-1, max(col, 0), fmt.Sprintf(format, args...))}
}
