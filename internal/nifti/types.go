// Package nifti reads and writes volumes in the NIfTI format of medical
// imaging: single files (.nii, .nii.gz) and pairs (.hdr with .img), NIfTI-1 and
// NIfTI-2, in either byte order. [Format] is what readers of volumes know of it.
//
// Headers are not trusted: no size in one makes the reader allocate, or
// decompress, more than the file can hold.
package nifti

import (
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

// typeNames has the types of the standard that are not read as well, so that
// messages can name them.
var typeNames = map[Type]string{
	Uint8: "uint8", Int16: "int16", Int32: "int32", Float32: "float32", Float64: "float64",
	Int8: "int8", Uint16: "uint16", Uint32: "uint32", Int64: "int64", Uint64: "uint64",
	1: "binary", 32: "complex64", 128: "RGB24", 1536: "float128", 1792: "complex128", 2048: "complex256", 2304: "RGBA32",
}

// String returns a name such as int16.
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("code %d", int16(t))
}

// size returns the bytes of a voxel, or 0 for a type that is not read.
func (t Type) size() int {
	switch t {
	case Uint8, Int8:
		return 1
	case Int16, Uint16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	case Int64, Uint64, Float64:
		return 8
	}
	return 0
}

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
		size := t.size()
		for i := range dst {
			dst[i] = float32(slope*t.value(b[i*size:], order) + inter)
		}
	}
}

// value returns the voxel at the beginning of b.
func (t Type) value(b []byte, order binary.ByteOrder) float64 {
	switch t {
	case Uint8:
		return float64(b[0])
	case Int8:
		return float64(int8(b[0]))
	case Int16:
		return float64(int16(order.Uint16(b)))
	case Uint16:
		return float64(order.Uint16(b))
	case Int32:
		return float64(int32(order.Uint32(b)))
	case Uint32:
		return float64(order.Uint32(b))
	case Float32:
		return float64(math.Float32frombits(order.Uint32(b)))
	case Int64:
		return float64(int64(order.Uint64(b)))
	case Uint64:
		return float64(order.Uint64(b))
	}
	return math.Float64frombits(order.Uint64(b))
}
