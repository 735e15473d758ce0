// Package nifti reads and writes volumes in the NIfTI format of medical
// imaging: single files (.nii, .nii.gz) and pairs (.hdr with .img), NIfTI-1 and
// NIfTI-2, in either byte order.
//
// [Read] returns a [Volume] in the canonical orientation, whatever the file's
// own: the first axis runs from left to right, the second from back to front,
// the third from foot to head (RAS). [Resample] brings it to a grid and
// [Normalize] its intensities to a common scale; [Write] writes one.
//
// Headers are not trusted: no size in one makes the reader allocate, or
// decompress, more than the file can hold.
package nifti

import (
	"fmt"
	"math"
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

// maxVoxels bounds the size of a volume: 812³.
const maxVoxels = 1 << 29

// check refuses a volume whose fields contradict each other.
func (v *Volume) check() error {
	n := 1
	for axis, d := range v.Dim {
		if d < 1 || n > maxVoxels/d {
			return fmt.Errorf("a volume of %s voxels: at most %d are written", dims(v.Dim), maxVoxels)
		}
		n *= d
		if !(v.Spacing[axis] > 0) || math.IsInf(v.Spacing[axis], 0) {
			return fmt.Errorf("voxels of %v: sizes are positive", v.Spacing)
		}
	}
	if len(v.Data) != n {
		return fmt.Errorf("%d values for a volume of %s voxels", len(v.Data), dims(v.Dim))
	}
	for _, row := range v.Affine {
		for _, a := range row {
			if bad(a) {
				return fmt.Errorf("an affine with the element %v", a)
			}
		}
	}
	return nil
}

func dims(d [3]int) string { return fmt.Sprintf("%d×%d×%d", d[0], d[1], d[2]) }
