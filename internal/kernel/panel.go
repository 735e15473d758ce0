package kernel

import "math"

// The functions below integrate over the largest of several variables at the points of a quadrature rule: with f_j the density and F_j the
// distribution function of variable j, [m, n] at n points,
//
//	∫ f_j ∏_{i≠j} F_i.
//
// n is a multiple of PanelLanes and at most PanelPoints: a rule with fewer points is padded by points of weight zero.
const PanelLanes, PanelPoints = 8, 48

// RootGammas sets dst [m, n] to the densities of square roots of Gamma variables at the points s > 0: line j is {slope, offset}, and
//
//	dst_jk = exp(offset + slope ln s_k − s_k²),
//
// for exponents up to 700, with an absolute error of some 1e-16 of the largest term of the exponent and a relative one of 1e-12. An
// exponential below e⁻³⁰⁰ may count as that.
func RootGammas(dst, s []float64, lines [][2]float64) {
	checkPanel(len(s))
	sameLen(len(dst), len(lines)*len(s), len(dst))
	if len(lines) > 0 {
		active.rootGammas(dst, s, lines)
	}
}

func rootGammasGeneric(dst, s []float64, lines [][2]float64) {
	for k, x := range s {
		log := math.Log(x)
		for j, line := range lines {
			dst[j*len(s)+k] = math.Exp(line[1] + line[0]*log - x*x)
		}
	}
}

// PanelBelow integrates densities [m, n] at the points of a panel: with integrals [l, n], l ≤ n,
//
//	cdf_jk = max(0, top_j − half Σ_i pdf_ji integrals_ik),
//
// top_j being the distribution function at the end of the panel.
func PanelBelow(cdf, pdf, top, integrals []float64, n int, half float64) {
	checkPanel(n)
	sameLen(len(cdf), len(top)*n, len(pdf))
	if len(integrals)%n != 0 || len(integrals) > n*n || len(integrals) == 0 {
		panic("kernel: PanelBelow: integrals are not rows of n numbers")
	}
	if len(top) > 0 {
		active.panelBelow(cdf, pdf, top, integrals, n, half)
	}
}

func panelBelowGeneric(cdf, pdf, top, integrals []float64, n int, half float64) {
	for j := range top {
		sum := cdf[j*n : (j+1)*n]
		clear(sum)
		for i, f := range pdf[j*n : (j+1)*n][:len(integrals)/n] {
			for k, v := range integrals[i*n : (i+1)*n] {
				sum[k] += f * v
			}
		}
		for k, v := range sum {
			sum[k] = max(0, top[j]-half*v)
		}
	}
}

// PanelScratch is the memory that LeaveOneOut takes per variable.
const PanelScratch = 2 * PanelLanes

// LeaveOneOut adds Σ_k right_k pdf_jk ∏_{i≠j} cdf_ik to dst [m], with pdf and cdf [m, n], right [n] and memory for PanelScratch·m numbers.
func LeaveOneOut(dst, pdf, cdf, right, scratch []float64) {
	m, n := len(dst), len(right)
	checkPanel(n)
	sameLen(len(pdf), m*n, len(cdf))
	if m == 0 {
		return
	}
	scratch = scratch[:PanelScratch*m]
	sums, left := scratch[:PanelLanes*m], scratch[PanelLanes*m:]
	clear(sums)
	active.leaveOneOut(sums, pdf, cdf, right, left)
	for j := range dst {
		s := (*[PanelLanes]float64)(sums[PanelLanes*j:])
		dst[j] += ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
	}
}

func leaveOneOutGeneric(sums, pdf, cdf, right, left []float64) {
	m, n := len(sums)/PanelLanes, len(right)
	for k, behind := range right {
		before := 1.0
		for j := range m {
			left[j] = before
			before *= cdf[j*n+k]
		}
		for j := m - 1; j >= 0; j-- {
			sums[PanelLanes*j] += behind * left[j] * pdf[j*n+k]
			behind *= cdf[j*n+k]
		}
	}
}

// checkPanel panics if there cannot be n points.
func checkPanel(n int) {
	if n <= 0 || n > PanelPoints || n%PanelLanes != 0 {
		panic("kernel: a panel has a multiple of 8 points, up to 48")
	}
}
