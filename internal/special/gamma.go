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
		return LogGamma(a) + LogGamma(b) - LogGamma(a+b)
	case a < stirlingMin:
		return LogGamma(a) - LogRising(b, a)
	}
	s := a + b
	return halfLog2Pi + (stirling(a) + stirling(b) - stirling(s)) -
		0.5*math.Log(b) + (a-0.5)*math.Log(a/s) + b*math.Log1p(-a/s)
}

// LogGamma is math.Lgamma of a positive argument, without the sign.
func LogGamma(a float64) float64 {
	g, _ := math.Lgamma(a)
	return g
}

// The two functions below are differences, never computed as such: lnΓ(a+s)
// and lnΓ(a) agree in all but a few digits when a is large, so subtracting
// them loses what is wanted. With u = 1/a, v = 1/(a+s) and Stirling's series,
//
//	lnΓ(z) = (z−½) ln z − z + ½ ln 2π + Σₙ B₂ₙ / (2n(2n−1) z²ⁿ⁻¹)
//	ψ(z)   = ln z − 1/(2z) − Σₙ B₂ₙ / (2n z²ⁿ)
//
// the difference is taken term by term with the common factor drawn out:
//
//	uᵏ − vᵏ = (u−v)·(uᵏ⁻¹ + uᵏ⁻²v + … + vᵏ⁻¹),    u − v = s·u·v.
//
// The series is used at a ≥ stirlingFrom, which the recurrence
// Γ(a+1) = a·Γ(a) reaches in at most that many factors.

// stirlingFrom is where seven terms of the series leave less than 1e-18.
const stirlingFrom = 16

// lgammaSeries are B₂ₙ/(2n(2n−1)), n = 1 … 7.
var lgammaSeries = [7]float64{
	1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360, 1. / 156,
}

// digammaSeries are B₂ₙ/(2n), n = 1 … 7.
var digammaSeries = [7]float64{
	1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12,
}

// ShortVotes is the largest whole number s for which the rising factorial is
// multiplied out instead of computed by Stirling's series.
const ShortVotes = 16

// LogRising returns the logarithm of the rising factorial of a,
//
//	ln Γ(a+s) − ln Γ(a)  =  Σ_{t<s} ln(a+t)   for whole s,
//
// for a > 0 and s ≥ 0, whole or not. The error is about 1e-15 of the larger of
// the result and s·|ln a|, for a from 1e-9 to 1e9 and s up to 1e6.
func LogRising(a, s float64) float64 {
	switch {
	case s == 0:
		return 0
	case !(a > 0) || !(s > 0) || math.IsInf(a, 1) || math.IsInf(s, 1):
		return math.NaN()
	}
	if s <= ShortVotes && s == math.Floor(s) && a < 1e18 {
		p := a
		for t := 1.0; t < s; t++ {
			p *= a + t
		}
		return math.Log(p)
	}
	// lnΓ(a+s) − lnΓ(a) = [the same at a+n] − Σ_{t<n} ln((a+s+t)/(a+t)).
	below := 0.0
	if a < stirlingFrom {
		if s < 1 {
			p := 0.0 // ∏ (1 + s/(a+t)) − 1
			for ; a < stirlingFrom; a++ {
				r := s / a
				p += r + p*r
			}
			below = math.Log1p(p)
		} else {
			p, q := 1.0, 1.0
			for ; a < stirlingFrom; a++ {
				p *= a + s
				q *= a
			}
			below = math.Log(p / q)
		}
	}
	u, v := 1/a, 1/(a+s)
	// q holds (uᵏ−vᵏ)/(u−v) and vk the power vᵏ for the running odd k.
	q, vk, sum := 1.0, v, 0.0
	for _, c := range lgammaSeries {
		sum += c * q
		q = u*q + vk // k even
		vk *= v
		q = u*q + vk
		vk *= v
	}
	return (a-0.5)*math.Log1p(s*u) + s*math.Log(a+s) - s - s*u*v*sum - below
}

// DigammaDiff returns the derivative of [LogRising] with respect to a,
//
//	ψ(a+s) − ψ(a)  =  Σ_{t<s} 1/(a+t)   for whole s,
//
// for a > 0 and s ≥ 0, whole or not, with a relative error of about 1e-15.
func DigammaDiff(a, s float64) float64 {
	switch {
	case s == 0:
		return 0
	case !(a > 0) || !(s > 0) || math.IsInf(a, 1) || math.IsInf(s, 1):
		return math.NaN()
	}
	sum := 0.0
	if s <= ShortVotes && s == math.Floor(s) {
		for t := s - 1; t >= 0; t-- {
			sum += 1 / (a + t)
		}
		return sum
	}
	// Every term is positive, so nothing cancels.
	below := 0.0
	for ; a < stirlingFrom; a++ {
		below += s / (a * (a + s))
	}
	u, v := 1/a, 1/(a+s)
	q, vk := u+v, v*v // k = 2
	for _, c := range digammaSeries {
		sum += c * q
		q = u*q + vk
		vk *= v
		q = u*q + vk
		vk *= v
	}
	return math.Log1p(s*u) + s*u*v*(0.5+sum) + below
}

// DigammaExcess returns ψ(a+1) − ln a for a > 0, to a few units in the last
// place: 1/(2a) − 1/(12a²) + 1/(120a⁴) − … after raising a by the recurrence
// ψ(a+1) = ψ(a) + 1/a. (DLMF 5.11.2.)
func DigammaExcess(a float64) float64 {
	// ψ(a+1) = ψ(a+n+1) − Σ_{i=1…n} 1/(a+i).
	shift, z := 0.0, a
	for z < 10 { // two terms with one division
		shift -= (2*z + 3) / ((z + 1) * (z + 2))
		z += 2
	}
	if z != a {
		shift += math.Log(z / a)
	}
	t := 1 / (z * z)
	return shift + 1/(2*z) - t*(1./12-t*(1./120-t*(1./252-t*(1./240-t*(1./132-t*(691./32760-t*(1./12)))))))
}

// RootGamma is the square root S of a Gamma(a) variable, a > 0. On that scale all
// a look alike: S is nearly normal with standard deviation ½ once a exceeds a
// few units, and Chernoff's bound reads
//
//	P(S ≤ s) ≤ exp(−2(√a − s)²)   for s ≤ √a.
type RootGamma struct {
	A, Root  float64 // a and √a
	constant float64 // ln of the density's factor that does not depend on s
	atPeak   bool    // whether the density is taken relative to its peak
}

// rootPeak is the a beyond which the density is taken relative to its peak, so
// that no large logarithms cancel.
const rootPeak = 64

// NewRootGamma prepares the distribution for a > 0.
func NewRootGamma(a float64) RootGamma {
	v := RootGamma{A: a, Root: math.Sqrt(a), atPeak: a > rootPeak}
	if v.atPeak {
		v.constant = math.Ln2 - halfLog2Pi - stirling(a)
	} else {
		v.constant = math.Ln2 - LogGamma(a)
	}
	return v
}

// NewLinearRootGamma is NewRootGamma given ln Γ(a), for [RootGamma.Linear] alone.
func NewLinearRootGamma(a, logGamma float64) RootGamma {
	return RootGamma{A: a, Root: math.Sqrt(a), constant: math.Ln2 - logGamma}
}

// Linear returns the density's logarithm as offset + slope ln s − s². Its error is some 1e-16 times a ln a.
func (v *RootGamma) Linear() (slope, offset float64) {
	offset = v.constant
	if v.atPeak {
		offset += v.A - (v.A-0.5)*math.Log(v.A)
	}
	return 2*v.A - 1, offset
}

// LogGamma returns ln Γ(a). Its error is some 1e-16 times a ln a.
func (v *RootGamma) LogGamma() float64 {
	_, offset := v.Linear()
	return math.Ln2 - offset
}

// Density returns the density at s > 0, given with its logarithm,
//
//	2 s²ᵃ⁻¹ exp(−s²) / Γ(a),
//
// with a relative error of about 1e-13 within ten standard deviations of √a for
// a up to 1e7.
func (v *RootGamma) Density(s, logS float64) float64 {
	if !v.atPeak {
		return math.Exp(v.constant + (2*v.A-1)*logS - s*s)
	}
	// With t = s/√a − 1, s² − a − 2a ln(s/√a) = a(t² − 2(ln(1+t) − t)).
	t := (s - v.Root) / v.Root
	return math.Exp(v.constant-v.A*(t*t-2*log1pmx(t))) / (1 + t)
}
