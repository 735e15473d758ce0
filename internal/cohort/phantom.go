package cohort

import (
	"math"
	"math/rand/v2"

	"credence/internal/rng"
)

// Size is the number of voxels of a volume along x, y and z.
type Size [3]int

// DefaultSize is the size of the paper's volumes.
var DefaultSize = Size{96, 96, 80}

// Voxels returns how many voxels there are.
func (s Size) Voxels() int { return s[0] * s[1] * s[2] }

// The field of view in millimeters and its center in the template, which a head
// of mean size fills; volumes of every size show all of it.
var (
	fieldOfView = [3]float32{211.2, 211.2, 176}
	viewCenter  = [3]float32{0, -2, 8}
)

// Spacing returns the edges of a voxel in millimeters.
func (s Size) Spacing() [3]float32 {
	return [3]float32{fieldOfView[0] / float32(s[0]), fieldOfView[1] / float32(s[1]), fieldOfView[2] / float32(s[2])}
}

// sharp is the largest edge of a voxel, in millimeters, at which shapes are
// evaluated; larger voxels are means of smaller ones.
const sharp = 3

// Picture is what is drawn of a head: who, which scan, and how ill it looks.
type Picture struct {
	Seed          uint64
	Part          Part
	Subject, Scan int
	Severity      float64 // as shown: latent severity and what the image adds
}

// Render draws a volume, x fastest: x runs from the subject's right to the left,
// y from back to front, z from below upwards, which is the order (LAS) in which
// scanners often store one. Brightness is about 100 in white matter.
func (p Picture) Render(size Size) []float32 {
	h := newHead(p)
	spacing := size.Spacing()
	var times Size
	for i, s := range spacing {
		times[i] = int(math.Ceil(float64(s) / sharp))
	}
	fine := Size{size[0] * times[0], size[1] * times[1], size[2] * times[2]}
	v := h.draw(fine)
	if fine != size {
		v = shrink(v, size, times)
	}
	p.degrade(v, size)
	return v
}

// draw evaluates the head at the centers of all voxels.
func (h *head) draw(size Size) []float32 {
	spacing := size.Spacing()
	v := make([]float32, size.Voxels())
	b := (spacing[0] + spacing[1] + spacing[2]) / 3 / meanSize // of a voxel, in the template
	// Coordinates along each axis, and the bendings that depend on them.
	var at [3][]float32
	var bend [3][3][]float32 // of coordinate i along axis j
	for j := range at {
		at[j] = make([]float32, size[j])
		for k := range at[j] {
			c := (float32(k)+0.5)*spacing[j] - fieldOfView[j]/2
			if j == 0 {
				c = -c
			}
			at[j][k] = c + viewCenter[j]
		}
		for i := range bend {
			if i == j {
				continue
			}
			bend[i][j] = make([]float32, size[j])
			for k, c := range at[j] {
				bend[i][j][k] = h.bend[i][(j-i+3)%3-1].height(c)
			}
		}
	}
	n := 0
	for k, z := range at[2] {
		for j, y := range at[1] {
			py, pz := y-h.center.y, z-h.center.z
			row := vec{
				h.turn[0].y*py + h.turn[0].z*pz + bend[0][1][j] + bend[0][2][k],
				h.turn[1].y*py + h.turn[1].z*pz + bend[1][2][k],
				h.turn[2].y*py + h.turn[2].z*pz + bend[2][1][j],
			}
			for i, x := range at[0] {
				px := x - h.center.x
				q := vec{row.x + h.turn[0].x*px, row.y + h.turn[1].x*px + bend[1][0][i], row.z + h.turn[2].x*px + bend[2][0][i]}
				v[n] = h.brightness(q, b)
				n++
			}
		}
	}
	return v
}

// shrink takes means over blocks of times[0] × times[1] × times[2] voxels.
func shrink(v []float32, size, times Size) []float32 {
	out := make([]float32, size.Voxels())
	nx, ny := size[0]*times[0], size[1]*times[1]
	for n, x := range v {
		i, j, k := n%nx/times[0], n/nx%ny/times[1], n/nx/ny/times[2]
		out[(k*size[1]+j)*size[0]+i] += x
	}
	scale := 1 / float32(times.Voxels())
	for i := range out {
		out[i] *= scale
	}
	return out
}

// degrade puts a bias field and noise over a volume: the field is a product of
// slow curves along the axes, the noise that of a magnitude of two channels
// (Rician), of the same size everywhere.
func (p Picture) degrade(v []float32, size Size) {
	r := rand.New(rng.New(p.Seed, "cohort.scanner."+string(p.Part), uint64(p.Scan)))
	gain := float32(math.Exp(0.1 * r.NormFloat64()))
	sd := gain * float32(2.2+0.6*r.Float64())
	var bias [3][]float32
	for j := range bias {
		slope, bow := float32(0.07*r.NormFloat64()), float32(0.06*r.NormFloat64())
		bias[j] = make([]float32, size[j])
		for k := range bias[j] {
			t := 2*(float32(k)+0.5)/float32(size[j]) - 1
			bias[j][k] = 1 + slope*t + bow*(t*t-0.4)
		}
	}
	key := [2]uint32{r.Uint32(), r.Uint32()}
	// Four bytes add up to something close enough to a Gaussian.
	unit := sd / float32(math.Sqrt(4*(256*256-1)/12.0))
	n := 0
	for k := range size[2] {
		for j := range size[1] {
			row := gain * bias[1][j] * bias[2][k]
			var block [4]uint32
			for i := range size[0] {
				if i&1 == 0 {
					block = rng.Philox(key, [4]uint32{uint32(i), uint32(j), uint32(k), 0})
				}
				at := i & 1 * 2
				re := v[n]*row*bias[0][i] + unit*bytesOf(block[at])
				im := unit * bytesOf(block[at+1])
				v[n] = sqrt(re*re + im*im)
				n++
			}
		}
	}
}

// bytesOf is the sum of four random bytes, less its mean.
func bytesOf(x uint32) float32 {
	x = x&0x00ff00ff + x>>8&0x00ff00ff
	return float32(x&0xffff+x>>16) - 510
}
