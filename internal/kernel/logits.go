package kernel

import "math"

// ClampLogits prepares the raw outputs x of items, rows of width values, of a mixture for exponentials: the first k of each, logits of weights,
// less the largest of them, but at least −80, where they neither matter nor become subnormal; the others between −limit and limit. It
// returns how many of these were outside. NaN stays NaN.
func ClampLogits(dst, x []float32, width, k int, limit float32) (outside int) {
	sameLen(len(dst), len(x), len(x))
	checkRows(len(x), width, k)
	if len(x) == 0 {
		return 0
	}
	return active.clampLogits(dst, x, width, k, limit)
}

// checkRows panics unless n values are rows of k logits and something else.
func checkRows(n, width, k int) {
	if k < 1 || k >= width || n%width != 0 {
		panic("kernel: expected whole rows of logits and other values")
	}
}

func clampLogitsGeneric(dst, x []float32, width, k int, limit float32) (outside int) {
	for ; len(x) > 0; dst, x = dst[width:], x[width:] {
		outside += clampRow(dst[:width], x[:width], k, limit)
	}
	return outside
}

// clampRow is clampLogitsGeneric for one row.
func clampRow(dst, x []float32, k int, limit float32) (outside int) {
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

// StopGradients sets those gradients g of the values x behind the first k of each row that are outside ±limit to 0 whose descent step
// would lead further out:
//
//	g[i] = 0 where |x[i]| > limit and x[i]·g[i] < 0
func StopGradients(g, x []float32, width, k int, limit float32) {
	sameLen(len(g), len(x), len(x))
	checkRows(len(x), width, k)
	if len(x) > 0 {
		active.stopGradients(g, x, width, k, limit)
	}
}

func stopGradientsGeneric(g, x []float32, width, k int, limit float32) {
	edge := math.Float32bits(limit)
	for ; len(x) > 0; g, x = g[width:], x[width:] {
		for i, v := range x[k:width] {
			if beyond(v, edge) && (v > 0 && g[k+i] < 0 || v < 0 && g[k+i] > 0) {
				g[k+i] = 0
			}
		}
	}
}

// beyond reports whether |x| is larger than the number with the bits of edge, or x
// is NaN: without their sign, floats are ordered as the integers of their bits.
func beyond(x float32, edge uint32) bool { return math.Float32bits(x)&(1<<31-1) > edge }
