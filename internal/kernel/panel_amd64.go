//go:build !purego

package kernel

func rootGammas4(dst, s []float64, lines [][2]float64) {
	rootGammasAVX2(&dst[0], &s[0], &lines[0][0], len(lines), len(s))
}

func rootGammas8(dst, s []float64, lines [][2]float64) {
	rootGammasAVX512(&dst[0], &s[0], &lines[0][0], len(lines), len(s))
}

func panelBelow4(cdf, pdf, top, integrals []float64, n int, half float64) {
	panelBelowAVX2(&cdf[0], &pdf[0], &top[0], &integrals[0], len(top), len(integrals)/n, n, half)
}

func panelBelow8(cdf, pdf, top, integrals []float64, n int, half float64) {
	panelBelowAVX512(&cdf[0], &pdf[0], &top[0], &integrals[0], len(top), len(integrals)/n, n, half)
}

func leaveOneOut4(sums, pdf, cdf, right, left []float64) {
	leaveOneOutAVX2(&sums[0], &pdf[0], &cdf[0], &right[0], &left[0], len(sums)/PanelLanes, len(right))
}

func leaveOneOut8(sums, pdf, cdf, right, left []float64) {
	leaveOneOutAVX512(&sums[0], &pdf[0], &cdf[0], &right[0], &left[0], len(sums)/PanelLanes, len(right))
}

func gridGammas4(cdf, pdf, slope, offset, table []float64, variables []GridVariable) {
	gridGammasAVX2(&cdf[0], &pdf[0], &slope[0], &offset[0], &table[0], &variables[0].Table, len(variables), len(slope))
}

func gridGammas8(cdf, pdf, slope, offset, table []float64, variables []GridVariable) {
	gridGammasAVX512(&cdf[0], &pdf[0], &slope[0], &offset[0], &table[0], &variables[0].Table, len(variables), len(slope))
}
