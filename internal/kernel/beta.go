package kernel

import "math"

// BetaLanes is the number of points that BetaSums processes at a time.
const BetaLanes = 8

// BetaTerm is a Beta(A, B) distribution with a weight w: C = ln(w/B(A, B)).
type BetaTerm struct{ A, B, C float64 }

// BetaPoints are values at BetaLanes points.
type BetaPoints [BetaLanes]float64

// BetaSums sets dst[0] to the density of a mixture of Beta distributions on the logit scale, at points
// with the logits z (finite, at most 700 in size), and dst[1], dst[2] and dst[3] to its derivatives: with
// x = 1/(1+e⁻ᶻ), y = 1 − x,
//
//	φ_k = exp(C + A ln x + B ln y),   λ = Ay − Bx,   v = (A+B)xy,
//	dst[0] = Σ φ_k,                   dst[1] = Σ φ_k λ,
//	dst[2] = Σ φ_k (λ² − v),          dst[3] = Σ φ_k (λ³ − 3λv − v(y−x)).
//
// An exponent is computed with an absolute error of some 2⁻⁵² of its largest term. A φ_k below e⁻³⁰⁰
// may count as that.
func BetaSums(dst *[4]BetaPoints, z *BetaPoints, terms []BetaTerm) {
	active.betaSums(dst, z, terms)
}

// unlogit returns the point x whose logit is z, y = 1−x, and the logarithms of both.
func unlogit(z float64) (x, y, logX, logY float64) {
	e := math.Exp(-math.Abs(z))
	l := math.Log1p(e)
	if z < 0 {
		return e / (1 + e), 1 / (1 + e), z - l, -l
	}
	return 1 / (1 + e), e / (1 + e), -l, -z - l
}

func betaSumsGeneric(dst *[4]BetaPoints, z *BetaPoints, terms []BetaTerm) {
	for n, z := range z {
		x, y, logX, logY := unlogit(z)
		xy, turn := x*y, y-x
		var f0, f1, f2, f3 float64
		for _, t := range terms {
			p := math.Exp(t.C + t.A*logX + t.B*logY)
			l, v := t.A*y-t.B*x, (t.A+t.B)*xy
			f0 += p
			f1 += p * l
			f2 += p * (l*l - v)
			f3 += p * (l*(l*l-3*v) - v*turn)
		}
		dst[0][n], dst[1][n], dst[2][n], dst[3][n] = f0, f1, f2, f3
	}
}

// LogGamma sets gamma[i] to ln Γ(x[i]) and log[i] to ln x[i], for x from 1e-300 to 1e300. The error of ln Γ is
// some units in the last place of x ln x or, where that is less, some 1e-15.
func LogGamma(gamma, log, x []float64) {
	sameLen(len(gamma), len(log), len(x))
	active.logGamma(gamma, log, x)
}

func logGammaGeneric(gamma, log, x []float64) {
	for i, v := range x {
		gamma[i], _ = math.Lgamma(v)
		log[i] = math.Log(v)
	}
}

// ExpLinear sets dst[i] to exp(offset + slope x[i] + y[i]), for exponents up to 700, with a relative error of some 1e-12
// more than that of the exponent. An exponential below e⁻³⁰⁰ may count as that.
func ExpLinear(dst, x, y []float64, slope, offset float64) {
	sameLen(len(dst), len(x), len(y))
	active.expLinear(dst, x, y, slope, offset)
}

func expLinearGeneric(dst, x, y []float64, slope, offset float64) {
	for i, v := range x {
		dst[i] = math.Exp(offset + slope*v + y[i])
	}
}
