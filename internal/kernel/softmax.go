package kernel

import "math"

// Softmax computes, for every row of x [rows, cols],
//
//	dst[r,c] = exp(x[r,c] − max_j x[r,j]) / Σ_j exp(x[r,j] − max)
//
// dst may be x.
func Softmax(dst, x []float32, rows, cols int) {
	if len(dst) < rows*cols || len(x) < rows*cols {
		panic("kernel: Softmax: slice too short")
	}
	for r := range rows {
		active.softmaxRow(dst[r*cols:(r+1)*cols], x[r*cols:(r+1)*cols])
	}
}

// LogSumExp computes dst[r] = log Σ_c exp(x[r,c]) for every row of x
// [rows, cols] without overflow. A row of -Inf gives -Inf.
func LogSumExp(dst, x []float32, rows, cols int) {
	if len(dst) < rows || len(x) < rows*cols {
		panic("kernel: LogSumExp: slice too short")
	}
	for r := range rows {
		dst[r] = active.logSumExp(x[r*cols : (r+1)*cols])
	}
}

func softmaxRowGeneric(dst, x []float32) {
	m := maxGeneric(x)
	var s float64
	for i, v := range x {
		e := math.Exp(float64(v - m))
		s += e
		dst[i] = float32(e)
	}
	inv := float32(1 / s)
	for i := range dst {
		dst[i] *= inv
	}
}

func logSumExpGeneric(x []float32) float32 {
	m := maxGeneric(x)
	if math.IsInf(float64(m), 0) || m != m {
		return m
	}
	var s float64
	for _, v := range x {
		s += math.Exp(float64(v - m))
	}
	return m + float32(math.Log(s))
}
