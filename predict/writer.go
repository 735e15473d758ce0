package predict

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"credence/internal/par"
	"credence/internal/table"
)

// Writer writes predictions, some items at a time.
type Writer interface {
	// Write writes the predictions of consecutive items; those with an Err are left out. It returns false if it
	// takes no more. When ctx is done it stops, writes nothing further, and returns the context's error.
	Write(ctx context.Context, list []Prediction) (more bool, err error)
	Close() error
}

// NewWriter returns a writer of the rows of t to w, in the form that its format names.
func NewWriter(w io.Writer, t *Table) (Writer, error) {
	switch t.format.Form.Name {
	case "table":
		return &terminalTable{t, w}, nil
	case "parquet":
		p, err := newParquet(w, t.columns)
		return &parquetRows{cells: cellRows{table: t}, w: p}, err
	case "arrow":
		return newArrowRows(w, t)
	case "npy":
		return newRecordRows(w, t)
	case "jsonl":
		return &textRows{table: t, w: bufio.NewWriterSize(w, 1<<16), encode: t.format.appendJSON}, nil
	case "csv":
		out := &textRows{table: t, w: bufio.NewWriterSize(w, 1<<16), encode: t.format.appendCSV}
		_, err := out.w.Write(headerCSV(t.columns))
		return out, err
	}
	return nil, fmt.Errorf("predictions cannot be written as %q", t.format.Form.Name)
}

// encoder appends rows as text.
type encoder func(dst []byte, columns []Column, cells []Cell) []byte

// textRows writes rows as text, which is made on all cores.
type textRows struct {
	table  *Table
	w      *bufio.Writer
	encode encoder
	pieces []textPiece
}

// textPiece is the text of some items, and memory to make it in.
type textPiece struct {
	text  []byte
	cells []Cell
}

// textItems is the number of items that one goroutine writes at a time.
const textItems = 32

func (t *textRows) Write(ctx context.Context, list []Prediction) (bool, error) {
	n := len(list)
	pieces := (n + textItems - 1) / textItems
	for len(t.pieces) < pieces {
		t.pieces = append(t.pieces, textPiece{})
	}
	par.For(pieces, func(i int) {
		p := &t.pieces[i]
		p.text = p.text[:0]
		for j := i * textItems; j < min(n, (i+1)*textItems); j++ {
			if list[j].Err == nil && ctx.Err() == nil {
				t.item(ctx, p, &list[j])
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return false, err
	}
	for i := range t.pieces[:pieces] {
		if _, err := t.w.Write(t.pieces[i].text); err != nil {
			return false, err
		}
	}
	// Whoever waits for an answer at the other end of a pipe gets it now.
	return true, t.w.Flush()
}

// item appends the text of an item, unless ctx is done before it is made.
func (t *textRows) item(ctx context.Context, p *textPiece, x *Prediction) {
	if t.table.classes != nil && t.table.format.Form.Name == "csv" {
		p.text = t.table.appendMeans(p.text, x)
		return
	}
	var err error
	if p.cells, err = t.table.cells(ctx, p.cells[:0], x); err != nil {
		return
	}
	p.text = t.encode(p.text, t.table.columns, p.cells)
}

// cells appends the cells of a prediction, and passes its row on to whoever wants to see it.
func (t *Table) cells(ctx context.Context, dst []Cell, p *Prediction) ([]Cell, error) {
	r, err := t.Row(ctx, p)
	if err != nil {
		return dst, err
	}
	if t.format.Seen != nil {
		t.format.Seen(&r)
	}
	return t.Append(dst, &r), nil
}

func (t *textRows) Close() error { return t.w.Flush() }

// newParquet begins a Parquet file with the given columns.
func newParquet(w io.Writer, columns []Column) (*table.ParquetWriter, error) {
	return table.NewParquetWriter(w, typed(columns))
}

// typed returns columns with their types, to write.
func typed(columns []Column) []table.ParquetColumn {
	list := make([]table.ParquetColumn, len(columns))
	for i, c := range columns {
		list[i] = table.ParquetColumn{Name: c.Name, Kind: table.ParquetKind(c.Kind)}
	}
	return list
}

// parquetRows writes rows to a Parquet file.
type parquetRows struct {
	cells cellRows
	w     *table.ParquetWriter
	row   []any
}

// cellRows makes the cells of items, on all cores.
type cellRows struct {
	table *Table
	lists [][]Cell // of items
}

// of returns the cells of each item: those of its rows, one row behind the other.
func (t *cellRows) of(ctx context.Context, list []Prediction) ([][]Cell, error) {
	for len(t.lists) < len(list) {
		t.lists = append(t.lists, nil)
	}
	par.For(len(list), func(j int) {
		t.lists[j] = t.lists[j][:0]
		if list[j].Err == nil && ctx.Err() == nil {
			t.lists[j], _ = t.table.cells(ctx, t.lists[j], &list[j])
		}
	})
	return t.lists[:len(list)], ctx.Err()
}

func (t *parquetRows) Write(ctx context.Context, list []Prediction) (bool, error) {
	columns := t.cells.table.columns
	made, err := t.cells.of(ctx, list)
	if err != nil {
		return false, err
	}
	for _, cells := range made {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for ; len(cells) > 0; cells = cells[len(columns):] {
			t.row = appendValues(t.row[:0], columns, cells)
			if err := t.w.Write(t.row...); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// appendValues appends the values of a row for a Parquet file.
func appendValues(dst []any, columns []Column, row []Cell) []any {
	for i := range columns {
		c, v := &columns[i], &row[i]
		switch {
		case v.null:
			dst = append(dst, nil)
		case c.list:
			dst = append(dst, string(appendList(nil, v.list)))
		case c.Kind == Text:
			dst = append(dst, v.Text)
		case c.Kind == Number:
			dst = append(dst, v.Number)
		case c.Kind == Whole:
			dst = append(dst, int64(v.Number))
		default:
			dst = append(dst, v.Number != 0)
		}
	}
	return dst
}

func (t *parquetRows) Close() error { return t.w.Close() }

// WriteRows writes rows of other things than predictions: a string, float64, int64, bool or, for what
// is not known, nil for each column.
func WriteRows(w io.Writer, f Form, columns []Column, rows [][]any) error {
	if f.Name == "parquet" {
		p, err := newParquet(w, columns)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := p.Write(row...); err != nil {
				return err
			}
		}
		return p.Close()
	}
	b := bufio.NewWriter(w)
	encode := f.appendJSON
	if f.Name == "csv" {
		encode = f.appendCSV
		if _, err := b.Write(headerCSV(columns)); err != nil {
			return err
		}
	}
	for _, row := range rows {
		if _, err := b.Write(encode(nil, columns, cellsOf(row))); err != nil {
			return err
		}
	}
	return b.Flush()
}

// cellsOf returns values as cells.
func cellsOf(row []any) []Cell {
	cells := make([]Cell, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil:
			cells[i].null = true
		case string:
			cells[i].Text = v
		case float64:
			cells[i].Number = v
		case int64:
			cells[i].Number = float64(v)
		case bool:
			cells[i] = truth(v)
		}
	}
	return cells
}
