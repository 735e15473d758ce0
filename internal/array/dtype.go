package array

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/fault"
	"credence/internal/words"
)

// dtype is the type of an array's elements: kind b (bool), i, u or f, or for texts U
// (UTF-32) or S (bytes), and the size in bytes.
type dtype struct {
	kind byte
	size int
	big  bool // most significant byte first
}

// parseDtype parses numpy's short form, such as <f4 or |u1.
func parseDtype(s string) (dtype, error) {
	bad := fmt.Errorf("expected elements of type bool, integer, float16, float32 or float64, found %q", s)
	if len(s) < 2 {
		return dtype{}, bad
	}
	d := dtype{big: s[0] == '>'}
	switch s[0] {
	case '<', '>', '=', '|':
		s = s[1:]
	}
	if s == "O" {
		return dtype{}, errors.New("elements that are Python objects are not supported: save the array with a native type, such as dtype=str for texts")
	}
	n, err := strconv.Atoi(s[1:])
	if err != nil {
		return dtype{}, bad
	}
	d.kind, d.size = s[0], n
	switch text := n >= 0 && n <= maxText; {
	case text && d.kind == 'U':
		d.size = 4 * n
	case text && d.kind == 'S', slices.Contains(strings.Fields("b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8"), s):
	default:
		return dtype{}, bad
	}
	return d, nil
}

// maxText limits the number of characters of a text.
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

// whole returns the integer at the beginning of b, in two's complement if it is signed.
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

// digits formats an integer returned by whole.
func (d dtype) digits(u uint64) string {
	if d.kind == 'i' {
		return strconv.FormatInt(int64(u), 10)
	}
	return strconv.FormatUint(u, 10)
}

// decode converts len(dst) elements to float32.
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

// Half converts an IEEE 754 binary16 number. The result is always exact.
func Half(u uint16) float32 {
	sign, rest := uint32(u&0x8000)<<16, uint32(u&0x7fff)<<13
	if rest >= 0x7c00<<13 { // infinite, or not a number
		return math.Float32frombits(sign | 0x7f800000 | rest)
	}
	// The bits are where float32 has them, with an exponent that is 112 too
	// small, also for subnormal numbers.
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(rest)*0x1p112))
}

// loss counts elements that lost precision in the conversion to float32.
type loss struct {
	rounded, vanished int64
	whole             string  // the first number that was rounded
	small             float64 // the first that became 0
}

// Loses reports whether elements may exceed the range or precision of
// float32.
func (a *Array) Loses() bool {
	return a.dt.size == 8 || a.dt.size == 4 && a.dt.kind != 'f'
}

// Lost returns a warning about whole numbers that were rounded or small numbers that became
// 0, among the rows read so far, or nil if there are none.
func (a *Array) Lost() error {
	a.lossMu.Lock()
	defer a.lossMu.Unlock()
	switch l := &a.loss; {
	case l.rounded > 0:
		return fmt.Errorf("%s: %s rounded to seven digits, such as %s",
			a.file, words.Plural(int(l.rounded), "whole number"), l.whole)
	case l.vanished > 0:
		return fmt.Errorf("%s: %s closer to 0 than 1e-45 set to 0, such as %g", a.file, words.Plural(int(l.vanished), "value"), l.small)
	}
	return nil
}

// checkLoss returns an error if elements of row i are out of the range of float32, and counts
// those that are not exact: whole numbers that are rounded, and small numbers that become
// 0. Rounding of other numbers is ignored.
func (a *Array) checkLoss(i int, row []float32, b []byte) error {
	if !a.Loses() {
		return nil
	}
	order := a.dt.order()
	var lost loss
	for j, v := range row {
		if a.dt.kind == 'f' {
			x := math.Float64frombits(order.Uint64(b[8*j:]))
			switch {
			case math.IsInf(float64(v), 0) && !math.IsInf(x, 0):
				return fault.Malformed(a.file, "row %d: expected values within ±3.4e38, found %g", i, x)
			case v == 0 && x != 0:
				if lost.vanished++; lost.vanished == 1 {
					lost.small = x
				}
			}
			continue
		}
		if v >= -1<<24 && v <= 1<<24 && a.dt.size == 4 {
			continue
		}
		x := float64(v) // whole, and no larger than 2⁶⁴
		u := a.dt.whole(b[a.dt.size*j:], order)
		exact := a.dt.kind == 'u' && x < 1<<64 && uint64(x) == u || a.dt.kind == 'i' && x < 1<<63 && int64(x) == int64(u)
		if lost.rounded == 0 && !exact {
			lost.whole = a.dt.digits(u)
		}
		if !exact {
			lost.rounded++
		}
	}
	if lost.rounded+lost.vanished == 0 {
		return nil
	}
	a.lossMu.Lock()
	defer a.lossMu.Unlock()
	l := &a.loss
	l.whole, l.small = cmp.Or(l.whole, lost.whole), cmp.Or(l.small, lost.small)
	l.rounded += lost.rounded
	l.vanished += lost.vanished
	return nil
}
