package dataset

import (
	"encoding/binary"
	"math"
	"slices"

	"credence/internal/array"
)

// store is a compact form in which the values of a volume are kept: 8 bytes,
// two float32 numbers called offset and step, then the values, each
//
//	offset + step·code
//
// for codes of the store's type.
type store string

const (
	storeFloat32 store = "float32"
	storeFloat16 store = "float16"
	storeUint8   store = "uint8"
)

// bytes returns the size of a code, 0 if there is no such store.
func (s store) bytes() int {
	switch s {
	case storeFloat32:
		return 4
	case storeFloat16:
		return 2
	case storeUint8:
		return 1
	}
	return 0
}

const storePrefix = 8

// size returns the bytes of n values.
func (s store) size(n int) int { return storePrefix + n*s.bytes() }

// encode fills b, of s.size(len(x)) bytes, with x, whose values are finite.
func (s store) encode(b []byte, x []float32) {
	lo, hi := slices.Min(x), slices.Max(x)
	offset, step := float32(0), float32(1)
	le := binary.LittleEndian
	codes := b[storePrefix:]
	switch s {
	case storeFloat32:
		for i, v := range x {
			le.PutUint32(codes[4*i:], math.Float32bits(v))
		}
	case storeFloat16:
		// A power of two changes no digits, and brings large values into the
		// range of float16.
		for most := max(hi, -lo); most/step > 65504; {
			step *= 2
		}
		for i, v := range x {
			le.PutUint16(codes[2*i:], toHalf(v/step))
		}
	case storeUint8:
		offset = lo
		if step = hi/255 - lo/255; !(step > 0) {
			step = 1
		}
		for i, v := range x {
			codes[i] = uint8(min(255, math.RoundToEven((float64(v)-float64(offset))/float64(step))))
		}
	}
	le.PutUint32(b, math.Float32bits(offset))
	le.PutUint32(b[4:], math.Float32bits(step))
}

// decode fills x from what encode wrote.
func (s store) decode(x []float32, b []byte) {
	le := binary.LittleEndian
	offset, step := math.Float32frombits(le.Uint32(b)), math.Float32frombits(le.Uint32(b[4:]))
	codes := b[storePrefix:]
	switch s {
	case storeFloat32:
		for i := range x {
			x[i] = math.Float32frombits(le.Uint32(codes[4*i:]))
		}
	case storeFloat16:
		codes = codes[:2*len(x)]
		for i := range x {
			x[i] = array.Half(le.Uint16(codes[2*i:])) * step
		}
	case storeUint8:
		var values [256]float32
		for k := range values {
			values[k] = offset + step*float32(k)
		}
		for i, k := range codes[:len(x)] {
			x[i] = values[k]
		}
	}
}

// toHalf rounds to the nearest IEEE 754 binary16 number, ties to even.
func toHalf(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // not a number
		return sign | 0x7e00
	case b >= 0x477ff000: // rounds to 65536 or more
		return sign | 0x7c00
	case b < 0x38800000: // below 2⁻¹⁴: a multiple of 2⁻²⁴
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*(1<<24)))
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}
