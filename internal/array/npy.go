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

const npyMagic = "\x93NUMPY"

// maxNPYHeader limits the header of an NPY file. By default numpy reads at most
// 10,000 bytes.
const maxNPYHeader = 1 << 16

// OpenNPY opens an NPY file of versions 1 to 3: bool, integers and floats of
// either byte order. Rows are read in place.
func OpenNPY(path string) (*Array, error) {
	return open(path, func(f io.ReaderAt, size int64) (*Array, error) { return npyArray(path, f, 0, size) })
}

// npyArray returns the array of an NPY file that extends from start to end in src.
func npyArray(file string, src io.ReaderAt, start, end int64) (*Array, error) {
	h, err := readNPYHeader(file, io.NewSectionReader(src, start, end-start), false)
	if err == nil {
		err = h.numbers(file)
	}
	if err != nil {
		return nil, err
	}
	return h.newArray(file, src, start+h.size, end)
}

// numbers returns an error if the elements are texts.
func (h *header) numbers(file string) error {
	if h.dt.text() {
		return fault.Malformed(file, "expected an array of numbers, found texts")
	}
	return nil
}

// readNPYHeader reads the header of an NPY file, whose elements are records or plain numbers and texts.
func readNPYHeader(file string, r io.Reader, records bool) (*header, error) {
	fail := func(format string, args ...any) (*header, error) { return nil, fault.Malformed(file, format, args...) }
	var head [12]byte
	if n, err := io.ReadFull(r, head[:10]); err != nil {
		if n == 0 {
			return fail("the file is empty")
		}
		return fail("the file is truncated: %d bytes of a header", n)
	}
	if string(head[:6]) != npyMagic {
		return fail("this is not an NPY file: it begins with %q", head[:6])
	}
	size, length := int64(10), int64(binary.LittleEndian.Uint16(head[8:]))
	switch head[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return fail("the header is truncated")
		}
		size, length = 12, int64(binary.LittleEndian.Uint32(head[8:]))
	default:
		return fail("expected NPY version 1 to 3, found %d.%d", head[6], head[7])
	}
	if length > maxNPYHeader {
		return fail("expected a header of at most %s bytes, found %s", words.Thousands(maxNPYHeader), words.Thousands(int(length)))
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return fail("the header is truncated")
	}
	h := &header{size: size + length}
	if err := h.parse(string(text), records); err != nil {
		return fail("header %.80q: %v", strings.TrimSpace(string(text)), err)
	}
	return h, nil
}

// parse parses the Python dictionary of the header:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
func (h *header) parse(s string, records bool) error {
	p := &literal{s: s}
	var descr, order, shape bool
	err := p.each('{', '}', func() error {
		key, err := p.quoted()
		if err != nil {
			return err
		}
		if !p.skip(':') {
			return p.expected("a colon")
		}
		switch key {
		case "descr":
			var text string
			descr = true
			if records {
				if h.fields, err = p.fields(); err != nil {
					err = fmt.Errorf("expected an array of records: %w", err)
				}
				return err
			}
			if text, err = p.quoted(); err != nil {
				return fmt.Errorf("expected an array of plain numbers: %w", err)
			}
			h.dt, err = parseDtype(text)
		case "fortran_order":
			order = true
			h.fortran, err = p.boolean()
		case "shape":
			shape = true
			h.shape, err = p.tuple()
		default:
			err = fmt.Errorf("unknown key %q", key)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(p.s) != "":
		return p.expected("the end")
	case !descr || !order || !shape:
		return errors.New("expected descr, fortran_order and shape")
	}
	return nil
}

// literal parses the Python literals of an NPY header.
type literal struct{ s string }

func (p *literal) blanks() { p.s = strings.TrimLeft(p.s, " \t\n") }

// skip skips blanks, then c if it comes next, and reports whether it did.
func (p *literal) skip(c byte) bool {
	p.blanks()
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *literal) quoted() (string, error) {
	for _, q := range []byte(`'"`) {
		if p.skip(q) {
			text, rest, ok := strings.Cut(p.s, string(q))
			if ok {
				p.s = rest
				return text, nil
			}
		}
	}
	return "", p.expected("a string")
}

// expected returns an error about the text that comes next.
func (p *literal) expected(what string) error {
	return fmt.Errorf("expected %s, found %.20q", what, p.s)
}

// each parses comma-separated values between two brackets, with an optional comma after the last.
func (p *literal) each(from, to byte, value func() error) error {
	if !p.skip(from) {
		return p.expected(string(from))
	}
	for !p.skip(to) {
		if err := value(); err != nil {
			return err
		}
		if !p.skip(',') {
			if p.skip(to) {
				break
			}
			return p.expected("a comma or " + string(to))
		}
	}
	return nil
}

// boolean parses True or False.
func (p *literal) boolean() (bool, error) {
	p.blanks()
	for _, v := range []string{"True", "False"} {
		if rest, ok := strings.CutPrefix(p.s, v); ok {
			p.s = rest
			return v == "True", nil
		}
	}
	return false, p.expected("True or False")
}

// tuple parses a shape, such as (3, 4).
func (p *literal) tuple() (shape []int, err error) {
	err = p.each('(', ')', func() error {
		p.blanks()
		end := len(p.s) - len(strings.TrimLeft(p.s, "0123456789"))
		n, err := strconv.ParseInt(p.s[:end], 10, 56)
		if err != nil || n > math.MaxInt {
			return p.expected("a whole number")
		}
		p.s = strings.TrimPrefix(p.s[end:], "L") // written by Python 2
		if shape = append(shape, int(n)); len(shape) > maxDims {
			return fmt.Errorf("more than %d axes", maxDims)
		}
		return nil
	})
	return shape, err
}

// HeaderNPY returns the header of an NPY file of float32 in row-major order, of
// version 1, padded to a multiple of 64 bytes.
func HeaderNPY(shape []int) []byte { return headerNPY("'<f4'", shape) }

func headerNPY(descr string, shape []int) []byte {
	text := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }", descr, tuple(shape))
	text += strings.Repeat(" ", (64-(10+len(text)+1)%64)%64) + "\n"
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return append(b, text...)
}

// WriteNPY writes an array of float32 in row-major order.
func WriteNPY(w io.Writer, shape []int, values []float32) error {
	if n := product(shape); n != len(values) {
		return fmt.Errorf("an array of %s has %d values, not %d", words.Shape(shape), n, len(values))
	}
	if _, err := w.Write(HeaderNPY(shape)); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, values)
}

// Field is a field of records: float64 in a shape.
type Field struct {
	Name  string
	Shape []int // of one record; nil for a single value
}

// Len returns the number of values of the field in a record.
func (f *Field) Len() int { return product(f.Shape) }

// tuple formats a shape like Python.
func tuple(shape []int) string {
	text := strings.Join(words.Each(shape, strconv.Itoa), ", ")
	if len(shape) == 1 {
		text += ","
	}
	return "(" + text + ")"
}

// HeaderRecords returns the header of an NPY file of n records, a structured array of numpy. The
// records must follow it, each with its fields one after another, without gaps.
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

// Records are the records of an NPY file, in memory.
type Records struct {
	Fields []Field
	N      int

	offsets []int // of the fields in a record
	size    int   // bytes per record
	data    []byte
}

// maxFields limits the number of fields of a record.
const maxFields = 64

// ReadRecords reads an NPY file of records whose fields are float64.
func ReadRecords(path string) (*Records, error) {
	return use(path, func(f io.ReaderAt, size int64) (*Records, error) { return readRecords(path, f, size) })
}

func readRecords(file string, src io.ReaderAt, size int64) (*Records, error) {
	in := io.NewSectionReader(src, 0, size)
	h, err := readNPYHeader(file, in, true)
	if err != nil {
		return nil, err
	}
	r := &Records{Fields: h.fields}
	if len(h.shape) != 1 {
		return nil, fault.Malformed(file, "expected a vector of records, found shape %s", tuple(h.shape))
	}
	for i := range r.Fields {
		r.offsets = append(r.offsets, r.size)
		if r.size += 8 * r.Fields[i].Len(); r.size > MaxRow {
			return nil, fault.Malformed(file, "a record has more than %s bytes", words.Thousands(MaxRow))
		}
	}
	r.N = h.shape[0]
	if r.size == 0 {
		return nil, fault.Malformed(file, "empty records")
	}
	if left := size - h.size; int64(r.N) > left/int64(r.size) {
		return nil, fault.Malformed(file, "the file is truncated: expected %s of %s bytes, found %s bytes",
			words.Plural(r.N, "record"), words.Thousands(r.size), words.Thousands(int(max(0, left))))
	}
	r.data = make([]byte, r.N*r.size)
	if _, err := io.ReadFull(in, r.data); err != nil {
		return nil, fault.Of(file, err)
	}
	return r, nil
}

// Field returns the index of the field with the given name, or -1 if there is none.
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

// fields parses the type of records:
//
//	[('weights', '<f8', (3,)), ('alpha', '<f8', (3, 2))]
func (p *literal) fields() ([]Field, error) {
	var list []Field
	err := p.each('[', ']', func() error {
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
	bad := p.expected("a field such as ('name', '<f8', (2,))")
	opened := p.skip('(')
	if f.Name, err = p.quoted(); err != nil || !opened || !p.skip(',') {
		return f, bad
	}
	kind, err := p.quoted()
	if err != nil {
		return f, bad
	}
	if kind != "<f8" {
		return f, fmt.Errorf("field %q: expected type <f8 (float64), found %q", f.Name, kind)
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
