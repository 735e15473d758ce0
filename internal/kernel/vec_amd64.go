//go:build !purego

package kernel

func add8(dst, a, b []float32) { addAVX2(first(dst), first(a), first(b), len(dst)) }

func mul8(dst, a, b []float32) { mulAVX2(first(dst), first(a), first(b), len(dst)) }

func relu8(dst, x []float32) { reluAVX2(first(dst), first(x), len(dst)) }

func reluGrad8(dx, dy, y []float32) { reluGradAVX2(first(dx), first(dy), first(y), len(dx)) }

func tanhGrad8(dx, dy, y []float32) { tanhGradAVX2(first(dx), first(dy), first(y), len(dx)) }

func sigmoidGrad8(dx, dy, y []float32) { sigmoidGradAVX2(first(dx), first(dy), first(y), len(dx)) }

func sum8(x []float32) float64 {
	var p [sumLanes]float64
	n := len(x) &^ (sumLanes - 1)
	if n > 0 {
		sumAVX2(&p[0], &x[0], n)
	}
	for i, v := range x[n:] {
		p[i] += float64(v)
	}
	return foldLanes(&p)
}

func sumSq8(x []float32) float64 {
	var p [sumLanes]float64
	n := len(x) &^ (sumLanes - 1)
	if n > 0 {
		sumSqAVX2(&p[0], &x[0], n)
	}
	for i, v := range x[n:] {
		p[i] += float64(v) * float64(v)
	}
	return foldLanes(&p)
}

func colSums8(dst, x []float32, rows, cols int) {
	if rows > 0 {
		colSumsAVX2(first(dst), first(x), rows, cols)
	}
}

func prefetch64(x []float32) { prefetchLines(&x[0], len(x)) }

func claim64(x []float32) { claimLines(&x[0], len(x)) }
