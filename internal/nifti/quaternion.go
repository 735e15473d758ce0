package nifti

import (
	"math"

	"credence/internal/volume"
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
