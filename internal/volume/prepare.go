package volume

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Fit says how a volume is laid over a grid of another shape.
type Fit string

const (
	// Stretch brings each axis to the length of the grid's, so that the grid
	// covers just what the volume covers. It is the default.
	Stretch Fit = "stretch"
	// Proportions keeps the shape of things: all axes are scaled alike, in
	// millimeters, until the whole volume fits, centerd; the smallest value of
	// the volume fills what is left.
	Proportions Fit = "proportions"
)

// Resample returns v on a grid of the given size, by trilinear interpolation
// between the centers of voxels. Along an axis that gets fewer voxels the
// interpolating tent is widened to the spacing of the grid,
//
//	w(s) = max(0, 1 − |s|/max(1, scale)),  scale = voxels of v per voxel of the grid,
//
// normalized to sum one, which is linear interpolation behind a box filter: what
// is too fine for the grid is averaged away instead of being sampled at random.
// The three axes are done one after the other. Values that are not finite count
// as 0.
func Resample(v *Volume, grid [3]int, fit Fit) (*Volume, error) {
	for _, n := range grid {
		if n < 1 || n > math.MaxInt16 {
			return nil, fmt.Errorf("a grid of %s voxels: an axis has 1 to %d", Dims(grid), math.MaxInt16)
		}
	}
	if grid[0]*grid[1] > MaxVoxels/grid[2] {
		return nil, fmt.Errorf("a grid of %s voxels: at most %d are possible", Dims(grid), MaxVoxels)
	}
	var scale [3]float64
	for k := range 3 {
		scale[k] = float64(v.Dim[k]) / float64(grid[k])
	}
	switch fit {
	case Stretch, "":
	case Proportions:
		size := 0.0 // of a voxel of the grid, in millimeters
		for k := range 3 {
			size = max(size, scale[k]*v.Spacing[k])
		}
		for k := range 3 {
			scale[k] = size / v.Spacing[k]
		}
	default:
		return nil, fmt.Errorf("fit %q is not one of [stretch proportions]", string(fit))
	}
	out := &Volume{Dim: grid, Affine: v.Affine}
	var taps [3][]tap
	for k := range 3 {
		origin := (float64(v.Dim[k]) - scale[k]*float64(grid[k])) / 2
		taps[k] = tapsOf(v.Dim[k], grid[k], scale[k], origin)
		for i := range 3 {
			out.Affine[i][3] += v.Affine[i][k] * (0.5*scale[k] + origin - 0.5)
			out.Affine[i][k] = v.Affine[i][k] * scale[k]
		}
		out.Spacing[k] = v.Spacing[k] * scale[k]
	}
	data, least := finite(v.Data)
	nx, ny, nz := v.Dim[0], v.Dim[1], v.Dim[2]
	data = resample(data, 1, nz, nx*ny, taps[2], least)
	data = resample(data, grid[2], ny, nx, taps[1], least)
	out.Data = resample(data, grid[2]*grid[1], nx, 1, taps[0], least)
	if &out.Data[0] == &v.Data[0] {
		out.Data = slices.Clone(out.Data) // the caller may change it
	}
	return out, nil
}

// finite returns data with 0 for what is not finite, and the smallest value.
func finite(data []float32) ([]float32, float32) {
	least, copied := float32(math.Inf(1)), false
	for i, x := range data {
		if x-x != 0 {
			if !copied {
				data, copied = slices.Clone(data), true
			}
			x = 0
			data[i] = 0
		}
		if x < least { // faster than min, which minds NaN
			least = x
		}
	}
	return data, least
}

// tap is what one voxel of the grid takes: weights of voxels from the first on.
// No weights mean that it lies outside.
type tap struct {
	first   int
	weights []float32
}

// tapsOf returns the taps of an axis of n voxels brought to m, of which voxel t
// has its center at (t + ½)·scale + origin − ½.
func tapsOf(n, m int, scale, origin float64) []tap {
	taps := make([]tap, m)
	support := max(1, scale)
	for t := range taps {
		s := (float64(t)+0.5)*scale + origin - 0.5
		if !(s >= -0.5-1e-9 && s <= float64(n)-0.5+1e-9) {
			continue
		}
		first := max(0, int(math.Ceil(s-support)))
		last := min(n-1, int(math.Floor(s+support)))
		var w []float64
		sum := 0.0
		for j := first; j <= last; j++ {
			x := max(0, 1-math.Abs(s-float64(j))/support)
			w = append(w, x)
			sum += x
		}
		// Voxels at the ends of the support have no weight.
		for len(w) > 1 && w[0] <= 1e-12 {
			w, first = w[1:], first+1
		}
		for len(w) > 1 && w[len(w)-1] <= 1e-12 {
			w = w[:len(w)-1]
		}
		taps[t].first = first
		for _, x := range w {
			taps[t].weights = append(taps[t].weights, float32(x/sum))
		}
	}
	return taps
}

// resample brings one axis of in [outer × n × inner] to the taps given, and
// returns [outer × len(taps) × inner].
func resample(in []float32, outer, n, inner int, taps []tap, outside float32) []float32 {
	if identity(taps, n) {
		return in
	}
	m := len(taps)
	out := make([]float32, outer*m*inner)
	for o := range outer {
		from, to := in[o*n*inner:(o+1)*n*inner], out[o*m*inner:(o+1)*m*inner]
		if inner == 1 {
			row(to, from, taps, outside)
			continue
		}
		for t, p := range taps {
			planes(to[t*inner:(t+1)*inner], from, p, outside)
		}
	}
	return out
}

// identity reports whether taps give an axis of n voxels as it is.
func identity(taps []tap, n int) bool {
	for t, p := range taps {
		if p.first != t || len(p.weights) != 1 {
			return false
		}
	}
	return len(taps) == n
}

// planes fills to with the weighted sum of the planes of from that p names.
func planes(to, from []float32, p tap, outside float32) {
	if len(p.weights) == 0 {
		for i := range to {
			to[i] = outside
		}
		return
	}
	for j, w := range p.weights {
		plane := from[(p.first+j)*len(to):][:len(to)]
		if j == 0 {
			for i, x := range plane {
				to[i] = w * x
			}
			continue
		}
		for i, x := range plane {
			to[i] += w * x
		}
	}
}

// row fills to with weighted sums of neighbors in from.
func row(to, from []float32, taps []tap, outside float32) {
	for t, p := range taps {
		if len(p.weights) == 0 {
			to[t] = outside
			continue
		}
		sum := float32(0)
		for j, x := range from[p.first:][:len(p.weights)] {
			sum += p.weights[j] * x
		}
		to[t] = sum
	}
}

// Scale says what intensities are brought to.
type Scale string

const (
	// ZScore gives the foreground mean 0 and standard deviation 1. It is the
	// default.
	ZScore Scale = "zscore"
	// UnitRange brings the percentiles to 0 and 1.
	UnitRange Scale = "range"
	// Raw leaves intensities as they are.
	Raw Scale = "none"
)

// Normalization says how intensities, which scanners give in units of their
// own, are made alike.
type Normalization struct {
	Scale Scale
	// Low and High are the percentiles at which values are cut off, from 0 to
	// 100; both zero mean 0.5 and 99.5. A few bright vessels then do not set
	// the scale for all.
	Low, High float64
}

// Complete fills in the defaults and refuses what cannot be.
func (n Normalization) Complete() (Normalization, error) {
	n.Scale = cmp.Or(n.Scale, ZScore)
	if n.Low == 0 && n.High == 0 {
		n.Low, n.High = 0.5, 99.5
	}
	if n.Scale != ZScore && n.Scale != UnitRange && n.Scale != Raw {
		return n, fmt.Errorf("normalization %q is not one of [zscore range none]", string(n.Scale))
	}
	if !(n.Low >= 0 && n.Low < n.High && n.High <= 100) {
		return n, fmt.Errorf("percentiles %v and %v: expected 0 ≤ low < high ≤ 100", n.Low, n.High)
	}
	return n, nil
}

// Normalize changes values, all finite, as n says. They are cut off at the two
// percentiles of all of them. For a z-score, the foreground is what then lies
// above the mean of all: tissue, not the air around it. A volume without any
// contrast becomes 0 throughout.
func Normalize(values []float32, n Normalization) error {
	n, err := n.Complete()
	if err != nil || n.Scale == Raw || len(values) == 0 {
		return err
	}
	q := percentiles(values, n.Low, n.High)
	low, high := float32(q[0]), float32(q[1])
	shift, unit := float64(low), float64(high)-float64(low)
	for i, x := range values {
		if x < low {
			values[i] = low
		} else if x > high {
			values[i] = high
		}
	}
	if n.Scale == ZScore && unit > 0 {
		shift, unit = foreground(values)
	}
	if !(unit > 0) {
		clear(values)
		return nil
	}
	for i, x := range values {
		values[i] = float32((float64(x) - shift) / unit)
	}
	return nil
}

// foreground returns mean and standard deviation of the values above the mean.
func foreground(values []float32) (mean, sd float64) {
	all := 0.0
	for _, x := range values {
		all += float64(x)
	}
	all /= float64(len(values))
	n, sum := 0, 0.0
	for _, x := range values {
		if float64(x) > all {
			sum += float64(x)
			n++
		}
	}
	if n == 0 {
		return all, 0
	}
	mean = sum / float64(n)
	squares := 0.0
	for _, x := range values {
		if float64(x) > all {
			d := float64(x) - mean
			squares += d * d
		}
	}
	sd = math.Sqrt(squares / float64(n))
	if sd <= 1e-7*math.Abs(mean) { // two values only, up to rounding
		sd = mean - all
	}
	return mean, sd
}

// percentiles returns the values below which the given parts of a hundred lie,
// interpolated linearly between order statistics, as numpy.percentile does.
func percentiles(values []float32, at ...float64) []float64 {
	// Values fall into 2¹⁶ drawers by the upper half of their bits, which order
	// them; only the drawers that hold a wanted rank are sorted.
	count := make([]int, 1<<16)
	for _, x := range values {
		count[sortable(x)>>16]++
	}
	drawers := map[int][]uint32{}
	rank := func(k int) float64 {
		d := 0
		for k >= count[d] {
			k -= count[d]
			d++
		}
		drawer, ok := drawers[d]
		if !ok {
			drawer = make([]uint32, 0, count[d])
			for _, x := range values {
				if b := sortable(x); int(b>>16) == d {
					drawer = append(drawer, b)
				}
			}
			slices.Sort(drawer)
			drawers[d] = drawer
		}
		return float64(unsortable(drawer[k]))
	}
	out := make([]float64, len(at))
	for i, p := range at {
		pos := p / 100 * float64(len(values)-1)
		k := int(pos)
		out[i] = rank(k)
		if f := pos - float64(k); f > 0 {
			out[i] += f * (rank(k+1) - out[i])
		}
	}
	return out
}

// sortable maps a number to bits in the same order.
func sortable(x float32) uint32 {
	b := math.Float32bits(x)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

func unsortable(b uint32) float32 {
	if b>>31 != 0 {
		return math.Float32frombits(b &^ (1 << 31))
	}
	return math.Float32frombits(^b)
}
