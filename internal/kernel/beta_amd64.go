//go:build !purego

package kernel

func betaSums4(dst *[BetaDerivatives]BetaPoints, z *BetaPoints, terms []BetaTerm) {
	betaSumsAVX2(&dst[0][0], &z[0], termsAt(terms), len(terms))
}

func logGamma4(gamma, log, x []float64) {
	n := len(x) &^ (BetaLanes - 1)
	if n > 0 {
		logGammaAVX2(&gamma[0], &log[0], &x[0], n)
	}
	if n < len(x) {
		var g, l, rest BetaPoints
		fill(&rest, x[n:])
		logGammaAVX2(&g[0], &l[0], &rest[0], BetaLanes)
		copy(gamma[n:], g[:])
		copy(log[n:], l[:])
	}
}

func logGamma8(gamma, log, x []float64) {
	n := len(x) &^ (BetaLanes - 1)
	if n > 0 {
		logGammaAVX512(&gamma[0], &log[0], &x[0], n)
	}
	if n < len(x) {
		var g, l, rest BetaPoints
		fill(&rest, x[n:])
		logGammaAVX512(&g[0], &l[0], &rest[0], BetaLanes)
		copy(gamma[n:], g[:])
		copy(log[n:], l[:])
	}
}

func betaMoments4(mean, variance, a, b []float64) {
	n := len(a) &^ (BetaLanes - 1)
	if n > 0 {
		betaMomentsAVX2(&mean[0], &variance[0], &a[0], &b[0], n)
	}
	betaMomentsGeneric(mean[n:], variance[n:], a[n:], b[n:])
}

func betaMoments8(mean, variance, a, b []float64) {
	n := len(a) &^ (BetaLanes - 1)
	if n > 0 {
		betaMomentsAVX512(&mean[0], &variance[0], &a[0], &b[0], n)
	}
	betaMomentsGeneric(mean[n:], variance[n:], a[n:], b[n:])
}

func exp64x4(x []float64) {
	n := len(x) &^ (BetaLanes - 1)
	if n > 0 {
		exp64AVX2(&x[0], n)
	}
	if n < len(x) {
		var rest BetaPoints
		copy(rest[:], x[n:])
		exp64AVX2(&rest[0], BetaLanes)
		copy(x[n:], rest[:])
	}
}

func exp64x8(x []float64) {
	n := len(x) &^ (BetaLanes - 1)
	if n > 0 {
		exp64AVX512(&x[0], n)
	}
	if n < len(x) {
		var rest BetaPoints
		copy(rest[:], x[n:])
		exp64AVX512(&rest[0], BetaLanes)
		copy(x[n:], rest[:])
	}
}

func expLinear4(dst, x, y []float64, slope, offset float64) {
	n := len(x) &^ (BetaLanes - 1)
	if n > 0 {
		expLinearAVX2(&dst[0], &x[0], &y[0], n, slope, offset)
	}
	if n < len(x) {
		var d, a, b BetaPoints
		fill(&a, x[n:])
		fill(&b, y[n:])
		expLinearAVX2(&d[0], &a[0], &b[0], BetaLanes, slope, offset)
		copy(dst[n:], d[:])
	}
}

func expLinear8(dst, x, y []float64, slope, offset float64) {
	n := len(x) &^ (BetaLanes - 1)
	if n > 0 {
		expLinearAVX512(&dst[0], &x[0], &y[0], n, slope, offset)
	}
	if n < len(x) {
		var d, a, b BetaPoints
		fill(&a, x[n:])
		fill(&b, y[n:])
		expLinearAVX512(&d[0], &a[0], &b[0], BetaLanes, slope, offset)
		copy(dst[n:], d[:])
	}
}

func digammaLog4(dst, a, c []float64) {
	n := len(a) &^ (BetaLanes - 1)
	if n > 0 {
		digammaLogAVX2(&dst[0], &a[0], &c[0], n)
	}
	if n < len(a) {
		var d, x, y BetaPoints
		fill(&x, a[n:])
		fill(&y, c[n:])
		digammaLogAVX2(&d[0], &x[0], &y[0], BetaLanes)
		copy(dst[n:], d[:])
	}
}

func digammaLog8(dst, a, c []float64) {
	n := len(a) &^ (BetaLanes - 1)
	if n > 0 {
		digammaLogAVX512(&dst[0], &a[0], &c[0], n)
	}
	if n < len(a) {
		var d, x, y BetaPoints
		fill(&x, a[n:])
		fill(&y, c[n:])
		digammaLogAVX512(&d[0], &x[0], &y[0], BetaLanes)
		copy(dst[n:], d[:])
	}
}

// fill copies less than a block, and ones behind it.
func fill(dst *BetaPoints, x []float64) {
	for i := copy(dst[:], x); i < BetaLanes; i++ {
		dst[i] = 1
	}
}
