package kernel

import "math"

// ClampLogits prepares raw outputs x of a mixture for exponentials: the first k, logits of weights, less the largest of
// them, but at least −80, where they neither matter nor become subnormal; the others between −limit and limit. It returns how
// many of these were outside. NaN stays NaN.
func ClampLogits(dst, x []float32, k int, limit float32) (outside int) {
	sameLen(len(dst), len(x), len(x))
	if k < 1 || k >= len(x) {
		panic("kernel: ClampLogits: no logits, or nothing else")
	}
	return active.clampLogits(dst, x, k, limit)
}

func clampLogitsGeneric(dst, x []float32, k int, limit float32) (outside int) {
	top := x[0]
	for _, v := range x[:k] {
		if v > top {
			top = v
		}
	}
	for i, v := range x[:k] {
		v -= top
		if v < -80 {
			v = -80
		}
		dst[i] = v
	}
	const sign = 1 << 31
	edge := math.Float32bits(limit)
	for i, v := range x[k:] {
		if beyond(v, edge) && v == v {
			outside++
			v = math.Float32frombits(edge | math.Float32bits(v)&sign)
		}
		dst[k+i] = v
	}
	return outside
}

// StopGradients sets those gradients g of values x outside ±limit to 0 whose descent step would lead further out:
//
//	g[i] = 0 where |x[i]| > limit and x[i]·g[i] < 0
func StopGradients(g, x []float32, limit float32) {
	sameLen(len(g), len(x), len(x))
	if len(g) > 0 {
		active.stopGradients(g, x, limit)
	}
}

func stopGradientsGeneric(g, x []float32, limit float32) {
	edge := math.Float32bits(limit)
	for i, v := range x {
		if beyond(v, edge) && (v > 0 && g[i] < 0 || v < 0 && g[i] > 0) {
			g[i] = 0
		}
	}
}

// beyond reports whether |x| is larger than the number with the bits of edge, or x
// is NaN: without their sign, floats are ordered as the integers of their bits.
func beyond(x float32, edge uint32) bool { return math.Float32bits(x)&(1<<31-1) > edge }
