//go:build !purego

package kernel

func dots64AVX2(dst, w, x []float64) {
	whole := len(x) &^ 3
	if whole == 0 {
		dots64Generic(dst, w, x)
		return
	}
	for c := 0; c < len(dst); {
		var p [4][4]float64
		rows, at := 1, &w[c*len(x)]
		switch left := len(dst) - c; {
		case left >= 4:
			rows = 4
			dots4AVX2(&p[0][0], at, len(x), &x[0], whole)
		case left >= 2:
			rows = 2
			dots2AVX2(&p[0][0], at, len(x), &x[0], whole)
		default:
			dots1AVX2(&p[0][0], at, len(x), &x[0], whole)
		}
		for r := range rows {
			s := &p[r]
			for k := whole; k < len(x); k++ {
				s[0] += float64(w[c*len(x)+k] * x[k])
			}
			dst[c] = (s[0] + s[1]) + (s[2] + s[3])
			c++
		}
	}
}

func addRows64AVX2(y, a, x []float64, ld int) {
	whole := len(y) &^ 3
	for ; len(a) >= 4 && whole > 0; a = a[4:] {
		addRows4AVX2(&y[0], &a[0], &x[0], ld, whole)
		if whole < len(y) {
			addRows64Generic(y[whole:], a[:4], x[whole:], ld)
		}
		x = x[min(4*ld, len(x)):]
	}
	if len(a) > 0 {
		addRows64Generic(y, a, x, ld)
	}
}
