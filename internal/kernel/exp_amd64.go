//go:build !purego

package kernel

func exp8(dst, x []float32) { expAVX2(first(dst), first(x), len(dst)) }

func exp16(dst, x []float32) {
	if len(dst) > 0 {
		expAVX512(&dst[0], &x[0], len(dst))
	}
}

func tanh8(dst, x []float32) { tanhAVX2(first(dst), first(x), len(dst)) }

func sigmoid8(dst, x []float32) { sigmoidAVX2(first(dst), first(x), len(dst)) }

func gelu8(dst, x []float32) { geluAVX2(first(dst), first(x), len(dst)) }

func geluGrad8(dx, dy, x []float32) { geluGradAVX2(first(dx), first(dy), first(x), len(dx)) }
