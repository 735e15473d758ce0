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

// decode converts len(dst) elements.
func (d dtype) decode(dst []float32, b []byte) {
	var order binary.ByteOrder = binary.LittleEndian
	if d.big {
		order = binary.BigEndian
	}
	switch {
	case d.kind == 'f' && d.size == 4 && !d.big:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case d.kind == 'u' && d.size == 1:
		for i := range dst {
			dst[i] = float32(b[i])
		}
	case d.kind == 'b':
		for i := range dst {
			dst[i] = 0
			if b[i] != 0 {
				dst[i] = 1
			}
		}
	case d.size == 1:
		for i := range dst {
			dst[i] = float32(int8(b[i]))
		}
	case d.size == 2:
		for i := range dst {
			u := order.Uint16(b[2*i:])
			switch d.kind {
			case 'f':
				dst[i] = Half(u)
			case 'i':
				dst[i] = float32(int16(u))
			default:
				dst[i] = float32(u)
			}
		}
	case d.size == 4:
		for i := range dst {
			u := order.Uint32(b[4*i:])
			switch d.kind {
			case 'f':
				dst[i] = math.Float32frombits(u)
			case 'i':
				dst[i] = float32(int32(u))
			default:
				dst[i] = float32(u)
			}
		}
	default:
		for i := range dst {
			u := order.Uint64(b[8*i:])
			switch d.kind {
			case 'f':
				dst[i] = float32(math.Float64frombits(u))
			case 'i':
				dst[i] = float32(int64(u))
			default:
				dst[i] = float32(u)
			}
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
