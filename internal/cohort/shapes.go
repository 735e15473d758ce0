package cohort

import "math"

// vec is a place in millimeters: x to the right, y to the front, z upwards.
type vec struct{ x, y, z float32 }

func (a vec) sub(b vec) vec     { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec) dot(b vec) float32 { return a.x*b.x + a.y*b.y + a.z*b.z }

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// mix goes from a to b as t goes from 0 to 1.
func mix(a, b, t float32) float32 { return a + (b-a)*t }

// ellipsoid is a solid with axes along x, y and z.
type ellipsoid struct{ c, inv vec }

// ball returns the ellipsoid with center (x, y, z) and semi-axes a, b and c.
func ball(x, y, z, a, b, c float32) ellipsoid {
	return ellipsoid{vec{x, y, z}, vec{1 / a, 1 / b, 1 / c}}
}

// dist returns about the distance of q from the surface, negative inside. It is
// exact to first order near the surface, which is where it decides anything.
func (e *ellipsoid) dist(q vec) float32 {
	// A thousandth of a millimeter keeps the center itself out of 0/0.
	x, y, z := (q.x-e.c.x+1e-3)*e.inv.x, (q.y-e.c.y)*e.inv.y, (q.z-e.c.z)*e.inv.z
	k := sqrt(x*x + y*y + z*z)
	gx, gy, gz := x*e.inv.x, y*e.inv.y, z*e.inv.z
	return k * (k - 1) / sqrt(gx*gx+gy*gy+gz*gz)
}

// limb is a rounded rod from a to a+d whose radius goes from r to r+dr.
type limb struct {
	a, d  vec
	r, dr float32
	inv   float32 // 1/|d|²
}

func rod(a, b vec, ra, rb float32) limb {
	d := b.sub(a)
	return limb{a, d, ra, rb - ra, 1 / d.dot(d)}
}

// dist returns the distance of q from the surface, negative inside.
func (l *limb) dist(q vec) float32 {
	p := q.sub(l.a)
	t := min(max(p.dot(l.d)*l.inv, 0), 1)
	x, y, z := p.x-t*l.d.x, p.y-t*l.d.y, p.z-t*l.d.z
	return sqrt(x*x+y*y+z*z) - l.r - t*l.dr
}

// union is the smaller of two distances, rounded off over a width of k where
// the two meet.
func union(a, b, k float32) float32 {
	h := max(k-abs(a-b), 0)
	return min(a, b) - h*h*(0.25/k)
}
