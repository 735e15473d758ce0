package array

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"credence/internal/fault"
	"credence/internal/words"
)

const npyMagic = "\x93NUMPY"

// maxNPYHeader bounds the header of an NPY file; numpy itself reads 10,000
// bytes at most unless told to trust the file.
const maxNPYHeader = 1 << 16

// OpenNPY opens an NPY file of versions 1 to 3: bool, integers and floats of
// either byte order. Rows are read in place.
func OpenNPY(path string) (*Array, error) {
	return open(path, func(f io.ReaderAt, size int64) (*Array, error) { return npyArray(path, f, 0, size) })
}

// npyArray reads the header of an NPY file that lies from start to end of src.
func npyArray(file string, src io.ReaderAt, start, end int64) (*Array, error) {
	h, err := readNPYHeader(file, io.NewSectionReader(src, start, end-start))
	if err == nil {
		err = h.numbers(file)
	}
	if err != nil {
		return nil, err
	}
	return h.newArray(file, src, start+h.size, end)
}

// npyHeader is what stands before the elements of an NPY file.
type npyHeader struct {
	header
	records bool    // whether elements may be records
	fields  []Field // of them
}

// numbers refuses an array of texts.
func (h *npyHeader) numbers(file string) error {
	if h.dt.text() {
		return fault.Malformed(file, "an array of texts, but one of numbers is expected")
	}
	return nil
}

func readNPYHeader(file string, r io.Reader) (*npyHeader, error) {
	h := &npyHeader{}
	return h, h.read(file, r)
}

func (h *npyHeader) read(file string, r io.Reader) error {
	var head [12]byte
	if n, err := io.ReadFull(r, head[:10]); err != nil {
		if n == 0 {
			return fault.Malformed(file, "the file is empty")
		}
		return fault.Malformed(file, "the file is cut short: %d bytes of a header", n)
	}
	if string(head[:6]) != npyMagic {
		return fault.Malformed(file, "this is not an NPY file: it begins with %q", head[:6])
	}
	size, length := int64(10), int64(binary.LittleEndian.Uint16(head[8:]))
	switch head[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return fault.Malformed(file, "the header is cut short")
		}
		size, length = 12, int64(binary.LittleEndian.Uint32(head[8:]))
	default:
		return fault.Malformed(file, "NPY version %d.%d: versions 1 to 3 are read", head[6], head[7])
	}
	if length > maxNPYHeader {
		return fault.Malformed(file, "a header of %s bytes: at most %s are read", words.Thousands(int(length)), words.Thousands(maxNPYHeader))
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return fault.Malformed(file, "the header is cut short")
	}
	h.size = size + length
	if err := h.parse(string(text)); err != nil {
		return fault.Malformed(file, "header %.80q: %v", strings.TrimSpace(string(text)), err)
	}
	return nil
}

// parse reads the Python dictionary of the header:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
func (h *npyHeader) parse(s string) error {
	p := &literal{s: s}
	var descr, order, shape bool
	err := p.dict(func(key string) error {
		var err error
		switch key {
		case "descr":
			var text string
			descr = true
			if h.records {
				h.fields, err = p.fields()
				return err
			}
			if text, err = p.quoted(); err != nil {
				return errors.New("elements are not plain numbers")
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
	if err == nil && !(descr && order && shape) {
		err = errors.New("descr, fortran_order and shape are expected")
	}
	return err
}

// literal reads the Python literals of an NPY header.
type literal struct{ s string }

func (p *literal) blanks() { p.s = strings.TrimLeft(p.s, " \t\n") }

// skip drops blanks, then c if it comes next.
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
	return "", errors.New("a string is expected")
}

// each reads values between two brackets with commas between them, and perhaps behind the last. none is what
// is wrong without the first bracket, and closing what the last is called.
func (p *literal) each(from, to byte, none, closing string, value func() error) error {
	if !p.skip(from) {
		return errors.New(none)
	}
	for !p.skip(to) {
		if err := value(); err != nil {
			return err
		}
		if !p.skip(',') {
			if p.skip(to) {
				break
			}
			return fmt.Errorf("a comma or %s is expected", closing)
		}
	}
	return nil
}

func (p *literal) dict(entry func(key string) error) error {
	err := p.each('{', '}', "a dictionary is expected", "brace", func() error {
		key, err := p.quoted()
		if err != nil {
			return err
		}
		if !p.skip(':') {
			return errors.New("a colon is expected")
		}
		return entry(key)
	})
	if err == nil && strings.TrimSpace(p.s) != "" {
		err = errors.New("text after the dictionary")
	}
	return err
}

func (p *literal) boolean() (bool, error) {
	p.blanks()
	for _, v := range []string{"True", "False"} {
		if rest, ok := strings.CutPrefix(p.s, v); ok {
			p.s = rest
			return v == "True", nil
		}
	}
	return false, errors.New("a truth value is expected")
}

func (p *literal) tuple() (shape []int, err error) {
	err = p.each('(', ')', "a tuple is expected", "parenthesis", func() error {
		p.blanks()
		end := len(p.s) - len(strings.TrimLeft(p.s, "0123456789"))
		n, err := strconv.ParseInt(p.s[:end], 10, 56)
		if err != nil || n > math.MaxInt {
			return errors.New("the shape is not a tuple of whole numbers")
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
