package special

import "math"

const (
	halfLog2Pi = 0.91893853320467274178032973640561763986139747363778
	euler      = 0.57721566490153286060651209008240243104215933593992
)

// stirlingMin is the smallest argument of [stirling].
const stirlingMin = 10

// stirling returns the remainder of Stirling's formula,
//
//	Δ(a) = ln Γ(a) − (a−½) ln a + a − ½ ln 2π ~ Σ B₂ₖ / (2k(2k−1) a²ᵏ⁻¹),
//
// for a ≥ stirlingMin, with an absolute error below 1e-17. (DLMF 5.11.1.)
func stirling(a float64) float64 {
	if a > 1e8 {
		return 1 / (12 * a)
	}
	t := 1 / a
	u := t * t
	return t * (1./12 + u*(-1./360+u*(1./1260+u*(-1./1680+u*(1./1188+
		u*(-691./360360+u*(1./156+u*(-3617./122400))))))))
}

// log1pmx returns ln(1+u) − u for u > −1 without cancellation near 0.
//
// With r = u/(2+u), ln(1+u) = 2 artanh r and 2r − u = −u·r.
func log1pmx(u float64) float64 {
	if u < -0.45 || u > 0.8 {
		return math.Log1p(u) - u
	}
	r := u / (2 + u)
	v := r * r
	var p float64
	if math.Abs(u) < 0.02 {
		p = 1./3 + v*(1./5+v*(1./7+v*(1./9)))
	} else {
		p = 1./3 + v*(1./5+v*(1./7+v*(1./9+v*(1./11+v*(1./13+v*(1./15+v*(1./17+
			v*(1./19+v*(1./21+v*(1./23+v*(1./25+v*(1./27+v*(1./29+v*(1./31))))))))))))))
	}
	return r * (2*v*p - u)
}

// expm1mx returns eᵗ − 1 − t without cancellation near 0.
func expm1mx(t float64) float64 {
	if math.Abs(t) > 0.7 {
		return math.Expm1(t) - t
	}
	s := 1.0
	for n := 17.; n >= 3; n-- {
		s = 1 + s*t/n
	}
	return s * t * t / 2
}

// lgamma1p returns ln Γ(1+a) for 0 ≤ a ≤ ½ with relative accuracy:
//
//	ln Γ(1+a) = −ln(1+a) + (1−γ) a + Σ_{k≥2} (ζ(k)−1) (−a)ᵏ/k.
func lgamma1p(a float64) float64 {
	s := 0.0
	for k := len(zetaMinus1) - 1; k >= 0; k-- {
		s = zetaMinus1[k]/float64(k+2) - a*s
	}
	return a*(1-euler) - math.Log1p(a) + a*a*s
}

// zetaMinus1[k] is ζ(k+2) − 1.
var zetaMinus1 = [...]float64{
	0.64493406684822643647, 0.20205690315959428540, 0.082323233711138191516,
	0.036927755143369926331, 0.017343061984449139714, 0.0083492773819228268398,
	0.0040773561979443393786, 0.0020083928260822144179, 0.00099457512781808533715,
	0.00049418860411946455870, 0.00024608655330804829863, 0.00012271334757848914675,
	0.000061248135058704829259, 0.000030588236307020493552, 0.000015282259408651871733,
	7.6371976378997622737e-6, 3.8172932649998398565e-6, 1.9082127165539389257e-6,
	9.5396203387279611315e-7, 4.7693298678780646312e-7, 2.3845050272773299001e-7,
	1.1921992596531107307e-7, 5.9608189051259479612e-8, 2.9803503514652280186e-8,
	1.4901554828365041235e-8, 7.4507117898354294920e-9, 3.7253340247884570548e-9,
}

// LogBeta returns ln B(a, b) for a, b > 0. The absolute error is a few units in
// the last place of the largest of |ln B| and 1.
func LogBeta(a, b float64) float64 {
	if a > b {
		a, b = b, a
	}
	switch {
	case b < stirlingMin:
		return lgamma(a) + lgamma(b) - lgamma(a+b)
	case a < stirlingMin:
		return lgamma(a) - LogRising(b, a)
	}
	s := a + b
	return halfLog2Pi + (stirling(a) + stirling(b) - stirling(s)) -
		0.5*math.Log(b) + (a-0.5)*math.Log(a/s) + b*math.Log1p(-a/s)
}

// lgamma is math.Lgamma of a positive argument, without the sign.
func lgamma(a float64) float64 {
	g, _ := math.Lgamma(a)
	return g
}
