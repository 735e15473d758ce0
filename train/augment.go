package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"credence/dataset"
	"credence/internal/rng"
)

// Augment specifies random changes of images and volumes in training, a cheap
// substitute for more items. Held-out items are never changed, nor are items in
// predictions.
//
// The changes of an item depend only on the seed, the network, the epoch and the
// item.
type Augment struct {
	// Shift is the largest shift of an image along each of its axes, in pixels or
	// voxels; those at the edge are repeated.
	Shift int `json:"shift,omitempty"`
	// Flip mirrors half of the images from left to right: along the last axis
	// of an image, and the first of a volume, which in volumes from NIfTI files
	// is the left-right axis. It is for data in which sides do not matter.
	Flip bool `json:"flip,omitempty"`
	// Intensity a changes values x, standardized, to x·(1 + a·u) + a·v with u
	// and v between −1 and 1.
	Intensity float64 `json:"intensity,omitempty"`
	// Noise is the standard deviation of the noise added to each value.
	Noise float64 `json:"noise,omitempty"`
}

// ParseAugment reads a list such as "shift=2,flip,intensity=0.1,noise=0.02", or
// "none". An empty text means the default.
func ParseAugment(text string) (Augment, error) {
	var a Augment
	switch text {
	case "":
		return a, nil
	case "none":
		return noChanges, nil
	}
	for change := range strings.SplitSeq(text, ",") {
		change = strings.TrimSpace(change)
		name, value, given := strings.Cut(change, "=")
		var err error
		switch {
		case name == "flip" && !given:
			a.Flip = true
		case name == "shift" && given:
			a.Shift, err = strconv.Atoi(value)
		case name == "intensity" && given:
			a.Intensity, err = strconv.ParseFloat(value, 64)
		case name == "noise" && given:
			a.Noise, err = strconv.ParseFloat(value, 64)
		default:
			return a, fmt.Errorf("expected shift=N, flip, intensity=X or noise=X, found %q", change)
		}
		if err != nil {
			return a, fmt.Errorf("%q: expected a number, found %q", change, value)
		}
	}
	return a, a.check()
}

// noChanges means no changes; the zero value means the default.
var noChanges = Augment{Shift: -1}

// none reports whether nothing is changed.
func (a Augment) none() bool { return a == Augment{} || a == noChanges }

// String returns the text that ParseAugment reads.
func (a Augment) String() string {
	if a == noChanges {
		return "none"
	}
	var list []string
	add := func(name string, x float64) {
		if x != 0 {
			list = append(list, name+"="+strconv.FormatFloat(x, 'g', -1, 64))
		}
	}
	add("shift", float64(a.Shift))
	if a.Flip {
		list = append(list, "flip")
	}
	add("intensity", a.Intensity)
	add("noise", a.Noise)
	return strings.Join(list, ",")
}

func (a Augment) check() error {
	switch {
	case a.Shift < 0 || a.Shift > 1000:
		return fmt.Errorf("shift %d: expected between 0 and 1000", a.Shift)
	case !(a.Intensity >= 0 && a.Intensity < 1):
		return fmt.Errorf("intensity %v: expected at least 0 and less than 1", a.Intensity)
	case !(a.Noise >= 0 && a.Noise <= 10):
		return fmt.Errorf("noise %v: expected between 0 and 10", a.Noise)
	}
	return nil
}

// fits returns an error if the changes are invalid or the features have no images.
func (a Augment) fits(t *dataset.Transform) error {
	switch {
	case a.none():
		return nil
	case len(gridInputs(t)) == 0:
		return errors.New("augmentation: expected images or volumes among the features, found none")
	}
	return a.check()
}

// augmenter changes the inputs of one run.
type augmenter struct {
	Augment
	grids  []dataset.Input
	seed   uint64
	member uint64
	spare  sync.Pool // for a copy of a block before it is moved
}

// newAugmenter returns nil if nothing is changed.
func newAugmenter(a Augment, t *dataset.Transform, seed, member uint64) *augmenter {
	if a.none() {
		return nil
	}
	g := &augmenter{Augment: a, grids: gridInputs(t), seed: seed, member: member}
	most := 0
	for _, in := range g.grids {
		most = max(most, in.Width)
	}
	g.spare.New = func() any { b := make([]float32, most); return &b }
	return g
}

// epoch returns the function that changes the inputs of an epoch, or nil.
func (g *augmenter) epoch(epoch uint64) func(x []float32, item int) {
	if g == nil {
		return nil
	}
	return func(x []float32, item int) {
		s := rng.New(g.seed, "augment", g.member, epoch, uint64(item))
		for _, in := range g.grids {
			block := x[in.Offset : in.Offset+in.Width]
			g.move(block, in.Shape, s)
			g.intensities(block, s)
		}
	}
}

// move flips and shifts a block [C, …].
func (g *augmenter) move(x []float32, shape []int, s *rng.Stream) {
	if !g.Flip && g.Shift == 0 {
		return
	}
	// Every grid is treated as [C, A, B, W]; an image has A = 1.
	side := [3]int{1, shape[len(shape)-2], shape[len(shape)-1]}
	mirror := 2
	if len(shape) == 4 {
		side[0], mirror = shape[1], 0
	}
	r := rand.New(s)
	flip := g.Flip && r.IntN(2) == 1
	var from [3][]int
	for axis, n := range side {
		shift := 0
		if g.Shift > 0 {
			shift = r.IntN(2*g.Shift+1) - g.Shift
		}
		from[axis] = make([]int, n)
		for i := range n {
			j := min(max(i-shift, 0), n-1)
			if flip && axis == mirror {
				j = n - 1 - j
			}
			from[axis][i] = j
		}
	}
	p := g.spare.Get().(*[]float32)
	defer g.spare.Put(p)
	old := (*p)[:len(x)]
	copy(old, x)
	at := 0
	for c := range shape[0] {
		for _, a := range from[0] {
			for _, b := range from[1] {
				row := old[((c*side[0]+a)*side[1]+b)*side[2]:][:side[2]]
				for _, w := range from[2] {
					x[at] = row[w]
					at++
				}
			}
		}
	}
}

// intensities scales and shifts values, and adds noise.
func (g *augmenter) intensities(x []float32, s *rng.Stream) {
	if g.Intensity > 0 {
		scale := float32(1 + g.Intensity*(2*s.Float64()-1))
		offset := float32(g.Intensity * (2*s.Float64() - 1))
		for i := range x {
			x[i] = x[i]*scale + offset
		}
	}
	if g.Noise > 0 {
		normal := normals()
		size := float32(g.Noise)
		for i := 0; i < len(x); {
			bits := s.Uint64()
			for k := 0; k < 5 && i < len(x); k++ {
				x[i] += size * normal[bits&(normalSteps-1)]
				bits >>= normalBits
				i++
			}
		}
	}
}

const (
	normalBits  = 12
	normalSteps = 1 << normalBits
)

// normals returns 4,096 equally likely values whose distribution is close to
// the normal one, with mean 0 and standard deviation 1:
//
//	Φ⁻¹((i + ½)/4096)
//
// That is fine enough for noise, and five values need a single random number of 64 bits.
var normals = sync.OnceValue(func() *[normalSteps]float32 {
	var z [normalSteps]float64
	squares := 0.0
	for i := range z {
		z[i] = math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/normalSteps-1)
		squares += z[i] * z[i]
	}
	sd := math.Sqrt(squares / normalSteps)
	var out [normalSteps]float32
	for i := range z {
		out[i] = float32(z[i] / sd)
	}
	return &out
})
