package array

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/fault"
	"credence/internal/words"
)

// Field is a field of records: float64 in a shape.
type Field struct {
	Name  string
	Shape []int // of one record; nil for a single value
}

// Len returns how many values of a record the field holds.
func (f *Field) Len() int { return product(f.Shape) }

// tuple writes a shape as Python does.
func tuple(shape []int) string {
	text := strings.Join(words.Each(shape, strconv.Itoa), ", ")
	if len(shape) == 1 {
		text += ","
	}
	return "(" + text + ")"
}

// HeaderRecords returns the header of an NPY file of n records, a structured array of numpy: the
// records follow, each with its fields one after the other, without gaps.
func HeaderRecords(fields []Field, n int) ([]byte, error) {
	var list []string
	for _, f := range fields {
		text := fmt.Sprintf("('%s', '<f8'", f.Name)
		if f.Shape != nil {
			text += ", " + tuple(f.Shape)
		}
		list = append(list, text+")")
	}
	header := headerNPY("["+strings.Join(list, ", ")+"]", []int{n})
	if len(header) > 10+math.MaxUint16 {
		return nil, fmt.Errorf("records of %s: their header has %s bytes, more than an NPY file holds",
			words.Plural(len(fields), "field"), words.Thousands(len(header)-10))
	}
	return header, nil
}

// AppendNumbers appends the values of a field to a record.
func AppendNumbers(dst []byte, values []float64) []byte {
	for _, x := range values {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

// Records are those of an NPY file, in memory.
type Records struct {
	Fields []Field
	N      int

	offsets []int // of the fields in a record
	size    int   // bytes of a record
	data    []byte
}

// maxFields bounds the fields of a record.
const maxFields = 64

// ReadRecords reads an NPY file of records whose fields are float64.
func ReadRecords(path string) (*Records, error) {
	f, size, err := fault.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRecords(path, f, size)
}

func readRecords(file string, src io.ReaderAt, size int64) (*Records, error) {
	in := io.NewSectionReader(src, 0, size)
	h := &npyHeader{records: true}
	if err := h.read(file, in); err != nil {
		return nil, err
	}
	r := &Records{Fields: h.fields}
	if len(h.shape) != 1 {
		return nil, fault.Malformed(file, "records of shape %s: expected one after the other", tuple(h.shape))
	}
	for i := range r.Fields {
		r.offsets = append(r.offsets, r.size)
		if r.size += 8 * r.Fields[i].Len(); r.size > MaxRow {
			return nil, fault.Malformed(file, "a record has more than %s bytes", words.Thousands(MaxRow))
		}
	}
	r.N = h.shape[0]
	if r.size == 0 {
		return nil, fault.Malformed(file, "records that hold nothing")
	}
	if left := size - h.size; int64(r.N) > left/int64(r.size) {
		return nil, fault.Malformed(file, "the file is cut short: %s of %s bytes, but %s are there",
			words.Plural(r.N, "record"), words.Thousands(r.size), words.Thousands(int(max(0, left))))
	}
	r.data = make([]byte, r.N*r.size)
	if _, err := io.ReadFull(in, r.data); err != nil {
		return nil, fault.Of(file, err)
	}
	return r, nil
}

// Field returns the number of a field, -1 if there is none of that name.
func (r *Records) Field(name string) int {
	return slices.IndexFunc(r.Fields, func(f Field) bool { return f.Name == name })
}

// Append appends the values of a field of record i to dst and returns it.
func (r *Records) Append(dst []float64, i, field int) []float64 {
	b := r.data[i*r.size+r.offsets[field]:]
	for k := range r.Fields[field].Len() {
		dst = append(dst, math.Float64frombits(binary.LittleEndian.Uint64(b[8*k:])))
	}
	return dst
}

// fields reads the type of records:
//
//	[('weights', '<f8', (3,)), ('alpha', '<f8', (3, 2))]
func (p *literal) fields() ([]Field, error) {
	var list []Field
	err := p.each('[', ']', "elements are not records: expected an array whose type has fields", "bracket", func() error {
		f, err := p.field()
		if err == nil && len(list) == maxFields {
			err = fmt.Errorf("more than %d fields", maxFields)
		}
		list = append(list, f)
		return err
	})
	if err == nil && list == nil {
		err = errors.New("records without fields")
	}
	return list, err
}

func (p *literal) field() (f Field, err error) {
	bad := errors.New("a field is expected as ('name', '<f8', (2,))")
	opened := p.skip('(')
	if f.Name, err = p.quoted(); err != nil || !opened || !p.skip(',') {
		return f, bad
	}
	kind, err := p.quoted()
	if err != nil {
		return f, bad
	}
	if kind != "<f8" {
		return f, fmt.Errorf("field %q has the type %q: expected float64, <f8", f.Name, kind)
	}
	if p.skip(',') {
		if f.Shape, err = p.tuple(); err != nil {
			return f, err
		}
	}
	n := 1
	for _, s := range f.Shape {
		if s > 0 && n > MaxRow/s {
			return f, fmt.Errorf("field %q has more than %d values", f.Name, MaxRow)
		}
		n *= s
	}
	if !p.skip(')') {
		return f, bad
	}
	return f, nil
}
