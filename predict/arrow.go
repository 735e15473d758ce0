package predict

import (
	"bufio"
	"context"
	"io"

	"credence/internal/table"
)

// arrowRows writes rows as an Arrow stream, which other programs take over as they are.
type arrowRows struct {
	cells  cellRows
	w      *table.ArrowWriter
	buffer *bufio.Writer
	list   []byte
}

// arrowBytes is how much waits at most before it is written.
const arrowBytes = 64 << 20

func newArrowRows(w io.Writer, rows *Table) (*arrowRows, error) {
	t := &arrowRows{cells: cellRows{table: rows}, buffer: bufio.NewWriterSize(w, 1<<16)}
	var err error
	t.w, err = table.NewArrowWriter(t.buffer, typed(rows.columns))
	return t, err
}

func (t *arrowRows) Write(ctx context.Context, list []Prediction) (bool, error) {
	columns := t.cells.table.columns
	made, err := t.cells.of(ctx, list)
	if err != nil {
		return false, err
	}
	for _, cells := range made {
		for ; len(cells) > 0; cells = cells[len(columns):] {
			for i := range columns {
				t.put(i, &columns[i], &cells[i])
			}
		}
		if t.w.Size() > arrowBytes {
			if err := t.w.Flush(); err != nil {
				return false, err
			}
		}
	}
	if err := t.w.Flush(); err != nil {
		return false, err
	}
	// Whoever waits for an answer at the other end of a pipe gets it now.
	return true, t.buffer.Flush()
}

// put appends a cell to column i.
func (t *arrowRows) put(i int, c *Column, v *Cell) {
	switch {
	case v.null:
		t.w.Null(i)
	case c.list:
		t.list = appendList(t.list[:0], v.list)
		t.w.Text(i, string(t.list))
	case c.Kind == Text:
		t.w.Text(i, v.Text)
	case c.Kind == Number:
		t.w.Number(i, v.Number)
	case c.Kind == Whole:
		t.w.Whole(i, int64(v.Number))
	default:
		t.w.Bool(i, v.Number != 0)
	}
}

func (t *arrowRows) Close() error {
	if err := t.w.Close(); err != nil {
		return err
	}
	return t.buffer.Flush()
}
