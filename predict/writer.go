package predict

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"

	"credence/internal/par"
	"credence/internal/table"
)

// Writer writes predictions, several items at a time.
type Writer interface {
	// Write writes the predictions of consecutive items; those with an Err are omitted. more is false if the
	// writer accepts no further items. When ctx is done it stops, writes nothing further, and returns the context's error.
	Write(ctx context.Context, list []Prediction) (more bool, err error)
	Close() error
}

// NewWriter returns a writer of the rows of t to w, in the form that the format of t specifies.
func NewWriter(w io.Writer, t *Table) (Writer, error) {
	switch t.format.Form.Name {
	case "table":
		return &terminalTable{t, w}, nil
	case "npy":
		return newRecordRows(w, t)
	}
	form, err := newSink(w, &t.format.Form, t.columns)
	return &tableRows{sink: form, table: t}, err
}

// sink writes rows in one form.
type sink interface {
	// encode appends values as text, in forms that are text. It is called on all cores.
	encode(dst []byte, values []Value) []byte
	// put writes a piece; flush writes all buffered data.
	put(p *piece) error
	flush() error
	Close() error
}

// piece is the rows of some items: values, and their text in forms that are text.
type piece struct {
	values []Value
	text   []byte
}

// newSink starts a file with the given columns.
func newSink(w io.Writer, f *Form, columns []Column) (sink, error) {
	switch f.Name {
	case "parquet":
		p, err := table.NewParquetWriter(w, typed(columns))
		return &parquetSink{columns: columns, w: p}, err
	case "arrow":
		buffer := bufio.NewWriterSize(w, 1<<16)
		a, err := table.NewArrowWriter(buffer, typed(columns))
		return &arrowSink{columns: columns, w: a, buffer: buffer}, err
	case "jsonl":
		return &textSink{bufio.NewWriterSize(w, 1<<16), columns, f.appendJSON}, nil
	case "csv":
		out := &textSink{bufio.NewWriterSize(w, 1<<16), columns, f.appendCSV}
		_, err := out.w.Write(headerCSV(columns))
		return out, err
	}
	return nil, fmt.Errorf("predictions cannot be written as %q", f.Name)
}

// tableRows writes the rows of a table to a sink.
type tableRows struct {
	sink
	table  *Table
	pieces []piece
}

// textItems is the number of items that one goroutine writes as text at a time.
const textItems = 32

func (t *tableRows) Write(ctx context.Context, list []Prediction) (bool, error) {
	items := 1
	if _, ok := t.sink.(*textSink); ok {
		items = textItems
	}
	pieces := (len(list) + items - 1) / items
	for len(t.pieces) < pieces {
		t.pieces = append(t.pieces, piece{})
	}
	par.Chunks(len(list), items, func(lo, hi int) {
		p := &t.pieces[lo/items]
		p.text, p.values = p.text[:0], p.values[:0]
		for j := lo; j < hi; j++ {
			if list[j].Err == nil && ctx.Err() == nil {
				t.item(ctx, p, &list[j])
			}
		}
	})
	for i := range t.pieces[:pieces] {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := t.put(&t.pieces[i]); err != nil {
			return false, err
		}
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	// A reader that waits at the other end of a pipe gets the predictions now.
	return true, t.flush()
}

// item adds the rows of an item to a piece, unless ctx is done before they are computed.
func (t *tableRows) item(ctx context.Context, p *piece, x *Prediction) {
	if t.table.classes != nil && t.table.format.Form.Name == "csv" {
		p.text = t.table.appendMeans(p.text, x)
		return
	}
	if values, err := t.table.values(ctx, p.values[:0], x); err == nil {
		p.values = values
		p.text = t.encode(p.text, values)
	}
}

// values appends the values of a prediction, and passes its row to Format.Seen.
func (t *Table) values(ctx context.Context, dst []Value, p *Prediction) ([]Value, error) {
	r, err := t.Row(ctx, p)
	if err != nil {
		return dst, err
	}
	if t.format.Seen != nil {
		t.format.Seen(&r)
	}
	return t.Append(dst, &r), nil
}

// textSink writes rows as text.
type textSink struct {
	w       *bufio.Writer
	columns []Column
	rows    func(dst []byte, columns []Column, values []Value) []byte
}

func (t *textSink) encode(dst []byte, values []Value) []byte { return t.rows(dst, t.columns, values) }

func (t *textSink) put(p *piece) error {
	_, err := t.w.Write(p.text)
	return err
}

func (t *textSink) flush() error { return t.w.Flush() }
func (t *textSink) Close() error { return t.w.Flush() }

// typed returns the columns with their types in Parquet and Arrow.
func typed(columns []Column) []table.ParquetColumn {
	list := make([]table.ParquetColumn, len(columns))
	for i, c := range columns {
		list[i] = table.ParquetColumn{Name: c.Name, Kind: table.ParquetKind(c.Kind)}
	}
	return list
}

// parquetSink writes rows to a Parquet file.
type parquetSink struct {
	columns []Column
	w       *table.ParquetWriter
	row     []any
}

func (*parquetSink) encode(dst []byte, _ []Value) []byte { return dst }

func (t *parquetSink) put(p *piece) error {
	for values := p.values; len(values) > 0; values = values[len(t.columns):] {
		t.row = t.row[:0]
		for i := range t.columns {
			t.row = append(t.row, values[i].value(&t.columns[i]))
		}
		if err := t.w.Write(t.row...); err != nil {
			return err
		}
	}
	return nil
}

func (*parquetSink) flush() error   { return nil }
func (t *parquetSink) Close() error { return t.w.Close() }

// value returns the value for a Parquet file.
func (v *Value) value(c *Column) any {
	switch {
	case v.null:
		return nil
	case c.list:
		return string(appendList(nil, v.list))
	case c.Kind == Text:
		return v.Text
	case c.Kind == Number:
		return v.Number
	case c.Kind == Whole:
		return int64(v.Number)
	}
	return v.Number != 0
}

// arrowSink writes rows as an Arrow stream, which other programs can use without conversion.
type arrowSink struct {
	columns []Column
	w       *table.ArrowWriter
	buffer  *bufio.Writer
	list    []byte
}

// arrowBytes is the largest number of bytes that are buffered.
const arrowBytes = 64 << 20

func (*arrowSink) encode(dst []byte, _ []Value) []byte { return dst }

func (t *arrowSink) put(p *piece) error {
	for values := p.values; len(values) > 0; values = values[len(t.columns):] {
		for i := range t.columns {
			t.add(i, &t.columns[i], &values[i])
		}
	}
	if t.w.Size() > arrowBytes {
		return t.w.Flush()
	}
	return nil
}

// add appends a value to column i.
func (t *arrowSink) add(i int, c *Column, v *Value) {
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

func (t *arrowSink) flush() error { return cmp.Or(t.w.Flush(), t.buffer.Flush()) }
func (t *arrowSink) Close() error { return cmp.Or(t.w.Close(), t.buffer.Flush()) }

// WriteRows writes rows other than predictions. The value of each column is a string, float64, int64 or bool, or nil
// if it is unknown.
func WriteRows(w io.Writer, f Form, columns []Column, rows [][]any) error {
	out, err := newSink(w, &f, columns)
	if err != nil {
		return err
	}
	for _, row := range rows {
		p := piece{values: valuesOf(row)}
		p.text = out.encode(nil, p.values)
		if err := out.put(&p); err != nil {
			return err
		}
	}
	return out.Close()
}

// valuesOf converts the values of [WriteRows].
func valuesOf(row []any) []Value {
	values := make([]Value, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case nil:
			values[i].null = true
		case string:
			values[i].Text = v
		case float64:
			values[i].Number = v
		case int64:
			values[i].Number = float64(v)
		case bool:
			values[i] = truth(v)
		}
	}
	return values
}
