package predict

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

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
type sink struct {
	// encode appends values as text; it is nil in forms that are not text. It is called on all cores.
	encode func(dst []byte, values []Value) []byte
	// put writes a piece; flush writes all buffered data.
	put          func(p *piece) error
	flush, close func() error
}

// piece is the rows of some items: values, and their text in forms that are text.
type piece struct {
	row    Row
	values []Value
	text   []byte
}

// newSink starts a file with the given columns.
func newSink(w io.Writer, f *Form, columns []Column) (*sink, error) {
	switch f.Name {
	case "parquet":
		return newParquetSink(w, columns)
	case "arrow":
		return newArrowSink(w, columns)
	case "jsonl":
		return newTextSink(w, columns, f.appendJSON, nil)
	case "csv":
		return newTextSink(w, columns, f.appendCSV, headerCSV(columns))
	}
	return nil, fmt.Errorf("predictions cannot be written as %q", f.Name)
}

// tableRows writes the rows of a table to a sink.
type tableRows struct {
	*sink
	table  *Table
	pieces []piece
}

// textItems is the number of items that one goroutine writes as text at a time.
const textItems = 32

func (t *tableRows) Write(ctx context.Context, list []Prediction) (bool, error) {
	items := 1
	if t.encode != nil {
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
	if values, err := t.table.values(ctx, &p.row, p.values[:0], x); err == nil {
		p.values = values
		if t.encode != nil {
			p.text = t.encode(p.text, values)
		}
	}
}

// Close writes the end of the file.
func (t *tableRows) Close() error { return t.close() }

// values appends the values of a prediction, and passes its row, in the memory of r, to Format.Seen.
func (t *Table) values(ctx context.Context, r *Row, dst []Value, p *Prediction) ([]Value, error) {
	var err error
	if *r, err = t.Row(ctx, p); err != nil {
		return dst, err
	}
	if t.format.Seen != nil {
		t.format.Seen(r)
	}
	return t.Append(dst, r), nil
}

// newTextSink writes a header, and rows as text.
func newTextSink(w io.Writer, columns []Column, rows func([]byte, []Column, []Value) []byte, header []byte) (*sink, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	_, err := out.Write(header)
	return &sink{
		encode: func(dst []byte, values []Value) []byte { return rows(dst, columns, values) },
		put: func(p *piece) error {
			_, err := out.Write(p.text)
			return err
		},
		flush: out.Flush, close: out.Flush,
	}, err
}

// typed returns the columns with their types in Parquet and Arrow.
func typed(columns []Column) []table.ParquetColumn {
	list := make([]table.ParquetColumn, len(columns))
	for i, c := range columns {
		list[i] = table.ParquetColumn{Name: c.Name, Kind: table.ParquetKind(c.Kind)}
	}
	return list
}

// newParquetSink writes rows to a Parquet file.
func newParquetSink(w io.Writer, columns []Column) (*sink, error) {
	out, err := table.NewParquetWriter(w, typed(columns))
	row := make([]any, len(columns))
	put := func(p *piece) error {
		for values := range slices.Chunk(p.values, len(columns)) {
			for i := range columns {
				row[i] = values[i].value(&columns[i])
			}
			if err := out.Write(row...); err != nil {
				return err
			}
		}
		return nil
	}
	return &sink{put: put, flush: func() error { return nil }, close: out.Close}, err
}

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

// arrowBytes is the largest number of bytes that are buffered.
const arrowBytes = 64 << 20

// newArrowSink writes rows as an Arrow stream, which other programs can use without conversion.
func newArrowSink(w io.Writer, columns []Column) (*sink, error) {
	buffer := bufio.NewWriterSize(w, 1<<16)
	out, err := table.NewArrowWriter(buffer, typed(columns))
	put := func(p *piece) error {
		for values := range slices.Chunk(p.values, len(columns)) {
			for i := range columns {
				values[i].addTo(out, i, &columns[i])
			}
		}
		if out.Size() > arrowBytes {
			return out.Flush()
		}
		return nil
	}
	return &sink{
		put:   put,
		flush: func() error { return cmp.Or(out.Flush(), buffer.Flush()) },
		close: func() error { return cmp.Or(out.Close(), buffer.Flush()) },
	}, err
}

// addTo appends the value to column i of an Arrow stream.
func (v *Value) addTo(w *table.ArrowWriter, i int, c *Column) {
	switch {
	case v.null:
		w.Null(i)
	case c.list:
		w.Text(i, string(appendList(nil, v.list)))
	case c.Kind == Text:
		w.Text(i, v.Text)
	case c.Kind == Number:
		w.Number(i, v.Number)
	case c.Kind == Whole:
		w.Whole(i, int64(v.Number))
	default:
		w.Bool(i, v.Number != 0)
	}
}

// WriteRows writes rows other than predictions. The value of each column is a string, float64, int64 or bool, or nil
// if it is unknown.
func WriteRows(w io.Writer, f Form, columns []Column, rows [][]any) error {
	out, err := newSink(w, &f, columns)
	if err != nil {
		return err
	}
	for _, row := range rows {
		p := piece{values: valuesOf(row)}
		if out.encode != nil {
			p.text = out.encode(nil, p.values)
		}
		if err := out.put(&p); err != nil {
			return err
		}
	}
	return out.close()
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
			values[i].setTruth(v)
		}
	}
	return values
}
