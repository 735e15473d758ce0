// Package volume has the volumes of medical imaging, whatever file format they come from.
//
// A [Format] reads a [Volume] in the canonical orientation, whatever the file's own: the first
// axis runs from left to right, the second from back to front, the third from foot to head
// (RAS); [Canonical] turns voxels so. [Resample] brings a volume to a grid and [Normalize] its
// intensities to a common scale.
package volume

import (
	"fmt"
)

// Volume is a three-dimensional image in the RAS frame.
type Volume struct {
	// Dim are the numbers of voxels along x (left to right), y (back to front)
	// and z (foot to head).
	Dim [3]int
	// Spacing are the sizes of a voxel along these axes, in millimeters for
	// files that follow the standard.
	Spacing [3]float64
	// Affine takes voxel indices to millimeters: row r is
	// mm_r = Σ_c Affine[r][c]·index_c + Affine[r][3].
	// The zero value, in a volume to be written, means axes along the spacing
	// with the origin in the middle of the volume.
	Affine [3][4]float64
	// Data are the values, x fastest: voxel (x, y, z) is Data[(z·Dim[1]+y)·Dim[0]+x].
	Data []float32
}

// At returns the value of voxel (x, y, z).
func (v *Volume) At(x, y, z int) float32 { return v.Data[(z*v.Dim[1]+y)*v.Dim[0]+x] }

// MaxVoxels bounds the size of a volume: 812³.
const MaxVoxels = 1 << 29

// Dims writes numbers of voxels, for messages.
func Dims(d [3]int) string { return fmt.Sprintf("%d×%d×%d", d[0], d[1], d[2]) }
