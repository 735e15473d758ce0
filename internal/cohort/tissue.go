package cohort

// This file describes the anatomy: each function returns the brightness at a place
// q of the template. b is the width over which one tissue passes into the next,
// about the size of a voxel.

// cover is the share of a voxel that lies inside a surface at distance d.
func cover(d, b float32) float32 { return min(max(0.5-d/b, 0), 1) }

// reach is how far outside the cranium anything but the face and neck is.
const reach = 16

// brightness is the signal at q, without bias and noise; 0 is air.
func (h *head) brightness(q vec, b float32) float32 {
	skull := h.cranium.dist(q)
	if q.z < -10 {
		// The base of the skull goes down in steps: the frontal lobes rest on
		// the roof of the orbits, the cerebellum just above the neck.
		base := mix(-58, -50, min(max((q.y+40)*(1.0/15), 0), 1))
		base = mix(base, -26, min(max((q.y-8)*(1.0/18), 0), 1))
		skull = -union(-skull, q.z-base, 8)
		if q.y > -25 && abs(q.x) < 25 {
			skull = -union(-skull, h.clivus.dist(q), 6)
		}
	}
	if skull > reach && (q.z > 0 || abs(q.x) > 66) {
		return 0
	}
	if skull < -b {
		return h.inside(q, skull, b)
	}
	out := h.outside(q, skull, b)
	if skull < b {
		return mix(out, h.inside(q, skull, b), cover(skull, b))
	}
	return out
}

// outside draws skull, scalp, face and neck.
func (h *head) outside(q vec, skull, b float32) float32 {
	skin := skull - h.skull - h.scalp
	m := vec{abs(q.x), q.y, q.z}
	low := q.z < 10
	if low {
		skin = union(skin, h.face.dist(q), 12)
		skin = union(skin, h.neck.dist(q), 10)
		if q.y > 50 && m.x < 40 {
			skin = union(skin, h.nose.dist(q), 16)
		}
		if q.z < -50 {
			skin = union(skin, h.jaw.dist(q), 10)
		}
	}
	shown := cover(skin, b)
	if shown == 0 {
		return 0
	}
	// Skin, fat below it, muscle further in.
	v := mix(h.muscle, h.fat, cover(-skin-4.8, 2.5))
	v = mix(v, 0.55*h.fat, cover(-skin-1.6, 1.5))
	if low {
		v = h.features(v, q, m, b)
	}
	// Two tables of bone around marrow; the base is thicker and patchy.
	if bone := skull - h.skull; bone < b && q.z > -62 {
		layer := mix(h.bone, h.marrow, cover(abs(skull-0.5*h.skull)-0.22*h.skull, b))
		v = mix(v, layer, cover(bone, b))
	}
	return v * shown
}

// features draws eyes, nasal cavity, sinuses, teeth and spine into the face and
// neck, whose soft tissue has brightness v.
func (h *head) features(v float32, q, m vec, b float32) float32 {
	if q.y > 15 {
		if d := h.orbit.dist(m); d < b {
			v = mix(v, 0.85*h.fat, cover(d, b))
			// The optic nerve and muscles behind the eye.
			if n := abs(m.x-28+0.15*(62-q.y)) + abs(q.z+27); q.y < 55 {
				v = mix(v, h.muscle, cover(n-4, b))
			}
		}
		eye := h.eye.dist(m)
		v = mix(v, 0.8*h.muscle, cover(abs(eye)-0.8, b))
		v = mix(v, h.csf, cover(eye+1, b))
		if d := h.sinus.dist(m); d < 2+b {
			v = mix(v, h.bone, cover(d-2, b))
			v = mix(v, 0, cover(d, b))
		}
		if d := h.nasal.dist(q); d < b {
			v = mix(v, 0, cover(d, b))
			// Turbinates and septum stand in the cavity.
			v = mix(v, h.muscle, cover(d, b)*cover(abs(abs(q.x)-4)-1, b))
		}
		// The teeth and the bone that holds them.
		if q.z < -68 {
			arch := sqrt(q.x*q.x*1.3+(q.y-45)*(q.y-45)) - 30
			v = mix(v, h.bone, cover(max(abs(arch)-4, abs(q.z+80)-12), b))
		}
	}
	// Airway and spine.
	if q.z < -55 && q.y < 40 {
		air := sqrt(q.x*q.x*0.5+(q.y-14)*(q.y-14)) - 7
		v = mix(v, 0, cover(air, b))
		back := q.y + 0.12*(q.z+60) + 30
		spine := sqrt(q.x*q.x+back*back) - 17
		v = mix(v, h.marrow*1.2, cover(spine, b))
		v = mix(v, h.bone, cover(abs(spine)-1.4, b))
	}
	return v
}

// inside draws the contents of the skull; skull is the distance from it.
func (h *head) inside(q vec, skull, b float32) float32 {
	m := vec{abs(q.x), q.y, q.z}
	if q.x > 0 {
		m.x *= 1 + 0.3*h.lopsided
	}
	v := h.csf
	cerebellum := float32(1e3)
	if q.z < 5 {
		if q.y < -15 {
			cerebellum = union(h.cerebellum.dist(m), h.vermis.dist(q), 4)
		}
		v = h.hindbrain(v, q, m, cerebellum, skull, b)
	}
	return h.forebrain(v, q, m, cerebellum, skull, b)
}

// hindbrain draws cerebellum and brain stem over v.
func (h *head) hindbrain(v float32, q, m vec, cerebellum, skull, b float32) float32 {
	c := max(cerebellum, skull+h.gap)
	if c < b {
		// Leaves of gray matter, stacked from top to bottom around a core.
		t := (q.z + 0.25*q.y + 0.02*m.x*m.x/4 + 200) * (1.0 / 7)
		t = abs(2*(t-float32(int(t)))-1)*2 - 1
		leaf := mix(h.gray, 0.62*h.gray, cover(0.5+t*1.2, 1)*cover(-c-9, 6))
		core := mix(leaf, h.white, cover(h.arbor.dist(m), 7))
		v = mix(v, core, cover(c, b))
	}
	stem := max(union(h.stem.dist(q), h.pons.dist(q), 5), skull)
	v = mix(v, 0.93*h.white, cover(stem, b))
	return mix(v, h.csf, cover(h.fourth.dist(q), b))
}

// forebrain draws the cerebrum over v.
func (h *head) forebrain(v float32, q, m vec, cerebellum, skull, b float32) float32 {
	// The outer surface: two hemispheres with a floor, and temporal lobes.
	hull := max(skull, h.floor-q.z)
	if q.z < 15 {
		hull = union(hull, max(h.temporal.dist(m), skull), 5)
		hull = max(hull, 2-cerebellum)
	}
	surface := hull + h.gap
	if surface > b {
		return v
	}
	// The distance from fluid outside, wherever it reaches in: over the gap,
	// between the hemispheres, in the lateral fissure and in sulci.
	fluid := surface
	if m.x < 34 {
		d := m.x
		if e := h.core.slab(q); e < 0 {
			d = sqrt(d*d + e*e)
		}
		fluid = max(fluid, h.gap*0.32+0.25-d)
	}
	folded := fluid
	if m.x > 26 && q.z < 32 && q.z > -26 && q.y < 34 && q.y > -50 {
		// From in front and below to behind and above, as deep as the insula.
		d := 0.9 * abs(q.z+0.5*(q.y-4)-(m.x-40)*0.12+3)
		end := max(34-m.x, max(q.y-20, -36-q.y)*0.7)
		if end > 0 {
			d = sqrt(d*d + end*end)
		}
		fluid = max(fluid, h.sylvian-d)
	}
	// Sulci go down from the surface, and end well above the deep structures.
	if depth := -max(folded, 0.5*skull); depth < h.depth+beyond {
		depth = max(depth, h.depth-h.deep.dist(q))
		if q.z < 5 {
			depth = max(depth, h.depth-h.medial.dist(m))
		}
		fluid = max(fluid, h.folding(q, depth))
	}
	v = mix(v, h.interior(q, m, fluid, b), cover(fluid, b))
	return v
}

// slab is the distance from the midline's solid part in the sagittal plane,
// where no fissure parts the hemispheres: positive outside.
func (e *ellipsoid) slab(q vec) float32 {
	y, z := (q.y-e.c.y)*e.inv.y, (q.z-e.c.z)*e.inv.z
	k := sqrt(y*y + z*z)
	gy, gz := y*e.inv.y, z*e.inv.z
	return k * (k - 1) / (sqrt(gy*gy+gz*gz) + 1e-6)
}

// beyond is how far below a sulcus, in millimeters, it makes no difference.
const beyond = 8

// folding returns the distance from the nearest sulcus at a depth below the
// surface, positive inside the sulcus. Sulci are sheets that stand on the
// surface and bend on their way down: their place depends for the most part on
// the direction from the center.
func (h *head) folding(q vec, depth float32) float32 {
	over := depth - h.depth
	if over > beyond {
		return -beyond
	}
	const cells = 20 // of the texture in the radius of a brain
	e := &h.cerebrum
	x, y, z := (q.x-e.c.x)*e.inv.x, (q.y-e.c.y)*e.inv.y, (q.z-e.c.z)*e.inv.z
	s := cells / (0.5 + 0.5*sqrt(x*x+y*y+z*z))
	d := foldingAt(vec{h.fold.x + s*x, h.fold.y + s*y, h.fold.z + s*z})
	const mm = 75.0 / cells
	d *= mm
	if over > 0 {
		d = sqrt(d*d + over*over)
	}
	// Narrower as they go down.
	return h.sulcus*(1.2-0.4*depth/h.depth) - d
}

// interior is the brightness inside the surface of the cerebrum, at a depth
// −fluid below fluid.
func (h *head) interior(q, m vec, fluid, b float32) float32 {
	v := mix(h.white, h.gray, cover(-fluid-h.cortex, b))
	if m.x > 48 || q.z < -34 || q.z > 40 || q.y > 46 || q.y < -88 {
		return v
	}
	if q.z > -20 && q.y < 34 && q.y > -40 && m.x < 36 {
		v = mix(v, 0.96*h.gray, cover(h.caudate.dist(m), b))
		v = mix(v, h.gray, cover(h.putamen.dist(m), b))
		v = mix(v, mix(h.gray, h.white, 0.55), cover(h.pallidum.dist(m), b))
		v = mix(v, mix(h.gray, h.white, 0.3), cover(h.thalamus.dist(m), b))
	}
	if q.z < 5 && q.y < 5 && m.x > 10 {
		// A rim of white matter and fluid sets the hippocampus off.
		d := min(h.hippocampus[0].dist(m), h.hippocampus[1].dist(m))
		v = mix(v, h.white, cover(abs(d-1.5)-1, b))
		v = mix(v, 0.97*h.gray, cover(d, b))
	}
	if q.z > -30 && m.x < 46 {
		d := float32(1e3)
		s := m
		if q.x > 0 {
			s.x *= 1 - h.lopsided*0.5
		}
		for i := range h.ventricle {
			d = min(d, h.ventricle[i].dist(s))
		}
		if q.x > 0 {
			d -= 4 * h.lopsided
		}
		// The septum parts the two sides.
		d = max(d, 0.9-m.x)
		d = min(d, h.third.dist(q))
		v = mix(v, h.csf, cover(d, b))
	}
	return v
}
