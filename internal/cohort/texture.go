package cohort

import (
	"math"
	"math/rand/v2"
	"sync"

	"credence/internal/rng"
)

// texture is a smooth random field with a preferred wavelength, periodic in a
// cube. Its zeros are winding surfaces about half a wavelength apart: seen on a
// sphere, they wind as the sulci of a brain do. All heads share one texture and
// look at it from different places.
type texture struct {
	v []float32 // [side × side × side], in units of the mean slope
}

const side = 64 // of the cube, a power of two

// foldingTexture is made when the first head is.
var foldingTexture = sync.OnceValue(func() *texture { return newTexture(1) })

// newTexture filters white noise between two scales: it is smoothed with a
// narrow and with a wide window, and the difference is kept.
func newTexture(seed uint64) *texture {
	r := rand.New(rng.New(seed, "cohort.texture"))
	fine := make([]float32, side*side*side)
	for i := range fine {
		fine[i] = float32(r.NormFloat64())
	}
	blur(fine, 1)
	coarse := append([]float32(nil), fine...)
	blur(coarse, 2)
	for i := range fine {
		fine[i] -= coarse[i]
	}
	t := &texture{fine}
	// In units of the mean slope a value is about a distance from the zero.
	var slope float64
	for z := range side {
		for y := range side {
			for x := range side {
				c := t.cell(x, y, z)
				dx, dy, dz := t.cell(x+1, y, z)-c, t.cell(x, y+1, z)-c, t.cell(x, y, z+1)-c
				slope += math.Sqrt(float64(dx*dx + dy*dy + dz*dz))
			}
		}
	}
	scale := float32(side * side * side / slope)
	for i := range fine {
		fine[i] *= scale
	}
	return t
}

// blur takes the mean over windows of 2r+1 cells along each axis, three times,
// which is close to a Gaussian of variance r(r+1).
func blur(v []float32, r int) {
	line := make([]float32, side)
	for _, stride := range []int{1, side, side * side} {
		for at := range v {
			if at/stride%side != 0 {
				continue
			}
			for range 3 {
				for i := range line {
					var sum float32
					for k := -r; k <= r; k++ {
						sum += v[at+(i+k)&(side-1)*stride]
					}
					line[i] = sum / float32(2*r+1)
				}
				for i, x := range line {
					v[at+i*stride] = x
				}
			}
		}
	}
}

func (t *texture) cell(x, y, z int) float32 {
	const m = side - 1
	return t.v[(z&m*side+y&m)*side+x&m]
}

// distance returns about how far, in cells, a place is from the nearest zero:
// the value there over its slope, both by linear interpolation. The place must
// not be negative.
func (t *texture) distance(p vec) float32 {
	const m = side - 1
	i, j, k := int(p.x), int(p.y), int(p.z)
	x, y, z := p.x-float32(i), p.y-float32(j), p.z-float32(k)
	i0, i1 := i&m, (i+1)&m
	j0, j1 := j&m*side, (j+1)&m*side
	k0, k1 := k&m*side*side, (k+1)&m*side*side
	v := t.v
	a000, a100 := v[k0+j0+i0], v[k0+j0+i1]
	a010, a110 := v[k0+j1+i0], v[k0+j1+i1]
	a001, a101 := v[k1+j0+i0], v[k1+j0+i1]
	a011, a111 := v[k1+j1+i0], v[k1+j1+i1]
	d00, d10, d01, d11 := a100-a000, a110-a010, a101-a001, a111-a011
	b00, b10 := a000+x*d00, a010+x*d10
	b01, b11 := a001+x*d01, a011+x*d11
	e0, e1 := b10-b00, b11-b01
	c0, c1 := b00+y*e0, b01+y*e1
	gx := mix(mix(d00, d10, y), mix(d01, d11, y), z)
	gy := mix(e0, e1, z)
	gz := c1 - c0
	// Where the field is flat there is no zero to be near.
	const flat = 0.25
	return abs(c0+z*gz) / sqrt(gx*gx+gy*gy+gz*gz+flat*flat)
}

// foldingAt is how far, in cells of the shared texture, a place is from a fold.
func foldingAt(p vec) float32 { return foldingTexture().distance(p) }
