package array

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// dtype is the type of an array's elements: kind b (bool), i, u or f, or of texts U
// (UTF-32) or S (bytes), and the size in bytes.
type dtype struct {
	kind byte
	size int
	big  bool // most significant byte first
}

// parseDtype reads numpy's short form, such as <f4 or |u1.
func parseDtype(s string) (dtype, error) {
	bad := fmt.Errorf("elements of type %q: only bool, integers and float16, 32 and 64 are read", s)
	if len(s) < 2 {
		return dtype{}, bad
	}
	d := dtype{big: s[0] == '>'}
	switch s[0] {
	case '<', '>', '=', '|':
		s = s[1:]
	}
	if s == "O" {
		return dtype{}, errors.New("objects of Python are not read: save the array with a type of its own, as dtype=str for texts")
	}
	n, err := strconv.Atoi(s[1:])
	if err != nil {
		return dtype{}, bad
	}
	d.kind, d.size = s[0], n
	switch s {
	case "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8":
		return d, nil
	}
	switch {
	case n < 0 || n > maxText:
	case d.kind == 'U':
		d.size = 4 * n
		return d, nil
	case d.kind == 'S':
		return d, nil
	}
	return dtype{}, bad
}

// maxText bounds the letters of a text.
const maxText = 1 << 20

// text reports whether the elements are texts.
func (d dtype) text() bool { return d.kind == 'U' || d.kind == 'S' }

// String returns numpy's short form.
func (d dtype) String() string {
	order := "<"
	if d.size == 1 {
		order = "|"
	} else if d.big {
		order = ">"
	}
	return fmt.Sprintf("%s%c%d", order, d.kind, d.size)
}

func (d dtype) order() binary.ByteOrder {
	if d.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// whole returns the whole number at the beginning of b; a negative one in two's complement.
func (d dtype) whole(b []byte, order binary.ByteOrder) (u uint64) {
	switch d.size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(order.Uint16(b))
	case 4:
		u = uint64(order.Uint32(b))
	default:
		u = order.Uint64(b)
	}
	if d.kind == 'i' {
		shift := 64 - 8*d.size
		u = uint64(int64(u<<shift) >> shift)
	}
	return u
}

// digits writes a whole number.
func (d dtype) digits(u uint64) string {
	if d.kind == 'i' {
		return strconv.FormatInt(int64(u), 10)
	}
	return strconv.FormatUint(u, 10)
}

// decode converts len(dst) elements.
func (d dtype) decode(dst []float32, b []byte) {
	order, size := d.order(), d.size
	switch {
	case d.kind == 'f' && size == 4 && !d.big:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case d.kind == 'u' && size == 1:
		for i := range dst {
			dst[i] = float32(b[i])
		}
	case d.kind == 'b':
		for i := range dst {
			dst[i] = float32(min(1, b[i]))
		}
	case d.kind == 'i':
		for i := range dst {
			dst[i] = float32(int64(d.whole(b[size*i:], order)))
		}
	case d.kind == 'u':
		for i := range dst {
			dst[i] = float32(d.whole(b[size*i:], order))
		}
	case size == 2:
		for i := range dst {
			dst[i] = Half(order.Uint16(b[2*i:]))
		}
	case size == 4:
		for i := range dst {
			dst[i] = math.Float32frombits(order.Uint32(b[4*i:]))
		}
	default:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(order.Uint64(b[8*i:])))
		}
	}
}

// Half converts an IEEE 754 binary16 number; every one is exact in float32.
func Half(u uint16) float32 {
	sign, rest := uint32(u&0x8000)<<16, uint32(u&0x7fff)<<13
	if rest >= 0x7c00<<13 { // infinite, or not a number
		return math.Float32frombits(sign | 0x7f800000 | rest)
	}
	// The bits lie where float32 has them, with an exponent that is 112 too
	// small, also for subnormal numbers.
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(rest)*0x1p112))
}
