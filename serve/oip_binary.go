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

// sizes are the bytes of a value of each type.
var sizes = map[string]int{"BOOL": 1, "UINT8": 1, "INT8": 1, "UINT16": 2, "INT16": 2, "FP16": 2, "BF16": 2,
	"UINT32": 4, "INT32": 4, "FP32": 4, "UINT64": 8, "INT64": 8, "FP64": 8}

// binary reads values in the binary form, little-endian.
func (v *inputValues) binary(data []byte) error {
	if v.datatype == "BYTES" {
		return v.bytes(data)
	}
	size, ok := sizes[v.datatype]
	if !ok {
		return v.unknown()
	}
	if len(data) != v.n*size {
		return badRequest("input %q: %d bytes for %d values of type %s, expected %d", v.name, len(data), v.n, v.datatype, v.n*size)
	}
	v.nums = make([]float64, v.n)
	for i := range v.nums {
		v.nums[i] = number(v.datatype, data[i*size:])
	}
	return nil
}

func (v *inputValues) unknown() error {
	return badRequest("input %q: datatype %q is not one of BOOL, INT8 to INT64, UINT8 to UINT64, FP16, BF16, FP32, FP64, BYTES", v.name, v.datatype)
}

// number reads one value.
func number(datatype string, b []byte) float64 {
	le := binary.LittleEndian
	switch datatype {
	case "BOOL":
		if b[0] != 0 {
			return 1
		}
		return 0
	case "UINT8":
		return float64(b[0])
	case "INT8":
		return float64(int8(b[0]))
	case "UINT16":
		return float64(le.Uint16(b))
	case "INT16":
		return float64(int16(le.Uint16(b)))
	case "FP16":
		return float64(array.Half(le.Uint16(b)))
	case "BF16":
		return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16))
	case "UINT32":
		return float64(le.Uint32(b))
	case "INT32":
		return float64(int32(le.Uint32(b)))
	case "FP32":
		return float64(math.Float32frombits(le.Uint32(b)))
	case "UINT64":
		return float64(le.Uint64(b))
	case "INT64":
		return float64(int64(le.Uint64(b)))
	}
	return math.Float64frombits(le.Uint64(b))
}

// bytes reads texts, each behind its length.
func (v *inputValues) bytes(data []byte) error {
	v.texts = make([]string, 0, min(v.n, len(data)/4))
	for len(data) > 0 && len(v.texts) < v.n {
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return badRequest("input %q: text %d goes beyond the data", v.name, len(v.texts)+1)
		}
		n := int(binary.LittleEndian.Uint32(data))
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
	if _, ok := sizes[v.datatype]; !ok && v.datatype != "BYTES" {
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
	le := binary.LittleEndian
	switch data := data.(type) {
	case []float64:
		for _, x := range data {
			dst = le.AppendUint64(dst, math.Float64bits(x))
		}
	case []bool:
		for _, x := range data {
			b := byte(0)
			if x {
				b = 1
			}
			dst = append(dst, b)
		}
	case []string:
		for _, x := range data {
			dst = append(le.AppendUint32(dst, uint32(len(x))), x...)
		}
	}
	return dst
}
