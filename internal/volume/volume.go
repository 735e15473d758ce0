// Package volume represents the volumes of medical imaging, independently of file formats.
//
// A [Format] reads a [Volume] and converts it to the canonical orientation: the first axis
// runs from left to right, the second from back to front, the third from foot to head
// (RAS); see [Canonical]. [Resample] resamples a volume to a grid, and [Normalize] brings
// intensities to a common scale.
package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Volume is a three-dimensional image in the RAS frame.
type Volume struct {
	// Dim are the numbers of voxels along x (left to right), y (back to front)
	// and z (foot to head).
	Dim [3]int
	// Spacing are the sizes of a voxel along these axes, in millimeters for
	// files that follow the standard.
	Spacing [3]float64
	// Affine maps voxel indices to millimeters: row r is
	// mm_r = Σ_c Affine[r][c]·index_c + Affine[r][3].
	// The zero value, in a volume to be written, means axes along the spacing
	// with the origin in the middle of the volume.
	Affine [3][4]float64
	// Data are the values, x fastest: voxel (x, y, z) is Data[(z·Dim[1]+y)·Dim[0]+x].
	Data []float32
}

// At returns the value of voxel (x, y, z).
func (v *Volume) At(x, y, z int) float32 { return v.Data[(z*v.Dim[1]+y)*v.Dim[0]+x] }

// MaxVoxels limits the size of a volume: 812³.
const MaxVoxels = 1 << 29

// Dims formats dimensions for messages.
func Dims(d [3]int) string { return fmt.Sprintf("%d×%d×%d", d[0], d[1], d[2]) }

// Format is a file format for volumes. It is the only interface between callers and the
// package that reads the format.
type Format struct {
	Name string // in messages
	// Extensions are the file extensions, in lower case. Each may be followed by .gz.
	Extensions []string
	// Voxels is the extension of files with the voxels of a volume whose header is another file,
	// or "" if there are none.
	Voxels string
	// Files returns the files that make up the volume at path.
	Files func(path string) ([]string, error)
	// Header reads the header of the volume at path.
	Header func(path string) (Header, error)
	// Read reads the volume at path. Header.Memory returns the memory it needs.
	Read func(ctx context.Context, path string) (*Volume, error)
}

// SplitName returns a path without its extension, and the extension in lower case, without
// .gz. The extension is "" if it is none of those given.
func SplitName(path string, extensions []string) (stem, ext string) {
	low := strings.TrimSuffix(strings.ToLower(path), ".gz")
	for _, e := range extensions {
		if strings.HasSuffix(low, e) && len(filepath.Base(low)) > len(e) {
			return path[:len(low)-len(e)], e
		}
	}
	return path, ""
}

// Header describes the volume in a file.
type Header struct {
	Dim [3]int // voxels along the axes of the file
	// Oriented is false if the file does not define left and right.
	Oriented bool
}

// Memory returns the peak memory, in bytes, of reading the first volume and resampling it
// to a grid: the voxels, a copy of them in another order, and the voxels resampled along
// one axis, then along two.
func (h Header) Memory(grid [3]int) int64 {
	d := h.Dim
	n := int64(d[0]) * int64(d[1]) * int64(d[2])
	// The mapping of the file's axes to those of the grid is not known yet.
	g := int64(max(grid[0], grid[1], grid[2]))
	along1 := n / int64(min(d[0], d[1], d[2])) * g
	along2 := int64(max(d[0], d[1], d[2])) * g * g
	return 4 * (2*n + along1 + along2 + 2*g*g*g)
}

// Spacings returns the lengths of the first three columns.
func Spacings(affine [3][4]float64) (s [3]float64) {
	for k := range 3 {
		s[k] = math.Sqrt(affine[0][k]*affine[0][k] + affine[1][k]*affine[1][k] + affine[2][k]*affine[2][k])
	}
	return s
}

// Det returns the determinant of a matrix.
func Det(m [3][3]float64) float64 {
	return m[0][0]*(m[1][1]*m[2][2]-m[1][2]*m[2][1]) -
		m[0][1]*(m[1][0]*m[2][2]-m[1][2]*m[2][0]) +
		m[0][2]*(m[1][0]*m[2][1]-m[1][1]*m[2][0])
}

// axes maps the axes of a file to those of the RAS frame: axis k of the frame is
// axis from[k] of the file, reversed if flip[k] is set.
type axes struct {
	from [3]int
	flip [3]bool
}

var errSingular = errors.New("the orientation matrix is singular")

// closest returns the axes closest to those of the frame. The columns of the affine
// are normalized to length one and then replaced by the closest rotation,
//
//	R = U·Vᵀ for the singular value decomposition U·S·Vᵀ,
//
// so that shear has no influence. The file's axis with the largest element of R
// is mapped to the axis of that element's row, then the axis with the next largest.
// nibabel's io_orientation does the same.
func closest(affine [3][4]float64) (axes, error) {
	s := Spacings(affine)
	var r [3][3]float64
	for k := range 3 {
		if !(s[k] > 0) || math.IsInf(s[k], 0) {
			return axes{}, errSingular
		}
		for i := range 3 {
			r[i][k] = affine[i][k] / s[k]
		}
	}
	if d := math.Abs(Det(r)); !(d > 1e-9) {
		return axes{}, errSingular
	}
	r = rotation(r)
	largest := func(k int) float64 {
		return max(math.Abs(r[0][k]), math.Abs(r[1][k]), math.Abs(r[2][k]))
	}
	order := []int{0, 1, 2}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(largest(b), largest(a)) })
	var a axes
	var taken [3]bool
	for _, k := range order {
		best := -1
		for i := range 3 {
			if !taken[i] && (best < 0 || math.Abs(r[i][k]) > math.Abs(r[best][k])) {
				best = i
			}
		}
		taken[best] = true
		a.from[best], a.flip[best] = k, r[best][k] < 0
	}
	return a, nil
}

// rotation returns the orthogonal factor of the polar decomposition of a
// regular matrix, by Newton's iteration (Higham 1986):
//
//	R ← ½(g·R + (g·R)⁻ᵀ),  g = |det R|^(−1/3)
func rotation(r [3][3]float64) [3][3]float64 {
	for range 60 {
		d := Det(r)
		g := math.Cbrt(1 / math.Abs(d))
		var next [3][3]float64
		moved := 0.0
		for i := range 3 {
			for k := range 3 {
				i1, i2, k1, k2 := (i+1)%3, (i+2)%3, (k+1)%3, (k+2)%3
				inverse := (r[i1][k1]*r[i2][k2] - r[i1][k2]*r[i2][k1]) / d // of the transpose
				next[i][k] = 0.5 * (g*r[i][k] + inverse/g)
				moved = max(moved, math.Abs(next[i][k]-r[i][k]))
			}
		}
		r = next
		if moved < 1e-14 {
			break
		}
	}
	return r
}

// Canonical rearranges voxels of the given dimensions, x fastest, to the RAS
// frame, and returns the volume with its affine in that frame.
func Canonical(data []float32, dim [3]int, affine [3][4]float64) (*Volume, error) {
	a, err := closest(affine)
	if err != nil {
		return nil, err
	}
	v := &Volume{Data: data}
	stride := [3]int{1, dim[0], dim[0] * dim[1]}
	start := 0
	var step [3]int
	for k := range 3 {
		from := a.from[k]
		v.Dim[k], step[k] = dim[from], stride[from]
		for i := range 3 {
			v.Affine[i][k] = affine[i][from]
		}
		if a.flip[k] {
			last := dim[from] - 1
			start += last * stride[from]
			step[k] = -stride[from]
			for i := range 3 {
				v.Affine[i][3] += affine[i][from] * float64(last)
				v.Affine[i][k] = -affine[i][from]
			}
		}
	}
	for i := range 3 {
		v.Affine[i][3] += affine[i][3]
	}
	v.Spacing = Spacings(v.Affine)
	if a == (axes{from: [3]int{0, 1, 2}}) {
		return v, nil
	}
	v.Data = make([]float32, len(data))
	at := 0
	for z := range v.Dim[2] {
		for y := range v.Dim[1] {
			p := start + z*step[2] + y*step[1]
			for range v.Dim[0] {
				v.Data[at] = data[p]
				at++
				p += step[0]
			}
		}
	}
	return v, nil
}
