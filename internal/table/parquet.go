package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"credence/internal/array"
	"credence/internal/budget"
	"credence/internal/fault"
)

// parquetTable reads the scalar columns of a Parquet file and its lists of
// numbers, a few rows at a time.
type parquetTable struct {
	base
	plain  *plainParquet
	pq     *parquet.File
	leaves []parquetLeaf

	wanted    []bool          // columns to read
	group     int             // index of the next row group
	left      int64           // rows left in the present row group
	columns   []*columnReader // of the present row group; nil for columns not to be read
	values    []parquet.Value // buffer
	blockRows int64           // rows read at a time

	free, ready chan *parquetBlock
	quit        chan struct{}
	current     *parquetBlock // the block that Next returns rows of
	at          int           // its next row
}

// parquetLeaf is a column of values.
type parquetLeaf struct {
	list     bool
	listed   int // definition level of a list element, null or not
	typ      parquet.Type
	scale    float64 // of a decimal; 0 otherwise
	half     bool
	unsigned bool
	uuid     bool
	null     bool  // the column has the null type, without any values
	unread   error // why values cannot be read, or nil
}

// Rows returns the number of records.
func (t *parquetTable) Rows() int { return int(t.pq.NumRows()) }

func openParquet(ctx context.Context, in input, opts Options) (Table, error) {
	src, size, err := in.open()
	if err != nil {
		return nil, err
	}
	t, err := newParquet(ctx, in.name, src, size, budget.Of(opts.Memory))
	if err != nil {
		src.Close()
		return nil, err
	}
	t.src = src
	return t, nil
}

// NewParquet opens a Parquet file in memory. The name is used in messages.
func NewParquet(ctx context.Context, data []byte, name string, opts Options) (Table, error) {
	return openParquet(ctx, input{name: name, text: bytes.NewReader(data)}, opts)
}

// guard is deferred to convert a panic of the Parquet library on a damaged file to an error.
func guard(file string, err *error) {
	if p := recover(); p != nil {
		*err = damaged(file, "%v", p)
	}
}

// newParquet checks all page headers of a file and reads its schema.
func newParquet(ctx context.Context, file string, src io.ReaderAt, size, memory int64) (t *parquetTable, err error) {
	defer guard(file, &err)
	plain, size, err := newPlainParquet(ctx, file, src, size, memory)
	if err != nil {
		return nil, err
	}
	pq, err := parquet.OpenFile(plain, size, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, fault.Malformed(file, "this is not a Parquet file: %v", err)
	}
	t = &parquetTable{base: newRows(file), plain: plain, pq: pq}
	t.values, t.blockRows = make([]parquet.Value, blockRows), blockRows
	t.meter = &budget.Meter{File: file, Limit: memory, Read: func() int64 { return size }}
	schema := pq.Schema()
	// The library's types do not include half-precision numbers, but the
	// metadata do. They list the leaves in the same order.
	var logical []format.LogicalType
	for _, e := range pq.Metadata().Schema {
		if e.Type.Valid {
			logical = append(logical, e.LogicalType)
		}
	}
	for i, path := range schema.Columns() {
		leaf, _ := schema.Lookup(path...)
		name := path[0]
		if leaf.MaxRepetitionLevel == 0 {
			name = strings.Join(path, ".")
		}
		l := parquetLeaf{list: leaf.MaxRepetitionLevel == 1, listed: leaf.MaxDefinitionLevel, typ: leaf.Node.Type()}
		if leaf.Node.Optional() {
			l.listed--
		}
		if i < len(logical) {
			_, l.half = logical[i].Value.(*format.Float16Type)
			_, l.null = logical[i].Value.(*format.NullType)
		}
		l.unread = l.check(leaf.MaxRepetitionLevel)
		if l.list && l.unread == nil {
			t.blockRows = listRows
		}
		t.wanted = append(t.wanted, l.unread == nil)
		t.names = append(t.names, name)
		t.leaves = append(t.leaves, l)
	}
	return t, t.begin(0)
}

// checkFooter checks the end of a Parquet file, the footer's length and the
// magic number, and returns that length.
func checkFooter(file string, src io.ReaderAt, size int64) (int64, error) {
	var end [8]byte
	if size < 12 {
		return 0, fault.Malformed(file, "this is not a Parquet file: it has %d bytes", size)
	}
	if _, err := src.ReadAt(end[:], size-8); err != nil && err != io.EOF {
		return 0, fault.Of(file, err)
	}
	if string(end[4:]) != "PAR1" {
		return 0, fault.Malformed(file, "this is not a Parquet file, or it is truncated: it ends with %q", end[4:])
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > size-12 {
		return 0, damaged(file, "a footer of %s bytes in a file of %s", thousands(n), thousands(size))
	}
	return n, nil
}

// check sets the fields that depend on the logical type. It returns an error for
// columns other than scalars and lists of numbers, which cannot be read.
func (l *parquetLeaf) check(nesting int) error {
	kind, logical := l.typ.Kind(), l.typ.LogicalType()
	if nesting > 1 {
		return errors.New("lists of lists are not supported")
	}
	if logical != nil {
		switch v := logical.Value.(type) {
		case *format.DecimalType:
			l.scale = math.Pow10(-int(v.Scale))
		case *format.IntType:
			l.unsigned = !v.IsSigned
		case *format.UUIDType:
			l.uuid = l.typ.Length() == 16
		}
	}
	switch {
	case kind == parquet.Int96, kind == parquet.FixedLenByteArray && !l.half && !l.uuid && l.scale == 0:
		return fmt.Errorf("values of type %v are not supported", l.typ)
	case l.list && (l.uuid || kind == parquet.ByteArray && l.scale == 0):
		return errors.New("lists of text are not supported")
	}
	return nil
}

func (t *parquetTable) Close() (err error) {
	defer guard(t.file, &err)
	t.pause()
	t.closeColumns()
	if t.src != nil {
		return t.src.Close()
	}
	return nil
}

// scalar sets a cell to a value, or to a missing one for a null.
func (l *parquetLeaf) scalar(c *Cell, v parquet.Value) {
	if v.IsNull() {
		c.Kind = MissingCell
		return
	}
	c.Kind = WholeCell
	switch v.Kind() {
	case parquet.Boolean:
		c.Kind, c.Text = TextCell, strconv.FormatBool(v.Boolean())
	case parquet.Int32:
		c.Whole = int64(v.Int32())
		if l.unsigned {
			c.Whole = int64(v.Uint32())
		}
	case parquet.Int64:
		c.Whole = v.Int64()
		if l.unsigned && c.Whole < 0 {
			// As text, it keeps all digits, as ids need them.
			c.Kind, c.Text = TextCell, strconv.FormatUint(v.Uint64(), 10)
		}
	case parquet.Float:
		c.Kind, c.Num = NumberCell, float64(v.Float())
	case parquet.Double:
		c.Kind, c.Num = NumberCell, v.Double()
	default:
		b := v.ByteArray()
		switch {
		case l.scale != 0:
			c.Kind, c.Num = NumberCell, decimal(b)*l.scale
		case l.half && len(b) == 2:
			c.Kind, c.Num = NumberCell, float64(array.Half(uint16(b[0])|uint16(b[1])<<8))
		case l.uuid && len(b) == 16:
			c.Kind, c.Text = TextCell, fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		default:
			c.Kind, c.Text = TextCell, string(b)
		}
	}
	if l.scale != 0 && c.Kind == WholeCell {
		c.Kind, c.Num = NumberCell, float64(c.Whole)*l.scale
	}
}

// decimal returns the value of a big-endian integer of any size in two's
// complement.
func decimal(b []byte) float64 {
	if len(b) == 0 {
		return 0
	}
	x := float64(int8(b[0]))
	for _, v := range b[1:] {
		x = x*256 + float64(v)
	}
	return x
}

// Unread returns the reason why a column cannot be read, or nil.
func (t *parquetTable) Unread(col int) error { return t.leaves[col].unread }

// errorInRow returns an error about a row of a file that has no lines.
func errorInRow(file string, row int, names []string, col int, msg string) *fault.Error {
	where := fmt.Sprintf("row %d", row)
	if col >= 0 && col < len(names) {
		where += ", column " + names[col]
	}
	return &fault.Error{File: file, Msg: where + ": " + msg}
}
