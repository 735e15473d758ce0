package kernel

import "math"

// Exp computes dst[i] = exp(x[i]) within 2 ulp; overflow gives +Inf, underflow
// 0 (results below the smallest normal number may be flushed to 0). dst may
// be x.
func Exp(dst, x []float32) {
	sameLen(len(dst), len(x), len(x))
	active.exp(dst, x)
}

// Log computes dst[i] = log(x[i]) within 2 ulp; log 0 is -Inf, the logarithm
// of a negative number NaN. dst may be x.
func Log(dst, x []float32) {
	sameLen(len(dst), len(x), len(x))
	active.log(dst, x)
}

func expGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)))
	}
}

func logGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Log(float64(v)))
	}
}
