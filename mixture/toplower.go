package mixture

import (
	"math"

	"credence/internal/kernel"
	"credence/internal/special"
)

// lowerTerms is how many terms of its series the incomplete gamma function needs below x = 1: 1/14! is 1e-11. They are less than lowerPoints.
const lowerTerms = 14

// lowerPoints is the number of points of the first of [topRules].
const lowerPoints = 16

// lower adds the integrals over x = s² from 0 to end ≤ 1. With A = Σ a_j, they are
//
//	a_i ∏_j 1/Γ(1+a_j) ∫ x^{A−1} e⁻ˣ ∏_{j≠i} M_j(x) dx,
//	M_j(x) = P(S_j² ≤ x) Γ(1+a_j)/x^{a_j} = Σ_n a_j/(a_j+n) (−x)ⁿ/n!   (DLMF 8.7.1).
func (t *topIntegral) lower(end float64) {
	rule := topRules()[0]
	t.powerSeries(rule.Rule, end)
	const n = lowerPoints
	m := len(t.of)
	pdf, cdf := t.pdf[:m*n], t.cdf[:m*n]
	scale, total := 0.0, 0.0
	for j := range t.of {
		a := t.of[j].A
		total += a
		scale -= t.of[j].LogGamma() + t.log[t.class[j]]
		for i := range lowerTerms {
			pdf[j*n+i] = a / (a + float64(i))
		}
		t.below[j] = 0
	}
	kernel.PanelBelow(cdf, pdf, t.below, t.series[:], n, -1) // the coefficients times the series
	for j := range t.of {
		a := t.of[j].A
		for k := range n {
			pdf[j*n+k] = a
		}
	}
	rule.PowerWeights(t.right[:n], t.scratch[:], total)
	scale = math.Exp(scale + total*math.Log(end))
	for k := range t.right[:n] {
		t.right[k] *= scale * t.e[k]
	}
	kernel.LeaveOneOut(t.result, pdf, cdf, t.right[:n], t.products)
}

// powerSeries sets x to the points of the rule from 0 to end, e to exp(−x), and row n of the series to (−x)ⁿ/n!.
func (t *topIntegral) powerSeries(rule *special.Rule, end float64) {
	if t.end == end {
		return
	}
	t.end = end
	for k := range t.x {
		t.x[k] = rule.At(k, 0.5, 0.5) * end
		t.e[k] = math.Exp(-t.x[k])
		power := 1.0
		for i := range lowerTerms {
			t.series[i*lowerPoints+k] = power
			power *= -t.x[k] / float64(i+1)
		}
	}
}
