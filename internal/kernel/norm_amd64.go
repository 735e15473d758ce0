//go:build !purego

package kernel

func norm8(y, x []float32, mean, a, b float32) {
	normAVX2(first(y), first(x), mean, a, b, len(x))
}

func normGrad8(dx, dy, x []float32, p *NormGrad) {
	normGradAVX2(first(dx), first(dy), first(x), p.Mean, p.Inv, p.Scale, p.A, p.B, len(dx))
}

func centredDot8(g, x []float32, mean float32) float64 {
	var p [sumLanes]float64
	n := len(g) &^ (sumLanes - 1)
	if n > 0 {
		centredDotAVX2(&p[0], &g[0], &x[0], mean, n)
	}
	for i, v := range g[n:] {
		p[i] += float64(v) * float64(x[n+i]-mean)
	}
	return foldLanes(&p)
}
