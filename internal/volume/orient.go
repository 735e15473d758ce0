package volume

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

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

// axes says how the axes of a file become those of the RAS frame: axis k of the
// frame is axis from[k] of the file, reversed where flip[k] is set.
type axes struct {
	from [3]int
	flip [3]bool
}

var errSingular = errors.New("the matrix of its orientation is singular")

// closest returns the axes nearest to the frame's. The columns of the affine
// are brought to length one and then to the closest rotation,
//
//	R = U·Vᵀ for the singular value decomposition U·S·Vᵀ,
//
// so that shear does not decide; the file's axis with the largest element of R
// is given the axis of that element's row, then the next. nibabel's
// io_orientation does the same.
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

// Canonical rearranges voxels, x fastest, of the given dimensions into the RAS
// frame, and returns the volume with its affine there.
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
