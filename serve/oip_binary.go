package serve

import (
	"encoding/binary"
	"math"

	"credence/internal/array"
)

// inputValues are the values of an input: numbers or texts.
type inputValues struct {
	name, datatype string
	n              int // expected

	nums  []float64
	texts []string // of type BYTES
}

// inputTypes are the types of numbers: their bytes, and how these are read, little-endian.
var inputTypes = map[string]struct {
	size int
	read func(b []byte) float64
}{
	"BOOL":   {1, func(b []byte) float64 { return oneIf(b[0] != 0) }},
	"UINT8":  {1, func(b []byte) float64 { return float64(b[0]) }},
	"INT8":   {1, func(b []byte) float64 { return float64(int8(b[0])) }},
	"UINT16": {2, func(b []byte) float64 { return float64(le.Uint16(b)) }},
	"INT16":  {2, func(b []byte) float64 { return float64(int16(le.Uint16(b))) }},
	"FP16":   {2, func(b []byte) float64 { return float64(array.Half(le.Uint16(b))) }},
	"BF16":   {2, func(b []byte) float64 { return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16)) }},
	"UINT32": {4, func(b []byte) float64 { return float64(le.Uint32(b)) }},
	"INT32":  {4, func(b []byte) float64 { return float64(int32(le.Uint32(b))) }},
	"FP32":   {4, func(b []byte) float64 { return float64(math.Float32frombits(le.Uint32(b))) }},
	"UINT64": {8, func(b []byte) float64 { return float64(le.Uint64(b)) }},
	"INT64":  {8, func(b []byte) float64 { return float64(int64(le.Uint64(b))) }},
	"FP64":   {8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }},
}

var le = binary.LittleEndian

// binary reads values in the binary form.
func (v *inputValues) binary(data []byte) error {
	if v.datatype == "BYTES" {
		return v.bytes(data)
	}
	t, ok := inputTypes[v.datatype]
	if !ok {
		return v.unknown()
	}
	if len(data) != v.n*t.size {
		return badRequest("input %q: %d bytes for %d values of type %s, expected %d", v.name, len(data), v.n, v.datatype, v.n*t.size)
	}
	v.nums = make([]float64, v.n)
	for i := range v.nums {
		v.nums[i] = t.read(data[i*t.size:])
	}
	return nil
}

func (v *inputValues) unknown() error {
	return badRequest("input %q: datatype %q is not one of BOOL, INT8 to INT64, UINT8 to UINT64, FP16, BF16, FP32, FP64, BYTES", v.name, v.datatype)
}

// bytes reads texts, each behind its length.
func (v *inputValues) bytes(data []byte) error {
	v.texts = make([]string, 0, min(v.n, len(data)/4))
	for len(data) > 0 && len(v.texts) < v.n {
		if len(data) < 4 || uint64(le.Uint32(data)) > uint64(len(data)-4) {
			return badRequest("input %q: text %d goes beyond the data", v.name, len(v.texts)+1)
		}
		n := int(le.Uint32(data))
		v.texts = append(v.texts, string(data[4:4+n]))
		data = data[4+n:]
	}
	if len(data) > 0 || len(v.texts) != v.n {
		return badRequest("input %q: %d texts and %d bytes more, expected %d texts", v.name, len(v.texts), len(data), v.n)
	}
	return nil
}

// json reads values from JSON, flat or nested by the shape.
func (v *inputValues) json(data []byte) error {
	if data == nil {
		return badRequest("input %q has no data", v.name)
	}
	if _, ok := inputTypes[v.datatype]; !ok && v.datatype != "BYTES" {
		return v.unknown()
	}
	if v.datatype == "BYTES" {
		v.texts = []string{}
	}
	s := newScanner(data)
	if err := v.nested(s, 0); err != nil {
		return err
	}
	if got := len(v.nums) + len(v.texts); got != v.n {
		return badRequest("input %q: %d values, expected %d by its shape", v.name, got, v.n)
	}
	return s.end()
}

func (v *inputValues) nested(s scanner, depth int) error {
	if depth > 8 {
		return s.errorf("lists nest more than eight deep")
	}
	return s.Array(func(int) error {
		if s.Peek() == '[' {
			return v.nested(s, depth+1)
		}
		if len(v.nums)+len(v.texts) >= v.n {
			return badRequest("input %q: more than %d values, those of its shape", v.name, v.n)
		}
		if v.datatype == "BYTES" {
			text, err := s.String()
			v.texts = append(v.texts, string(text))
			return err
		}
		x, err := 0.0, error(nil)
		switch {
		case s.word("true"):
			x = 1
		case s.word("false"):
		case s.word("null"):
			x = math.NaN()
		default:
			x, err = s.number()
		}
		v.nums = append(v.nums, x)
		return err
	})
}

// appendBinary appends an output in the binary form.
func appendBinary(dst []byte, data any) []byte {
	texts, ok := data.([]string)
	if !ok { // numbers or booleans
		dst, _ = binary.Append(dst, le, data)
	}
	for _, x := range texts {
		dst = append(le.AppendUint32(dst, uint32(len(x))), x...)
	}
	return dst
}
