//go:build !purego

package kernel

func betaTails4(dst *[4]BetaPoints, z, q *BetaPoints, terms []BetaTailTerm, _ int) {
	betaTailsAVX2(&dst[0][0], &z[0], &q[0], &terms[0].A[0], len(terms))
}

func betaTails8(dst *[4]BetaPoints, z, q *BetaPoints, terms []BetaTailTerm, _ int) {
	betaTailsAVX512(&dst[0][0], &z[0], &q[0], &terms[0].A[0], len(terms))
}

func logBetas4(dst *BetaLogs, w, a, b []float64) {
	logBetasAVX2(&dst.W[0], &dst.A[0], &dst.B[0], &dst.Beta[0], &w[0], &a[0], &b[0], len(w))
}

func logBetas8(dst *BetaLogs, w, a, b []float64) {
	logBetasAVX512(&dst.W[0], &dst.A[0], &dst.B[0], &dst.Beta[0], &w[0], &a[0], &b[0], len(w))
}
