package special

import "math"

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

// ShortVotes is up to which whole number s the rising factorial is multiplied
// out instead of taken from Stirling's series.
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
