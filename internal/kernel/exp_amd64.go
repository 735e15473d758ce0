//go:build !purego

package kernel

import "math"

func exp8(dst, x []float32) { expAVX2(first(dst), first(x), 0, len(dst)) }

func log8(dst, x []float32) { logAVX2(first(dst), first(x), len(dst)) }

func tanh8(dst, x []float32) { tanhAVX2(first(dst), first(x), len(dst)) }

func sigmoid8(dst, x []float32) { sigmoidAVX2(first(dst), first(x), len(dst)) }

func gelu8(dst, x []float32) { geluAVX2(first(dst), first(x), len(dst)) }

func geluGrad8(dx, dy, x []float32) { geluGradAVX2(first(dx), first(dy), first(x), len(dx)) }

func softmaxRow8(dst, x []float32) {
	expAVX2(first(dst), first(x), max8(x), len(dst))
	scale8(dst, dst, float32(1/sum8(dst)))
}

// logSumExp8 sums the exponentials of 64 values at a time, held on the stack.
func logSumExp8(x []float32) float32 {
	m := max8(x)
	if math.IsInf(float64(m), 0) || m != m {
		return m
	}
	var e [64]float32
	var s float64
	for len(x) > 0 {
		n := min(len(x), len(e))
		expAVX2(&e[0], &x[0], m, n)
		s += sum8(e[:n])
		x = x[n:]
	}
	return m + float32(math.Log(s))
}
