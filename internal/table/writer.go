package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// ParquetColumn is a column of a Parquet file to write.
type ParquetColumn struct {
	Name string
	Kind ParquetKind
}

// ParquetKind is the type of a column to write. All may be null.
type ParquetKind uint8

const (
	ParquetText ParquetKind = iota
	ParquetNumber
	ParquetWhole
	ParquetBool
)

// ParquetWriter writes rows to a Parquet file as they come, holding one row
// group of rowsPerGroup rows and GroupValues values at most.
type ParquetWriter struct {
	columns []ParquetColumn
	w       *parquet.GenericWriter[any]
	row     parquet.Row
	n       int
}

const rowsPerGroup = 1 << 16

// GroupValues bounds the values of a row group, whose rows are then fewer where there are more than 128 columns.
const GroupValues = 1 << 23

// ordered is a group whose fields keep their order; parquet.Group sorts them.
type ordered struct {
	parquet.Group
	names []string
}

func (o ordered) Fields() []parquet.Field {
	by := make(map[string]parquet.Field, len(o.names))
	for _, f := range o.Group.Fields() {
		by[f.Name()] = f
	}
	fields := make([]parquet.Field, len(o.names))
	for i, name := range o.names {
		fields[i] = by[name]
	}
	return fields
}

// parquetNodes are how the library describes columns of a kind.
var parquetNodes = map[ParquetKind]parquet.Node{ParquetText: parquet.String(), ParquetNumber: parquet.Leaf(parquet.DoubleType),
	ParquetWhole: parquet.Int(64), ParquetBool: parquet.Leaf(parquet.BooleanType)}

// NewParquetWriter begins a file with the given columns, in that order.
func NewParquetWriter(w io.Writer, columns []ParquetColumn) (*ParquetWriter, error) {
	root := ordered{Group: parquet.Group{}}
	for _, c := range columns {
		root.names = append(root.names, c.Name)
		root.Group[c.Name] = parquet.Compressed(parquet.Optional(parquetNodes[c.Kind]), &parquet.Snappy)
	}
	if err := checkHeader("a Parquet file to write", 0, root.names); err != nil {
		return nil, err
	}
	return &ParquetWriter{columns: columns, w: parquet.NewGenericWriter[any](w, parquet.NewSchema("rows", root))}, nil
}

// Write appends a row: a string, float64, int64 or bool for each column, as
// its kind says, or nil for null.
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

// Append writes the rows of a file that another ParquetWriter with the same columns wrote: the result is the same
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
