package prediction

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
	// Write writes the predictions of some items. It returns false if it wants
	// no more. When ctx is done it stops, writes nothing further, and returns the
	// context's error.
	Write(ctx context.Context, a *Answers) (more bool, err error)
	Close() error
}

// NewWriter returns the one that writes the rows of k to w, in the form of its options.
func NewWriter(w io.Writer, k *Maker) (Writer, error) {
	o := k.options
	switch o.Form.Name {
	case "table":
		return &terminalTable{k, w}, nil
	case "parquet":
		p, err := newParquet(w, k.list)
		return &parquetRows{cells: cellRows{k: k}, w: p}, err
	case "arrow":
		return newArrowRows(w, k)
	case "npy":
		return newRecords(w, k.model, o)
	case "jsonl":
		return &textRows{k: k, w: bufio.NewWriterSize(w, 1<<16), encode: o.appendJSON}, nil
	case "csv":
		t := &textRows{k: k, w: bufio.NewWriterSize(w, 1<<16), encode: o.appendCSV}
		t.csv, _ = k.rowMaker.(csvMaker)
		_, err := t.w.Write(headerCSV(k.list))
		return t, err
	}
	return nil, fmt.Errorf("predictions cannot be written as %q", o.Form.Name)
}

// encoder appends rows as text.
type encoder func(dst []byte, columns []Column, cells []Cell) []byte

// textRows writes rows as text, which is made on all cores.
type textRows struct {
	k      *Maker
	w      *bufio.Writer
	encode encoder
	csv    csvMaker // nil if rows are encoded cell by cell
	pieces []textPiece
}

// textPiece is the text of some items, and memory to make it in.
type textPiece struct {
	text  []byte
	cells []Cell
}

// textItems is of how many items one goroutine writes the text at a time.
const textItems = 32

func (t *textRows) Write(ctx context.Context, a *Answers) (bool, error) {
	n := len(a.Items)
	pieces := (n + textItems - 1) / textItems
	for len(t.pieces) < pieces {
		t.pieces = append(t.pieces, textPiece{})
	}
	par.For(pieces, func(i int) {
		p := &t.pieces[i]
		p.text = p.text[:0]
		for j := i * textItems; j < min(n, (i+1)*textItems); j++ {
			if !a.Dropped[j] && ctx.Err() == nil {
				t.item(ctx, p, a, j)
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
func (t *textRows) item(ctx context.Context, p *textPiece, a *Answers, j int) {
	if t.csv != nil {
		p.text = t.csv.appendCSV(p.text, a.Items[j], &a.List[j])
		return
	}
	var err error
	if p.cells, err = t.k.append(ctx, p.cells[:0], a.Items[j], &a.List[j]); err != nil {
		return
	}
	t.k.see(a, j, p.cells)
	p.text = t.encode(p.text, t.k.list, p.cells)
}

// see passes cells on to whoever wants to see them.
func (k *Maker) see(a *Answers, j int, cells []Cell) {
	if k.options.Seen != nil {
		k.options.Seen(a, j, cells)
	}
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
		list[i] = table.ParquetColumn{Name: c.Name, Kind: c.Kind}
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
	k     *Maker
	cells [][]Cell // of items
}

// of returns the cells of the items, for each item those of its rows, one row behind the other.
func (t *cellRows) of(ctx context.Context, a *Answers) ([][]Cell, error) {
	for len(t.cells) < len(a.Items) {
		t.cells = append(t.cells, nil)
	}
	par.For(len(a.Items), func(j int) {
		t.cells[j] = t.cells[j][:0]
		if a.Dropped[j] || ctx.Err() != nil {
			return
		}
		var err error
		if t.cells[j], err = t.k.append(ctx, t.cells[j], a.Items[j], &a.List[j]); err == nil {
			t.k.see(a, j, t.cells[j])
		}
	})
	return t.cells[:len(a.Items)], ctx.Err()
}

func (t *parquetRows) Write(ctx context.Context, a *Answers) (bool, error) {
	columns := t.cells.k.list
	list, err := t.cells.of(ctx, a)
	if err != nil {
		return false, err
	}
	for _, cells := range list {
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
		case c.Kind == table.ParquetText:
			dst = append(dst, v.Text)
		case c.Kind == table.ParquetNumber:
			dst = append(dst, v.Number)
		case c.Kind == table.ParquetWhole:
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
