// Package nifti reads and writes volumes in the NIfTI format of medical
// imaging: single files (.nii, .nii.gz) and pairs (.hdr with .img), NIfTI-1 and
// NIfTI-2, in either byte order. [Format] is what readers of volumes know of it.
//
// Headers are not trusted: no size in one makes the reader allocate, or
// decompress, more than the file can hold.
package nifti

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"credence/internal/volume"
)

// Volume is a three-dimensional image in the RAS frame.
type Volume = volume.Volume

// Type is the type of a file's voxels, by its code in the header.
type Type int16

// The types that are read. Those with a ✓ are written too.
const (
	Uint8   Type = 2 // ✓
	Int16   Type = 4 // ✓
	Int32   Type = 8
	Float32 Type = 16 // ✓
	Float64 Type = 64
	Int8    Type = 256
	Uint16  Type = 512
	Uint32  Type = 768
	Int64   Type = 1024
	Uint64  Type = 1280
)

// types has the types of the standard that are not read as well, without a size, so that
// messages can name them.
var types = map[Type]struct {
	name  string
	size  int                                            // bytes of a voxel
	value func(b []byte, order binary.ByteOrder) float64 // the voxel at the beginning of b
}{
	Uint8:   {"uint8", 1, func(b []byte, _ binary.ByteOrder) float64 { return float64(b[0]) }},
	Int8:    {"int8", 1, func(b []byte, _ binary.ByteOrder) float64 { return float64(int8(b[0])) }},
	Int16:   {"int16", 2, func(b []byte, o binary.ByteOrder) float64 { return float64(int16(o.Uint16(b))) }},
	Uint16:  {"uint16", 2, func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint16(b)) }},
	Int32:   {"int32", 4, func(b []byte, o binary.ByteOrder) float64 { return float64(int32(o.Uint32(b))) }},
	Uint32:  {"uint32", 4, func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint32(b)) }},
	Float32: {"float32", 4, func(b []byte, o binary.ByteOrder) float64 { return float64(math.Float32frombits(o.Uint32(b))) }},
	Int64:   {"int64", 8, func(b []byte, o binary.ByteOrder) float64 { return float64(int64(o.Uint64(b))) }},
	Uint64:  {"uint64", 8, func(b []byte, o binary.ByteOrder) float64 { return float64(o.Uint64(b)) }},
	Float64: {"float64", 8, func(b []byte, o binary.ByteOrder) float64 { return math.Float64frombits(o.Uint64(b)) }},
	1:       {name: "binary"}, 32: {name: "complex64"}, 128: {name: "RGB24"}, 1536: {name: "float128"},
	1792: {name: "complex128"}, 2048: {name: "complex256"}, 2304: {name: "RGBA32"},
}

// String returns a name such as int16.
func (t Type) String() string { return cmp.Or(types[t].name, fmt.Sprintf("code %d", int16(t))) }

// size returns the bytes of a voxel, or 0 for a type that is not read.
func (t Type) size() int { return types[t].size }

// decode converts len(dst) voxels to slope·value + inter, computed in float64.
func (t Type) decode(dst []float32, b []byte, order binary.ByteOrder, slope, inter float64) {
	// The types of most files get a loop of their own, in which the compiler
	// sees the byte order.
	little := order == binary.ByteOrder(binary.LittleEndian)
	switch {
	case t == Uint8:
		for i := range dst {
			dst[i] = float32(slope*float64(b[i]) + inter)
		}
	case t == Int16 && little:
		for i := range dst {
			dst[i] = float32(slope*float64(int16(binary.LittleEndian.Uint16(b[2*i:]))) + inter)
		}
	case t == Float32 && little:
		for i := range dst {
			dst[i] = float32(slope*float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))) + inter)
		}
	default:
		size, value := types[t].size, types[t].value
		for i := range dst {
			dst[i] = float32(slope*value(b[i*size:], order) + inter)
		}
	}
}
