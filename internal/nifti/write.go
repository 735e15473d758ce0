package nifti

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"credence/internal/atomicfile"
	"credence/internal/volume"
)

// WriteOptions configures how a volume is written. The zero value writes
// uncompressed float32.
type WriteOptions struct {
	// Type is Float32 (also 0), or Int16, for which all values must be whole numbers
	// in the range of the type. Values are written unchanged, with a slope of 1.
	Type Type
	// Gzip compresses, without a name or a time, so that equal volumes result in
	// equal bytes.
	Gzip bool
	// Level of compression, from 1 (fast) to 9 (small); 0 means 6.
	Level int
	// Description is stored in the header: at most 79 bytes.
	Description string
}

// Write writes a volume as a single little-endian NIfTI-1 file. Its orientation is
// written as sform and, if the axes are at right angles, also as
// qform.
func Write(w io.Writer, v *Volume, o WriteOptions) error {
	o.Type = cmp.Or(o.Type, Float32)
	if err := check(v); err != nil {
		return fmt.Errorf("writing a volume: %w", err)
	}
	if o.Type != Float32 && o.Type != Int16 {
		return fmt.Errorf("writing a volume: expected voxels of type float32 or int16, found %v", o.Type)
	}
	for _, d := range v.Dim {
		if d > math.MaxInt16 {
			return fmt.Errorf("writing a volume: %s voxels: an axis of NIfTI-1 has at most %d", volume.Dims(v.Dim), math.MaxInt16)
		}
	}
	if len(o.Description) > 79 {
		return fmt.Errorf("writing a volume: expected a description of at most 79 bytes, found %d", len(o.Description))
	}
	if !o.Gzip {
		return write(w, v, o)
	}
	z, err := gzip.NewWriterLevel(w, cmp.Or(o.Level, gzip.DefaultCompression))
	if err != nil {
		return fmt.Errorf("writing a volume: %w", err)
	}
	if err := write(z, v, o); err != nil {
		return err
	}
	return z.Close()
}

// check returns an error if the fields of a volume are invalid or inconsistent.
func check(v *Volume) error {
	n := 1
	for axis, d := range v.Dim {
		if d < 1 || n > volume.MaxVoxels/d {
			return fmt.Errorf("a volume of %s voxels: at most %d are written", volume.Dims(v.Dim), volume.MaxVoxels)
		}
		n *= d
		if !(v.Spacing[axis] > 0) || math.IsInf(v.Spacing[axis], 0) {
			return fmt.Errorf("expected positive sizes of voxels, found %v", v.Spacing)
		}
	}
	if len(v.Data) != n {
		return fmt.Errorf("%d values for a volume of %s voxels", len(v.Data), volume.Dims(v.Dim))
	}
	for _, row := range v.Affine {
		for _, a := range row {
			if notFinite(a) {
				return fmt.Errorf("an affine with the element %v", a)
			}
		}
	}
	return nil
}

// WriteFile writes a volume to a file that appears whole or not at all,
// compressed if its name ends in .gz.
func WriteFile(path string, v *Volume, o WriteOptions) error {
	low := strings.ToLower(path)
	if !strings.HasSuffix(low, ".nii") && !strings.HasSuffix(low, ".nii.gz") {
		return fmt.Errorf("writing %s: expected a name that ends in .nii or .nii.gz", path)
	}
	o.Gzip = strings.HasSuffix(low, ".gz")
	return atomicfile.Write(path, func(w io.Writer) error { return Write(w, v, o) })
}

// write writes the header and the voxels of a volume that was checked. An int16 that
// differs from its value after conversion is an error.
func write(to io.Writer, v *Volume, o WriteOptions) error {
	w := bufio.NewWriterSize(to, 1<<16)
	w.Write(headerBytes(v, o))
	w.Write([]byte{0, 0, 0, 0}) // no extensions
	var b [4]byte
	for i, x := range v.Data {
		if o.Type == Float32 {
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
			w.Write(b[:4])
			continue
		}
		k := int16(x)
		if float32(k) != x {
			return fmt.Errorf("writing a volume: expected a whole number within int16, found %v in voxel %d", x, i)
		}
		binary.LittleEndian.PutUint16(b[:], uint16(k))
		w.Write(b[:2])
	}
	return w.Flush() // a bufio.Writer keeps the first error
}

// headerBytes returns the header of a volume.
func headerBytes(v *Volume, o WriteOptions) []byte {
	h := make([]byte, headerSize1)
	le := binary.LittleEndian
	f32 := func(at int, x float64) { le.PutUint32(h[at:], math.Float32bits(float32(x))) }
	le.PutUint32(h[0:], headerSize1)
	for i, d := range []int{3, v.Dim[0], v.Dim[1], v.Dim[2], 1, 1, 1, 1} {
		le.PutUint16(h[40+2*i:], uint16(d))
	}
	le.PutUint16(h[70:], uint16(o.Type))
	le.PutUint16(h[72:], uint16(8*o.Type.size()))
	affine := v.Affine
	if affine == ([3][4]float64{}) {
		for i := range 3 {
			affine[i][i] = v.Spacing[i]
			affine[i][3] = -v.Spacing[i] * float64(v.Dim[i]-1) / 2
		}
	}
	f32(76, 1)
	for i := range 3 {
		f32(80+4*i, v.Spacing[i])
	}
	f32(108, headerSize1+4)
	f32(112, 1) // the slope of values; they have no offset
	h[123] = 2  // millimeters
	copy(h[148:148+79], o.Description)
	if q, ok := quaternionOf(affine); ok {
		le.PutUint16(h[252:], 1) // scanner coordinates
		f32(76, q.face)
		for i, x := range q.spacing {
			f32(80+4*i, x)
		}
		f32(256, q.b)
		f32(260, q.c)
		f32(264, q.d)
		for i := range 3 {
			f32(268+4*i, affine[i][3])
		}
	}
	le.PutUint16(h[254:], 1)
	for r := range 3 {
		for c := range 4 {
			f32(280+16*r+4*c, affine[r][c])
		}
	}
	copy(h[344:], "n+1\x00")
	return h
}

// quaternion is an orientation as stored in a qform: a rotation by the unit
// quaternion (a, b, c, d), a ≥ 0, of axes with the given spacing, the third
// reversed if face is −1.
type quaternion struct {
	b, c, d float64
	face    float64
	spacing [3]float64
}

// matrix returns the 3×3 matrix of voxel axes, as in nifti1.h:
//
//	a² = 1 − b² − c² − d²; columns scaled by the spacing, the third also by face.
//
// If rounding makes a² negative, (b, c, d) is normalized to length one.
func (q quaternion) matrix() [3][3]float64 {
	b, c, d := q.b, q.c, q.d
	a2 := 1 - (b*b + c*c + d*d)
	if a2 < 1e-7 {
		if n := math.Sqrt(b*b + c*c + d*d); n > 0 && a2 < 0 {
			b, c, d = b/n, c/n, d/n
		}
		a2 = max(0, 1-(b*b+c*c+d*d))
	}
	a := math.Sqrt(a2)
	m := [3][3]float64{
		{a*a + b*b - c*c - d*d, 2*b*c - 2*a*d, 2*b*d + 2*a*c},
		{2*b*c + 2*a*d, a*a + c*c - b*b - d*d, 2*c*d - 2*a*b},
		{2*b*d - 2*a*c, 2*c*d + 2*a*b, a*a + d*d - b*b - c*c},
	}
	for r := range 3 {
		for k := range 3 {
			m[r][k] *= q.spacing[k]
		}
		m[r][2] *= q.face
	}
	return m
}

// quaternionOf returns the orientation of an affine, and reports whether its axes
// are at right angles, so that a qform can represent it.
func quaternionOf(affine [3][4]float64) (quaternion, bool) {
	q := quaternion{face: 1, spacing: volume.Spacings(affine)}
	var r [3][3]float64
	for i := range 3 {
		for k := range 3 {
			if q.spacing[k] == 0 {
				return q, false
			}
			r[i][k] = affine[i][k] / q.spacing[k]
		}
	}
	for k := range 3 {
		l := (k + 1) % 3
		if math.Abs(r[0][k]*r[0][l]+r[1][k]*r[1][l]+r[2][k]*r[2][l]) > 1e-6 {
			return q, false
		}
	}
	if volume.Det(r) < 0 {
		q.face = -1
		for i := range 3 {
			r[i][2] = -r[i][2]
		}
	}
	// The largest of a, b, c, d is computed from the diagonal, the others from it.
	if trace := 1 + r[0][0] + r[1][1] + r[2][2]; trace > 0.5 {
		a := 0.5 * math.Sqrt(trace)
		q.b, q.c, q.d = (r[2][1]-r[1][2])/(4*a), (r[0][2]-r[2][0])/(4*a), (r[1][0]-r[0][1])/(4*a)
		return q, true
	}
	var v [3]float64 // b, c, d
	for i := range v {
		j, k := (i+1)%3, (i+2)%3
		square := 1 + r[i][i] - r[min(j, k)][min(j, k)] - r[max(j, k)][max(j, k)]
		if square <= 1 && i < 2 {
			continue
		}
		v[i] = 0.5 * math.Sqrt(square)
		v[j], v[k] = (r[i][j]+r[j][i])/(4*v[i]), (r[i][k]+r[k][i])/(4*v[i])
		if r[k][j] < r[j][k] { // a < 0
			v = [3]float64{-v[0], -v[1], -v[2]}
		}
		break
	}
	q.b, q.c, q.d = v[0], v[1], v[2]
	return q, true
}
