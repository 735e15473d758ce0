package volume

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

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
