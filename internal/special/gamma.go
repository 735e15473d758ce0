package special

import "math"

// LogGammaVariable is the logarithm U of a Gamma(a) variable, a > 0.
type LogGammaVariable struct {
	a, logA  float64
	constant float64 // ln of the density's factor that does not depend on u
}

// NewLogGammaVariable prepares the distribution for a > 0.
func NewLogGammaVariable(a float64) LogGammaVariable {
	v := LogGammaVariable{a: a, logA: math.Log(a)}
	if a < stirlingMin {
		v.constant = -lgamma(a)
	} else {
		v.constant = 0.5*v.logA - halfLog2Pi - stirling(a)
	}
	return v
}

// At returns P(U ≤ u), the regularised incomplete gamma function P(a, eᵘ), and
// the density of U there, eᵃᵘ exp(−eᵘ)/Γ(a). The relative error is below 1e-13
// for a up to 1e3 and below 1e-10 up to 1e7. It is the counterpart of
// [Beta.Tails], with the same methods in the same places.
func (v *LogGammaVariable) At(u float64) (lower, density float64) {
	a, x := v.a, math.Exp(u)
	if a < stirlingMin {
		density = math.Exp(v.constant + a*u - x)
	} else {
		density = math.Exp(v.constant - a*expm1mx(u-v.logA))
	}
	if x <= a || x < 1 {
		return min(1, density*v.lowerRatio(x)), density
	}
	return max(0, 1-density*v.upperRatio(x)), density
}

// lowerRatio returns P(a, x) over the density, for x ≤ max(a, 1) (DLMF 8.11.4):
//
//	Σ_{n≥0} xⁿ / (a (a+1) … (a+n)).
func (v *LogGammaVariable) lowerRatio(x float64) float64 {
	a := v.a
	if a > quadratureMin && x > a/2 {
		return tailIntegral(a-x, x, func(t float64) float64 { return -(a-x)*t - x*expm1mx(-t) })
	}
	t := 1 / a
	sum := t
	for n := a + 1; t > 0x1p-56*sum; n++ {
		t *= x / n
		sum += t
	}
	return sum
}

// upperRatio returns 1 − P(a, x) over the density, for x > max(a, 1): the even
// part of the continued fraction, by its convergents (DLMF 8.9.2),
//
//	1/(x+1−a − 1(1−a)/(x+3−a − 2(2−a)/(x+5−a − …))).
func (v *LogGammaVariable) upperRatio(x float64) float64 {
	a := v.a
	if a > quadratureMin && x < 2*a {
		return tailIntegral(x-a, x, func(t float64) float64 { return -(x-a)*t - x*expm1mx(t) })
	}
	n0, d0, n1, d1 := 0.0, 1.0, 1.0, x+1-a
	for m := 1.0; m < 100000; m++ {
		alpha, beta := -m*(m-a), x+2*m+1-a
		n2, d2 := beta*n1+alpha*n0, beta*d1+alpha*d0
		if math.Abs(n2*d1-n1*d2) <= 0x1p-53*math.Abs(n2*d1) {
			return n2 / d2
		}
		n0, d0, n1, d1 = n1, d1, n2, d2
		if math.Abs(d1) > 0x1p300 {
			n0, d0, n1, d1 = n0*0x1p-300, d0*0x1p-300, n1*0x1p-300, d1*0x1p-300
		}
	}
	return n1 / d1
}
