package table

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"
)

// ArrowWriter writes an Arrow stream: values go to columns one by one, and [ArrowWriter.Flush] writes the rows
// that are complete.
type ArrowWriter struct {
	w       io.Writer
	columns []arrowBuilder
}

// arrowBuilder is the values of a column that are not written yet.
type arrowBuilder struct {
	kind    ParquetKind
	n       int    // rows
	nulls   int    // of them without a value
	valid   []byte // a bit for each row
	offsets []byte // of texts: where each begins, then the end
	data    []byte
}

// Numbers of Arrow's format: of messages, of types, and the version of both.
const (
	arrowSchema  = 1
	arrowBatch   = 3
	arrowInt     = 2
	arrowFloat   = 3
	arrowUtf8    = 5
	arrowBool    = 6
	arrowVersion = 4 // called V5
)

// NewArrowWriter begins a stream with the given columns, in that order.
func NewArrowWriter(w io.Writer, columns []ParquetColumn) (*ArrowWriter, error) {
	names := make([]string, len(columns))
	fields := make([]flatFields, len(columns))
	a := &ArrowWriter{w: w, columns: make([]arrowBuilder, len(columns))}
	for i, c := range columns {
		a.columns[i].kind = c.Kind
		names[i] = c.Name
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
	if err := checkHeader("an Arrow stream to write", 0, names); err != nil {
		return nil, err
	}
	return a, a.message(arrowSchema, flatFields{1: fields}, 0)
}

// message writes the head of a message, behind which so many bytes follow.
func (a *ArrowWriter) message(kind int8, header flatFields, body int) error {
	m := flatten(flatFields{0: int16(arrowVersion), 1: kind, 2: header, 3: int64(body)})
	m = append(m, make([]byte, -len(m)&7)...) // to a multiple of 8
	head := binary.LittleEndian.AppendUint32(slices.Clone(arrowMark), uint32(len(m)))
	_, err := a.w.Write(append(head, m...))
	return err
}

// row adds a row to column i, with a value or without.
func (a *ArrowWriter) row(i int, has bool) *arrowBuilder {
	c := &a.columns[i]
	c.valid = appendBit(c.valid, c.n, has)
	if !has {
		c.nulls++
	}
	c.n++
	return c
}

// appendBit appends bit i to those of bytes that have i bits before it.
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

// Bool appends a truth to column i.
func (a *ArrowWriter) Bool(i int, x bool) {
	c := a.row(i, true)
	c.data = appendBit(c.data, c.n-1, x)
}

// Null appends nothing to column i.
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

// Size returns how many bytes wait to be written.
func (a *ArrowWriter) Size() int {
	size := 0
	for i := range a.columns {
		c := &a.columns[i]
		size += len(c.valid) + len(c.offsets) + len(c.data)
	}
	return size
}

// Flush writes the rows so far. All columns have as many.
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
