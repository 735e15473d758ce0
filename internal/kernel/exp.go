package kernel

import "math"

// Exp computes dst[i] = exp(x[i]) within 2 ulp; overflow gives +Inf, underflow
// 0 (results below the smallest normal number may be flushed to 0). dst may
// be x.
func Exp(dst, x []float32) {
	sameLen(len(dst), len(x), len(x))
	active.exp(dst, x)
}

func expGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)))
	}
}
