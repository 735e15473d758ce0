package volume

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Fit selects how a volume is fitted to a grid of another shape.
type Fit string

const (
	// Stretch scales each axis to the length of the grid's, so that the grid
	// covers exactly the volume. It is the default.
	Stretch Fit = "stretch"
	// Proportions keeps proportions: all axes are scaled equally, in millimeters,
	// so that the whole volume fits, centered. The rest of the grid is filled with
	// the smallest value of the volume.
	Proportions Fit = "proportions"
)

// Resample resamples v to a grid of the given size, by trilinear interpolation
// between the centers of voxels. Along an axis that gets fewer voxels the
// interpolation kernel is widened to the spacing of the grid,
//
//	w(s) = max(0, 1 − |s|/max(1, scale)),  scale = voxels of v per voxel of the grid,
//
// normalized to sum one, which is linear interpolation after a box filter: details
// that are too fine for the grid are averaged instead of causing aliasing. The
// three axes are resampled one after another. Values that are not finite count as
// 0.
func Resample(v *Volume, grid [3]int, fit Fit) (*Volume, error) {
	for _, n := range grid {
		if n < 1 || n > math.MaxInt16 {
			return nil, fmt.Errorf("expected a grid with axes of 1 to %d voxels, found %s", math.MaxInt16, Dims(grid))
		}
	}
	if grid[0]*grid[1] > MaxVoxels/grid[2] {
		return nil, fmt.Errorf("expected a grid of at most %d voxels, found %s", MaxVoxels, Dims(grid))
	}
	var scale [3]float64
	for k := range 3 {
		scale[k] = float64(v.Dim[k]) / float64(grid[k])
	}
	switch fit {
	case Stretch, "":
	case Proportions:
		size := 0.0 // of a grid voxel, in millimeters
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

// finite returns data with values that are not finite replaced by 0, and the smallest value.
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
		if x < least { // faster than min, which handles NaN
			least = x
		}
	}
	return data, least
}

// tap has the weights of consecutive voxels, starting at first, for one voxel of
// the grid. There are none if the grid voxel is outside of the volume.
type tap struct {
	first   int
	weights []float32
}

// tapsOf returns the taps for resampling an axis of n voxels to m. Voxel t of the
// result has its center at (t + ½)·scale + origin − ½.
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

// resample resamples the second axis of in [outer × n × inner] with the given taps,
// and returns [outer × len(taps) × inner].
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

// identity reports whether taps leave an axis of n voxels unchanged.
func identity(taps []tap, n int) bool {
	for t, p := range taps {
		if p.first != t || len(p.weights) != 1 {
			return false
		}
	}
	return len(taps) == n
}

// planes sets to to the weighted sum of planes of from, with the weights of p.
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

// row sets the elements of to to weighted sums of neighbors in from.
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

// Scale selects the scale of normalized intensities.
type Scale string

const (
	// ZScore scales the foreground to mean 0 and standard deviation 1. It is the
	// default.
	ZScore Scale = "zscore"
	// UnitRange scales the percentiles to 0 and 1.
	UnitRange Scale = "range"
	// Raw leaves intensities unchanged.
	Raw Scale = "none"
)

// Normalization configures how intensities are made comparable between scanners,
// which use different units.
type Normalization struct {
	Scale Scale
	// Low and High are the percentiles at which values are clipped, from 0 to
	// 100. If both are zero, they are 0.5 and 99.5. Clipping prevents a few bright
	// vessels from determining the scale.
	Low, High float64
}

// Complete returns n with defaults filled in, and an error if it is invalid.
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

// Normalize normalizes values, which must be finite, according to n. They are
// clipped at the two percentiles. For a z-score, the foreground is then the set of
// values above the overall mean: tissue, not the air around it. A volume without
// contrast becomes 0 everywhere.
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

// foreground returns the mean and standard deviation of the values above the overall mean.
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
	if sd <= 1e-7*math.Abs(mean) { // there are only two values, up to rounding
		sd = mean - all
	}
	return mean, sd
}

// percentiles returns the given percentiles of the values, interpolated linearly
// between order statistics, like numpy.percentile.
func percentiles(values []float32, at ...float64) []float64 {
	// Values are counted in 2¹⁶ ordered buckets, by the upper half of their bits.
	// Only the buckets that contain a requested rank are sorted.
	count := make([]int, 1<<16)
	for _, x := range values {
		count[sortable(x)>>16]++
	}
	buckets := map[int][]uint32{}
	rank := func(k int) float64 {
		d := 0
		for k >= count[d] {
			k -= count[d]
			d++
		}
		bucket, ok := buckets[d]
		if !ok {
			bucket = make([]uint32, 0, count[d])
			for _, x := range values {
				if b := sortable(x); int(b>>16) == d {
					bucket = append(bucket, b)
				}
			}
			slices.Sort(bucket)
			buckets[d] = bucket
		}
		return float64(unsortable(bucket[k]))
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

// sortable maps a number to an integer with the same order.
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
