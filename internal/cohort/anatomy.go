package cohort

import (
	"math"
	"math/rand/v2"

	"credence/internal/rng"
)

// head is one head in the scanner, in template millimeters: the frame in which
// the shapes below are drawn, with the origin near the middle of the brain as
// in the usual atlases.
type head struct {
	// Where the template lies in the scanner, as the way back:
	//
	//	q = turn · (p − center) + bend(p).
	turn   [3]vec
	center vec
	bend   [3][2]wave // displacement of x, y, z by the two other coordinates

	// Outside the brain.
	cranium, clivus          ellipsoid
	face, jaw, nose          ellipsoid
	eye, orbit, sinus, nasal ellipsoid
	neck                     limb
	skull, scalp             float32 // thickness

	// Cerebrum.
	cerebrum, temporal ellipsoid
	floor              float32   // of the frontal and occipital lobes
	gap                float32   // fluid between skull and brain
	cortex             float32   // thickness of gray matter
	sulcus, depth      float32   // half width and depth of sulci
	sylvian            float32   // half width of the lateral fissure
	fold               vec       // where on the texture this brain folds
	core               ellipsoid // no fissure parts the hemispheres in here
	deep, medial       ellipsoid // no sulci reach into here

	// Deep structures of one side; the other is its mirror image but for
	// lopsided, by how much larger the right is.
	ventricle, hippocampus               []limb
	thalamus, caudate, putamen, pallidum ellipsoid
	third, fourth                        ellipsoid
	lopsided                             float32

	// Below.
	cerebellum, vermis, arbor ellipsoid
	stem, pons                limb

	// Brightness of tissues.
	white, gray, csf, fat, muscle, marrow, bone float32
}

// wave is one slow bending of the head.
type wave struct{ size, rate, phase float32 }

func (w wave) height(p float32) float32 {
	return w.size * float32(math.Sin(float64(w.rate*p+w.phase)))
}

// The sizes of what atrophy does and of what differs between healthy people,
// per unit of severity and as standard deviations.
const (
	ventricleGrowth, ventricleSpread   = 0.27, 0.08 // log radius
	hornGrowth                         = 0.16       // log radius, of the temporal horn beyond the rest
	hippocampusLoss, hippocampusSpread = 0.12, 0.04 // log radius
	cortexLoss, cortexSpread           = 0.32, 0.10 // mm
	sulcusGrowth, sulcusSpread         = 0.50, 0.10 // mm
	gapGrowth, gapSpread               = 0.55, 0.20 // mm
)

// meanSize is that of a head, relative to the template.
const meanSize = 0.91

// anatomist draws the parts of a head that differ between subjects. Every number
// comes from the subject's one stream, so the order of the parts matters.
type anatomist struct {
	*rand.Rand
	atrophy float32 // severity, within what the shapes can show
}

// n returns a normal number with mean 0.
func (r anatomist) n(sd float64) float32 { return float32(sd * r.NormFloat64()) }

func exp(x float32) float32 { return float32(math.Exp(float64(x))) }

// newHead draws a head. What belongs to the subject is drawn from the subject's
// stream, what belongs to the scan (position) from the scan's.
func newHead(p Picture) *head {
	r := anatomist{rand.New(rng.New(p.Seed, "cohort.anatomy", uint64(p.Subject))), float32(max(-3, min(3.2, p.Severity)))}
	h := &head{}
	h.lie(r, rand.New(rng.New(p.Seed, "cohort.pose."+string(p.Part), uint64(p.Scan))))
	h.lopsided = r.n(0.06)
	h.growSkull(r)
	h.growCerebrum(r)
	h.growDeep(r)
	h.white, h.gray, h.csf = 100, 71+r.n(1.5), 24+r.n(1.5)
	h.fat, h.muscle, h.marrow, h.bone = 122+r.n(5), 52+r.n(3), 44+r.n(6), 11+r.n(1)
	return h
}

// lie draws size and shape of the head, then how it lies in the scanner.
func (h *head) lie(r anatomist, pose *rand.Rand) {
	size := meanSize * exp(r.n(0.03))
	scale := vec{size * exp(r.n(0.02)), size * exp(r.n(0.02)), size * exp(r.n(0.02))}
	tilt := func(own, sd float64) float64 { return own*r.NormFloat64() + sd*pose.NormFloat64() }
	h.turn = rotation(tilt(0.02, 0.02), tilt(0.04, 0.02), tilt(0.02, 0.02))
	for i, s := range []float32{scale.x, scale.y, scale.z} {
		row := &h.turn[i]
		row.x, row.y, row.z = row.x/s, row.y/s, row.z/s
	}
	shift := func() float32 { return float32(1.5 * pose.NormFloat64()) }
	h.center = vec{shift(), shift(), shift()}
	for i := range h.bend {
		for j := range h.bend[i] {
			h.bend[i][j] = wave{r.n(1.2), 0.02 + 0.02*r.Float32(), 6.28 * r.Float32()}
		}
	}
}

// growSkull draws what is outside the brain.
func (h *head) growSkull(r anatomist) {
	h.cranium = ball(0, -17, 12, 71, 90, 69)
	h.skull, h.scalp = 6.5+r.n(0.7), 6+r.n(0.9)
	h.face = ball(0, 42, -52, 56+r.n(1.5), 50+r.n(2), 66)
	h.jaw = ball(0, 48, -92, 44, 46, 26)
	h.nose = ball(0, 92, -50, 9, 14+r.n(1.5), 18)
	h.clivus = ball(0, 7, -48, 17, 19, 24)
	h.neck = rod(vec{0, -32, -45}, vec{0, -42, -160}, 56, 52)
	h.eye = ball(31, 62, -27, 12, 12, 12)
	h.orbit = ball(29, 54, -27, 18, 24, 17)
	h.sinus = ball(26, 50, -54, 13+r.n(2), 16, 15)
	h.nasal = ball(0, 58, -52, 9, 26, 20)
}

// growCerebrum draws the hemispheres and their folds.
func (h *head) growCerebrum(r anatomist) {
	a := r.atrophy
	h.gap = max(1.2, 2.6+r.n(gapSpread)+gapGrowth*a)
	h.cerebrum = ball(0, -17, 12, 71, 90, 69)
	h.temporal = ball(41+r.n(0.8), -16, -24, 27, 47, 23)
	h.floor = -21 + r.n(1)
	h.cortex = max(2, 3.6+r.n(cortexSpread)-cortexLoss*a)
	h.sulcus = max(0.15, 0.75+r.n(sulcusSpread)+sulcusGrowth*a)
	h.sylvian = max(0.8, 1.8+r.n(0.2)+0.6*a)
	h.depth = 15 + r.n(1.2)
	h.fold = vec{100 + side*r.Float32(), 100 + side*r.Float32(), 100 + side*r.Float32()}
	h.core = ball(0, -14, 2, 1, 44, 26)
	h.deep = ball(0, -14, 6, 36, 50, 24)
	h.medial = ball(28, -22, -14, 11, 22, 12)
}

// growDeep draws ventricles, hippocampi, nuclei, cerebellum and brain stem.
func (h *head) growDeep(r anatomist) {
	a := r.atrophy
	v := exp(r.n(ventricleSpread) + ventricleGrowth*a)
	h.growVentricles(v, v*exp(hornGrowth*a), r.n(2))

	// Hippocampus: head below and in front, body, tail behind and above. It
	// withers towards its outer and upper side, along the temporal horn.
	c := exp(r.n(hippocampusSpread) - hippocampusLoss*a)
	h.hippocampus = []limb{
		rod(vec{25, -9, -21}, vec{28, -20, -17}, 6.4*c, 5.4*c),
		rod(vec{28, -20, -17}, vec{24, -37, -4}, 5.4*c, 3.6*c),
	}

	deep := exp(r.n(0.03) - 0.03*a)
	h.thalamus = ball(11, -18, 8, 9*deep, 14*deep, 8.5*deep)
	h.caudate = ball(16+3*(v-1), 12, 9, 5*deep, 15*deep, 9*deep)
	h.putamen = ball(27, 3, 1, 6*deep, 17*deep, 10*deep)
	h.pallidum = ball(19, -3, 0, 5*deep, 9*deep, 6*deep)
	h.third = ball(0, -14, 1, 1.6*v*v, 13, 10)
	h.fourth = ball(0, -47, -34, 6*exp(r.n(0.1)), 5, 9)
	h.cerebellum = ball(23, -63, -42, 32+r.n(1), 29+r.n(1), 25+r.n(1))
	h.vermis = ball(0, -62, -36, 12, 26, 24)
	h.arbor = ball(21, -58, -41, 19, 14, 11)
	h.stem = rod(vec{0, -24, -14}, vec{0, -44, -110}, 12, 7)
	h.pons = rod(vec{-7, -22, -32}, vec{7, -22, -32}, 11, 11)
}

// growVentricles draws frontal horn, body, atrium, occipital and temporal horn,
// wider than in the template by the factor v, the temporal horn by horn; the
// occipital horn ends back millimeters further in front.
func (h *head) growVentricles(v, horn, back float32) {
	path := []vec{{11, 30, 3}, {7.5, 14, 13}, {7.5, -12, 20}, {16, -34, 17}, {26, -44, 8}, {25, -70, 6}}
	radius := []float32{3.4, 4.6, 4.4, 5.2, 6.2, 2.2}
	for i := range path[1:] {
		p, q := path[i], path[i+1]
		if i+1 == len(path)-1 {
			q.y += back
		}
		// As they fill, they spread to the side rather than across the midline.
		p.x, q.x = p.x+0.8*radius[i]*(v-1), q.x+0.8*radius[i+1]*(v-1)
		h.ventricle = append(h.ventricle, rod(p, q, v*radius[i], v*radius[i+1]))
	}
	h.ventricle = append(h.ventricle,
		rod(vec{26, -44, 8}, vec{35, -30, -10}, 3.4*v, 1.8*horn),
		rod(vec{35, -30, -10}, vec{32, -10, -20}, 1.8*horn, 1.7*horn))
}

// rotation returns the rows of a rotation: a roll about the y axis, a nod about
// the x axis and a turn about the z axis.
func rotation(roll, nod, turn float64) [3]vec {
	sx, cx := math.Sincos(nod)
	sy, cy := math.Sincos(roll)
	sz, cz := math.Sincos(turn)
	return [3]vec{
		{float32(cy * cz), float32(-cy * sz), float32(sy)},
		{float32(cx*sz + sx*sy*cz), float32(cx*cz - sx*sy*sz), float32(-sx * cy)},
		{float32(sx*sz - cx*sy*cz), float32(sx*cz + cx*sy*sz), float32(cx * cy)},
	}
}
