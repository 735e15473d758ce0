// Package nifti reads and writes volumes in the NIfTI format of medical
// imaging: single files (.nii, .nii.gz) and pairs (.hdr with .img), NIfTI-1 and
// NIfTI-2, in either byte order. [Format] registers it with readers of volumes.
//
// Headers are not trusted: whatever sizes they state, the reader does not allocate
// or decompress more than the file can contain.
package nifti

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"credence/internal/volume"
)

// Volume is a three-dimensional image in the RAS frame.
type Volume = volume.Volume

// Type is the type of a file's voxels, as coded in the header.
type Type int16

// Types that can be read. Those with a ✓ can also be written.
const (
	Uint8   Type = 2
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

// types describes all types of the standard. Those that cannot be read have no size, only a
// name for messages.
var types = map[Type]struct {
	name  string
	size  int                                            // bytes per voxel
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

// size returns the bytes per voxel, or 0 for a type that cannot be read.
func (t Type) size() int { return types[t].size }

// decode converts len(dst) voxels to slope·value + inter, computed in float64.
func (t Type) decode(dst []float32, b []byte, order binary.ByteOrder, slope, inter float64) {
	// The most common types have separate loops, in which the byte order is known
	// to the compiler.
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

const (
	headerSize1 = 348 // of NIfTI-1 and Analyze 7.5
	headerSize2 = 540 // of NIfTI-2
)

// Header describes the volume in a file.
type Header struct {
	Version int    // 1 or 2, of NIfTI
	Pair    bool   // the voxels are in an .img file
	Dim     [3]int // of the first volume, along the axes of the file
	Type    Type
	Offset  int64 // of the first voxel, in its file
	// Slope and Inter define the values: slope·voxel + inter. They are 1 and 0 if
	// the header has none.
	Slope, Inter float64
	// Affine maps voxel indices in the order of the file to millimeters.
	Affine [3][4]float64
	// Oriented is false if the header does not define left and right. Affine then
	// follows the Analyze convention: x from right to left, the origin in the
	// middle.
	Oriented bool

	order binary.ByteOrder
}

// fields reads numbers of a header whose byte order is known.
type fields struct {
	b     []byte
	order binary.ByteOrder
}

func (f fields) i16(at int) int64   { return int64(int16(f.order.Uint16(f.b[at:]))) }
func (f fields) i32(at int) int64   { return int64(int32(f.order.Uint32(f.b[at:]))) }
func (f fields) i64(at int) int64   { return int64(f.order.Uint64(f.b[at:])) }
func (f fields) f32(at int) float64 { return float64(math.Float32frombits(f.order.Uint32(f.b[at:]))) }
func (f fields) f64(at int) float64 { return math.Float64frombits(f.order.Uint64(f.b[at:])) }

// headerSize returns the header size stated in the first four bytes and their
// byte order.
func headerSize(b []byte) (int, binary.ByteOrder, error) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if n := order.Uint32(b); n == headerSize1 || n == headerSize2 {
			return int(n), order, nil
		}
	}
	return 0, nil, fmt.Errorf("expected a NIfTI header of 348 (NIfTI-1) or 540 bytes (NIfTI-2), found the bytes % x", b[:4])
}

// parseHeader parses a header of the size that headerSize returned.
func parseHeader(b []byte, order binary.ByteOrder) (*Header, error) {
	f := fields{b, order}
	h := &Header{order: order, Version: 1, Dim: [3]int{1, 1, 1}}
	// In version 2 fields have other offsets, and numbers are twice as wide.
	at := func(one, _ int) int { return one }
	whole, real, code, width := f.i16, f.f32, f.i16, 1
	offset := f.f32(108)
	if len(b) == headerSize2 {
		h.Version = 2
		at = func(_, two int) int { return two }
		whole, real, code, width = f.i64, f.f64, f.i32, 2
		offset = float64(f.i64(168))
	}
	magic := string(b[at(344, 4):at(348, 12)])
	// dim[0] is the number of axes, and the sign of pixdim[0] that of the third axis.
	var dim [8]int64
	var pixdim [8]float64
	for i := range dim {
		dim[i], pixdim[i] = whole(at(40+2*i, 16+8*i)), real(at(76+4*i, 104+8*i))
	}
	h.Type = Type(f.i16(at(70, 12)))
	h.Slope, h.Inter = real(at(112, 176)), real(at(116, 184))
	place := orientation{qform: code(at(252, 344)), sform: code(at(254, 348))}
	reals := func(start, i int) float64 { return real(start + 4*width*i) }
	turn, rows := at(256, 352), at(280, 400)
	place.q = quaternion{b: reals(turn, 0), c: reals(turn, 1), d: reals(turn, 2)}
	for r := range 3 {
		place.shift[r] = reals(turn, 3+r)
		for c := range 4 {
			place.rows[r][c] = reals(rows, 4*r+c)
		}
	}
	switch magic {
	case "n+1\x00", "n+2\x00\r\n\x1a\n":
	case "ni1\x00", "ni2\x00\r\n\x1a\n":
		h.Pair = true
	default:
		if h.Version == 1 && magic[:2] != "n+" && magic[:2] != "ni" {
			return nil, errors.New("an Analyze 7.5 header does not define left and right: convert the volume to NIfTI")
		}
		return nil, fmt.Errorf("unknown magic bytes %q in the header: the file is damaged", magic)
	}
	if err := h.size(dim); err != nil {
		return nil, err
	}
	if err := h.place(offset, len(b)); err != nil {
		return nil, err
	}
	if h.Slope == 0 || notFinite(h.Slope) {
		h.Slope, h.Inter = 1, 0
	}
	if notFinite(h.Inter) {
		h.Inter = 0
	}
	place.q.face = 1
	if pixdim[0] < 0 {
		place.q.face = -1
	}
	for i := range 3 {
		place.q.spacing[i] = 1
		if s := math.Abs(pixdim[1+i]); s > 0 && !notFinite(s) {
			place.q.spacing[i] = s
		}
	}
	var err error
	h.Affine, h.Oriented, err = place.affine(h.Dim)
	return h, err
}

// notFinite reports whether x is NaN or infinite.
func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// size checks the dimensions and the type.
func (h *Header) size(dim [8]int64) error {
	if dim[0] < 1 || dim[0] > 7 {
		return fmt.Errorf("expected 1 to 7 axes, found %d: the file is damaged", dim[0])
	}
	n := int64(1)
	for i := 1; i <= int(dim[0]); i++ {
		if dim[i] < 1 || dim[i] > math.MaxInt32 {
			return fmt.Errorf("according to its header axis %d has %d voxels: the file is damaged", i, dim[i])
		}
		if i > 4 && dim[i] > 1 {
			return fmt.Errorf("expected one value per voxel, found %d values along axis %d", dim[i], i)
		}
		if i <= 3 {
			if n > volume.MaxVoxels/dim[i] {
				return fmt.Errorf("expected at most %d voxels, found %v", volume.MaxVoxels, dim[1:4])
			}
			n *= dim[i]
			h.Dim[i-1] = int(dim[i])
		}
	}
	if h.Type.size() == 0 {
		return fmt.Errorf("expected voxels that are integers of 8 to 64 bits, float32 or float64, found %v", h.Type)
	}
	return nil
}

// place sets the offset of the voxels, after checking it.
func (h *Header) place(offset float64, header int) error {
	if notFinite(offset) || offset < 0 || offset != math.Trunc(offset) || offset > 1<<40 {
		return fmt.Errorf("according to its header voxels begin at byte %v: the file is damaged", offset)
	}
	h.Offset = int64(offset)
	if h.Pair {
		return nil
	}
	least := int64(header + 4)
	h.Offset = cmp.Or(h.Offset, least)
	if h.Offset < least {
		return fmt.Errorf("according to its header voxels begin at byte %d, within the header: the file is damaged", h.Offset)
	}
	return nil
}

// orientation is the position of a volume in space, as given in a header.
type orientation struct {
	qform, sform int64 // codes; 0 means absent
	q            quaternion
	shift        [3]float64
	rows         [3][4]float64 // of the sform
}

// affine returns the sform if present, else the qform, else the Analyze
// convention with its origin in the middle. In the last case oriented is false.
func (o *orientation) affine(dim [3]int) (m [3][4]float64, oriented bool, err error) {
	oriented = true
	switch {
	case o.sform > 0:
		m = o.rows
	case o.qform > 0:
		r := o.q.matrix()
		for i := range 3 {
			m[i] = [4]float64{r[i][0], r[i][1], r[i][2], o.shift[i]}
		}
	default:
		oriented = false
		for i := range 3 {
			m[i][i] = o.q.spacing[i]
			if i == 0 {
				m[i][i] = -m[i][i]
			}
			m[i][3] = -m[i][i] * float64(dim[i]-1) / 2
		}
	}
	for _, row := range m {
		for _, x := range row {
			if notFinite(x) {
				return m, oriented, fmt.Errorf("the orientation matrix has the element %v: the file is damaged", x)
			}
		}
	}
	return m, oriented, nil
}
