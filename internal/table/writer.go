package table

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"credence/internal/words"
)

// ParquetColumn is a column of a Parquet file or Arrow stream to write.
type ParquetColumn struct {
	Name string
	Kind ParquetKind
}

// ParquetKind is the type of a column to write. All types may be null.
type ParquetKind uint8

const (
	ParquetText ParquetKind = iota
	ParquetNumber
	ParquetWhole
	ParquetBool
)

// ParquetWriter writes rows to a Parquet file. It buffers one row group, of at
// most rowsPerGroup rows and GroupValues values.
type ParquetWriter struct {
	columns []ParquetColumn
	w       *parquet.GenericWriter[any]
	row     parquet.Row
	n       int
}

const rowsPerGroup = 1 << 16

// GroupValues limits the values of a row group, which has fewer rows if there are more than 128 columns.
const GroupValues = 1 << 23

// ordered is a group whose fields keep their order. A parquet.Group sorts them.
type ordered struct {
	parquet.Group
	at map[string]int // position by name
}

func (o ordered) Fields() []parquet.Field {
	fields := o.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return o.at[a.Name()] - o.at[b.Name()] })
	return fields
}

// parquetNode returns the schema node of the library for a kind of columns.
func parquetNode(kind ParquetKind) parquet.Node {
	switch kind {
	case ParquetText:
		return parquet.String()
	case ParquetWhole:
		return parquet.Int(64)
	case ParquetBool:
		return parquet.Leaf(parquet.BooleanType)
	}
	return parquet.Leaf(parquet.DoubleType)
}

// columnNames returns the names of columns to write.
func columnNames(columns []ParquetColumn) []string {
	return words.Each(columns, func(c ParquetColumn) string { return c.Name })
}

// NewParquetWriter starts a file with the given columns, in that order.
func NewParquetWriter(w io.Writer, columns []ParquetColumn) (*ParquetWriter, error) {
	root := ordered{Group: parquet.Group{}, at: map[string]int{}}
	for i, c := range columns {
		root.at[c.Name] = i
		root.Group[c.Name] = parquet.Compressed(parquet.Optional(parquetNode(c.Kind)), &parquet.Snappy)
	}
	if err := checkHeader("a Parquet file to write", 0, columnNames(columns)); err != nil {
		return nil, err
	}
	return &ParquetWriter{columns: columns, w: parquet.NewGenericWriter[any](w, parquet.NewSchema("rows", root))}, nil
}

// Write appends a row: for each column a string, float64, int64 or bool,
// according to its kind, or nil for null.
func (p *ParquetWriter) Write(values ...any) (err error) {
	defer guard("a Parquet file to write", &err)
	if len(values) != len(p.columns) {
		return fmt.Errorf("%d values for %d columns", len(values), len(p.columns))
	}
	p.row = p.row[:0]
	for i, v := range values {
		kind, x := p.columns[i].Kind, parquet.NullValue()
		ok := true
		switch v := v.(type) {
		case nil:
			p.row = append(p.row, x.Level(0, 0, i))
			continue
		case string:
			ok, x = kind == ParquetText, parquet.ByteArrayValue([]byte(strings.ToValidUTF8(v, "\ufffd")))
		case float64:
			ok, x = kind == ParquetNumber, parquet.DoubleValue(v)
		case int64:
			ok, x = kind == ParquetWhole, parquet.Int64Value(v)
		case bool:
			ok, x = kind == ParquetBool, parquet.BooleanValue(v)
		default:
			ok = false
		}
		if !ok {
			return fmt.Errorf("column %q cannot hold %v", p.columns[i].Name, v)
		}
		p.row = append(p.row, x.Level(0, 1, i))
	}
	return p.write(p.row)
}

func (p *ParquetWriter) write(row parquet.Row) error {
	if _, err := p.w.WriteRows([]parquet.Row{row}); err != nil {
		return err
	}
	if p.n++; p.n%min(rowsPerGroup, max(1, GroupValues/len(p.columns))) == 0 {
		return p.w.Flush()
	}
	return nil
}

// Append appends the rows of a file written by another ParquetWriter with the same columns. The result is the same
// as if they had been written here. The file is trusted.
func (p *ParquetWriter) Append(r io.ReaderAt, size int64) (err error) {
	defer guard("a Parquet file to append", &err)
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	rows := make([]parquet.Row, 256)
	for _, group := range f.RowGroups() {
		if err := p.appendGroup(group, rows); err != nil {
			return err
		}
	}
	return nil
}

func (p *ParquetWriter) appendGroup(group parquet.RowGroup, buffer []parquet.Row) error {
	in := group.Rows()
	defer in.Close()
	for {
		n, err := in.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if err := p.write(row); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Close writes the end of the file.
func (p *ParquetWriter) Close() (err error) {
	defer guard("a Parquet file to write", &err)
	return p.w.Close()
}

// ArrowWriter writes an Arrow stream. Values are appended to columns one by one, and [ArrowWriter.Flush] writes
// the complete rows.
type ArrowWriter struct {
	w       io.Writer
	columns []arrowBuilder
}

// arrowBuilder holds the values of a column that are not written yet.
type arrowBuilder struct {
	kind    ParquetKind
	n       int    // rows
	nulls   int    // rows without a value
	valid   []byte // one bit per row
	offsets []byte // of texts: the start of each, then the end
	data    []byte
}

// Constants of Arrow's format: message kinds, types, and the version.
const (
	arrowSchema  = 1
	arrowBatch   = 3
	arrowInt     = 2
	arrowFloat   = 3
	arrowUtf8    = 5
	arrowBool    = 6
	arrowVersion = 4 // called V5
)

// NewArrowWriter starts a stream with the given columns, in that order.
func NewArrowWriter(w io.Writer, columns []ParquetColumn) (*ArrowWriter, error) {
	fields := make([]flatFields, len(columns))
	a := &ArrowWriter{w: w, columns: make([]arrowBuilder, len(columns))}
	for i, c := range columns {
		a.columns[i].kind = c.Kind
		typ, details := arrowUtf8, flatFields{}
		switch c.Kind {
		case ParquetNumber:
			typ, details = arrowFloat, flatFields{0: int16(2)} // 64 bits
		case ParquetWhole:
			typ, details = arrowInt, flatFields{0: int32(64), 1: int8(1)} // with a sign
		case ParquetBool:
			typ = arrowBool
		}
		fields[i] = flatFields{0: strings.ToValidUTF8(c.Name, "\ufffd"), 1: int8(1), 2: int8(typ), 3: details, 5: []flatFields{}}
	}
	if err := checkHeader("an Arrow stream to write", 0, columnNames(columns)); err != nil {
		return nil, err
	}
	return a, a.message(arrowSchema, flatFields{1: fields}, 0)
}

// message writes the head of a message. The caller writes the body, of the given size.
func (a *ArrowWriter) message(kind int8, header flatFields, body int) error {
	m := flatten(flatFields{0: int16(arrowVersion), 1: kind, 2: header, 3: int64(body)})
	m = append(m, make([]byte, -len(m)&7)...) // to a multiple of 8
	head := binary.LittleEndian.AppendUint32(slices.Clone(arrowMark), uint32(len(m)))
	_, err := a.w.Write(append(head, m...))
	return err
}

// row adds a row to column i, with or without a value.
func (a *ArrowWriter) row(i int, has bool) *arrowBuilder {
	c := &a.columns[i]
	c.valid = appendBit(c.valid, c.n, has)
	if !has {
		c.nulls++
	}
	c.n++
	return c
}

// appendBit appends a bit to a bitmap of i bits.
func appendBit(bits []byte, i int, x bool) []byte {
	if i%8 == 0 {
		bits = append(bits, 0)
	}
	if x {
		bits[i/8] |= 1 << (i % 8)
	}
	return bits
}

// Text appends a text to column i.
func (a *ArrowWriter) Text(i int, s string) {
	c := a.row(i, true)
	c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(len(c.data)))
	c.data = append(c.data, strings.ToValidUTF8(s, "\ufffd")...)
}

// Number appends a number to column i.
func (a *ArrowWriter) Number(i int, x float64) {
	c := a.row(i, true)
	c.data = binary.LittleEndian.AppendUint64(c.data, math.Float64bits(x))
}

// Whole appends a whole number to column i.
func (a *ArrowWriter) Whole(i int, x int64) {
	c := a.row(i, true)
	c.data = binary.LittleEndian.AppendUint64(c.data, uint64(x))
}

// Bool appends a boolean to column i.
func (a *ArrowWriter) Bool(i int, x bool) {
	c := a.row(i, true)
	c.data = appendBit(c.data, c.n-1, x)
}

// Null appends a null to column i.
func (a *ArrowWriter) Null(i int) {
	c := a.row(i, false)
	switch c.kind {
	case ParquetText:
		c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(len(c.data)))
	case ParquetBool:
		c.data = appendBit(c.data, c.n-1, false)
	default:
		c.data = binary.LittleEndian.AppendUint64(c.data, 0)
	}
}

// Size returns the number of bytes that are not written yet.
func (a *ArrowWriter) Size() int {
	size := 0
	for i := range a.columns {
		c := &a.columns[i]
		size += len(c.valid) + len(c.offsets) + len(c.data)
	}
	return size
}

// Flush writes the rows so far. All columns must have the same number of rows.
func (a *ArrowWriter) Flush() error {
	if len(a.columns) == 0 || a.columns[0].n == 0 {
		return nil
	}
	var nodes, places flatStructs
	var buffers [][]byte
	body := 0
	add := func(b []byte) {
		places = append(places, [2]int64{int64(body), int64(len(b))})
		buffers = append(buffers, b)
		body += (len(b) + 7) / 8 * 8
	}
	for i := range a.columns {
		c := &a.columns[i]
		nodes = append(nodes, [2]int64{int64(c.n), int64(c.nulls)})
		if c.nulls > 0 {
			add(c.valid)
		} else {
			add(nil)
		}
		if c.kind == ParquetText {
			c.offsets = binary.LittleEndian.AppendUint32(c.offsets, uint32(len(c.data)))
			add(c.offsets)
		}
		add(c.data)
	}
	header := flatFields{0: int64(a.columns[0].n), 1: nodes, 2: places}
	if err := a.message(arrowBatch, header, body); err != nil {
		return err
	}
	var zeros [8]byte
	for _, b := range buffers {
		if _, err := a.w.Write(b); err != nil {
			return err
		}
		if _, err := a.w.Write(zeros[:-len(b)&7]); err != nil {
			return err
		}
	}
	for i := range a.columns {
		c := &a.columns[i]
		c.n, c.nulls, c.valid, c.offsets, c.data = 0, 0, c.valid[:0], c.offsets[:0], c.data[:0]
	}
	return nil
}

// Close writes the rows so far, and the end of the stream.
func (a *ArrowWriter) Close() error {
	if err := a.Flush(); err != nil {
		return err
	}
	_, err := a.w.Write(append(slices.Clone(arrowMark), 0, 0, 0, 0))
	return err
}
