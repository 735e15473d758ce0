//go:build !purego

package kernel

func twoVotes4(work []float64, g, ga, e []float32, k, s0, s1 int, scale float64, sums *[2]float64) {
	twoVotesAVX2(&work[0], first(g), first(ga), &e[0], k, s0, s1, scale, &sums[0])
}

func twoVotes8(work []float64, g, ga, e []float32, k, s0, s1 int, scale float64, sums *[2]float64) {
	twoVotesAVX512(&work[0], first(g), first(ga), &e[0], k, s0, s1, scale, &sums[0])
}

func clampLogits16(dst, x []float32, width, k int, limit float32) int {
	return clampLogitsAVX512(&dst[0], &x[0], k, width, len(x)/width, limit)
}

func stopGradients16(g, x []float32, width, k int, limit float32) {
	stopGradientsAVX512(&g[0], &x[0], k, width, len(x)/width, limit)
}
