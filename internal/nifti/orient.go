package nifti

import (
	"errors"
	"math"
)

// quaternion is an orientation as a qform stores it: a rotation by the unit
// quaternion (a, b, c, d), a ≥ 0, of axes with the given spacing, the third
// reversed where face is −1.
type quaternion struct {
	b, c, d float64
	face    float64
	spacing [3]float64
}

// matrix returns the 3×3 matrix of voxel axes, as in nifti1.h:
//
//	a² = 1 − b² − c² − d²; columns scaled by the spacing, the third by face too.
//
// Where rounding makes a² negative, (b, c, d) is brought to length one.
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

// quaternionOf returns the orientation of an affine, if its axes are at right
// angles, so that a qform can say it.
func quaternionOf(affine [3][4]float64) (quaternion, bool) {
	q := quaternion{face: 1, spacing: spacings(affine)}
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
	if det(r) < 0 {
		q.face = -1
		for i := range 3 {
			r[i][2] = -r[i][2]
		}
	}
	// The largest of a, b, c, d is found from the diagonal, the others from it.
	var a float64
	switch trace := 1 + r[0][0] + r[1][1] + r[2][2]; {
	case trace > 0.5:
		a = 0.5 * math.Sqrt(trace)
		q.b, q.c, q.d = (r[2][1]-r[1][2])/(4*a), (r[0][2]-r[2][0])/(4*a), (r[1][0]-r[0][1])/(4*a)
	default:
		x, y, z := 1+r[0][0]-r[1][1]-r[2][2], 1+r[1][1]-r[0][0]-r[2][2], 1+r[2][2]-r[0][0]-r[1][1]
		switch {
		case x > 1:
			q.b = 0.5 * math.Sqrt(x)
			q.c, q.d, a = (r[0][1]+r[1][0])/(4*q.b), (r[0][2]+r[2][0])/(4*q.b), (r[2][1]-r[1][2])/(4*q.b)
		case y > 1:
			q.c = 0.5 * math.Sqrt(y)
			q.b, q.d, a = (r[0][1]+r[1][0])/(4*q.c), (r[1][2]+r[2][1])/(4*q.c), (r[0][2]-r[2][0])/(4*q.c)
		default:
			q.d = 0.5 * math.Sqrt(z)
			q.b, q.c, a = (r[0][2]+r[2][0])/(4*q.d), (r[1][2]+r[2][1])/(4*q.d), (r[1][0]-r[0][1])/(4*q.d)
		}
		if a < 0 {
			q.b, q.c, q.d = -q.b, -q.c, -q.d
		}
	}
	return q, true
}

// spacings returns the lengths of the first three columns.
func spacings(affine [3][4]float64) (s [3]float64) {
	for k := range 3 {
		s[k] = math.Sqrt(affine[0][k]*affine[0][k] + affine[1][k]*affine[1][k] + affine[2][k]*affine[2][k])
	}
	return s
}

func det(m [3][3]float64) float64 {
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
	s := spacings(affine)
	var r [3][3]float64
	for k := range 3 {
		if !(s[k] > 0) || math.IsInf(s[k], 0) {
			return axes{}, errSingular
		}
		for i := range 3 {
			r[i][k] = affine[i][k] / s[k]
		}
	}
	if d := math.Abs(det(r)); !(d > 1e-9) {
		return axes{}, errSingular
	}
	r = rotation(r)
	largest := func(k int) float64 {
		return max(math.Abs(r[0][k]), math.Abs(r[1][k]), math.Abs(r[2][k]))
	}
	order := []int{0, 1, 2}
	for i := 1; i < 3; i++ { // a stable sort, largest first
		for j := i; j > 0 && largest(order[j]) > largest(order[j-1]); j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
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
		d := det(r)
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

// canonical rearranges voxels, x fastest, of the given dimensions into the RAS
// frame, and returns the volume with its affine there.
func canonical(data []float32, dim [3]int, affine [3][4]float64) (*Volume, error) {
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
	v.Spacing = spacings(v.Affine)
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
