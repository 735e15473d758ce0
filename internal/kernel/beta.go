package kernel

import "math"

// unlogit returns the point x whose logit is z, y = 1−x, and the logarithms of both.
func unlogit(z float64) (x, y, logX, logY float64) {
	e := math.Exp(-math.Abs(z))
	l := math.Log1p(e)
	if z < 0 {
		return e / (1 + e), 1 / (1 + e), z - l, -l
	}
	return 1 / (1 + e), e / (1 + e), -l, -z - l
}

func betaSumsGeneric(dst *[BetaDerivatives]BetaPoints, z *BetaPoints, terms []BetaTerm) {
	for n, z := range z {
		x, y, logX, logY := unlogit(z)
		var s0, s1, s2, s3, s4, s5, t0, t1, t2, t3, u0, u1 float64
		for _, t := range terms {
			p := math.Exp(t.C + t.A*logX + t.B*logY)
			l, s := t.A*y-t.B*x, t.A+t.B
			pl := p * l
			pl2 := pl * l
			pl3 := pl2 * l
			pl4 := pl3 * l
			s0, s1, s2, s3, s4, s5 = s0+p, s1+pl, s2+pl2, s3+pl3, s4+pl4, s5+pl4*l
			t0, t1, t2, t3 = t0+p*s, t1+pl*s, t2+pl2*s, t3+pl3*s
			u0, u1 = u0+p*s*s, u1+pl*s*s
		}
		q, turn := x*y, y-x
		dst[0][n], dst[1][n], dst[2][n] = s0, s1, s2-q*t0
		dst[3][n] = s3 - q*(3*t1+turn*t0)
		dst[4][n] = s4 - q*(6*t2+4*turn*t1) + 3*q*q*u0 + q*(2*q-turn*turn)*t0
		dst[5][n] = s5 - 10*q*(t3+turn*t2) + 15*q*q*u1 + q*(10*q-5*turn*turn)*t1 + 10*q*q*turn*u0 + q*turn*(8*q-turn*turn)*t0
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

// BetaMoments sets mean[i] and variance[i] to those of Beta(a[i], b[i]), in every implementation with each operation rounded:
//
//	s = a + b,   mean = a/s,   variance = (mean · (b/s))/(s + 1).
func BetaMoments(mean, variance, a, b []float64) {
	sameLen(len(mean), len(variance), len(a))
	sameLen(len(a), len(b), len(b))
	active.betaMoments(mean, variance, a, b)
}

func betaMomentsGeneric(mean, variance, a, b []float64) {
	for i, x := range a {
		s := x + b[i]
		mean[i] = x / s
		variance[i] = mean[i] * (b[i] / s) / (s + 1)
	}
}

// DigammaLog sets dst[i] to ψ(a[i]+1) − ln c[i], for a and c from 1e-200 to 1e200, with an error of some units in the last place of
// the largest of 1, the result, and ln(a/c) if that is large. From ten on, it is Stirling's series at a; below, at a + 10,
//
//	ψ(a+1) = ψ(a+11) − Σ_{i=1…10} 1/(a+i).
func DigammaLog(dst, a, c []float64) {
	sameLen(len(dst), len(a), len(c))
	active.digammaLog(dst, a, c)
}

func digammaLogGeneric(dst, a, c []float64) {
	for i, z := range a {
		sum := 0.0
		if z < 10 {
			// p = (a+1)…(a+10) and its derivative: the sum is their ratio.
			p, slope := z+1, 1.0
			for t := 2.0; t <= 10; t++ {
				slope = slope*(z+t) + p
				p *= z + t
			}
			sum, z = slope/p, z+10
		}
		r := 1 / z
		u := r * r
		dst[i] = math.Log(z/c[i]) - sum + 0.5*r - u*(1./12-u*(1./120-u*(1./252-u*(1./240-u*(1./132-u*(691./32760-u*(1./12)))))))
	}
}

// ExpLinear sets dst[i] to exp(offset + slope x[i] + y[i]), for exponents up to 700, with a relative error of some 1e-12
// more than that of the exponent. An exponential below e⁻³⁰⁰ may count as that.
func ExpLinear(dst, x, y []float64, slope, offset float64) {
	sameLen(len(dst), len(x), len(y))
	active.expLinear(dst, x, y, slope, offset)
}

// Exp64 replaces numbers from −700 to 700 by their exponentials, with a relative error of 4e-16.
func Exp64(x []float64) { active.exp64(x) }

func exp64Generic(x []float64) {
	for i, v := range x {
		x[i] = math.Exp(v)
	}
}

func expLinearGeneric(dst, x, y []float64, slope, offset float64) {
	for i, v := range x {
		dst[i] = math.Exp(offset + slope*v + y[i])
	}
}

// BetaTailTerm has one component of each of as many mixtures as there are lanes: w Beta(A, B), with C = ln(w/B(A, B)) and W = w.
// One without weight has A = B = 1 and C = −700.
type BetaTailTerm struct{ A, B, C, W BetaPoints }

// BetaTailLimit is the largest number of terms of a continued fraction.
const BetaTailLimit = 64

// BetaTails looks at the mass that a mixture of Beta distributions has below a point, for several mixtures at once, one in each
// lane, as root finding does that wants the mass q there: with z the logit of the point, at most 700 in size, and
//
//	mass(z) = Σ w I_x(A, B),  x = 1/(1+e⁻ᶻ),     h(z) = ln(mass(z)/q),
//
// it sets dst[0] to h, and so that the root lies near z + d(1 − e + 2e² − g), dst[1] to d = −h/h′, dst[2] to e = d h″/(2h′) and
// dst[3] to g = d² h‴/(6h′). Parameters lie between 1/32 and 128. The mass has a relative error of some 1e-14; where a
// continued fraction takes more than BetaTailLimit terms, dst[1] is NaN. Lanes do not depend on one another; only the first ones are
// asked for, and the others are set to anything.
func BetaTails(dst *[4]BetaPoints, z, q *BetaPoints, terms []BetaTailTerm, lanes int) {
	active.betaTails(dst, z, q, terms, lanes)
}

func betaTailsGeneric(dst *[4]BetaPoints, z, q *BetaPoints, terms []BetaTailTerm, lanes int) {
	for i, z := range z[:lanes] {
		x, y, logX, logY := unlogit(z)
		var mass, d1, d2, d3 float64
		for k := range terms {
			t := &terms[k]
			a, b := t.A[i], t.B[i]
			f := math.Exp(max(t.C[i]+a*logX+b*logY, -700))
			lambda := a*y - b*x
			d1 += f
			d2 += f * lambda
			d3 += f * (lambda*lambda - (a+b)*x*y)
			if lambda >= 0 {
				mass += f * betaFraction(a, b, x, lambda)
			} else {
				mass += t.W[i] - f*betaFraction(b, a, y, -lambda)
			}
		}
		h1, r2 := d1/mass, d2/mass
		h2, h3 := r2-h1*h1, d3/mass-h1*(3*r2-2*h1*h1)
		h := math.Log(max(mass/q[i], 0x1p-1000))
		d := -h / h1
		dst[0][i], dst[1][i], dst[2][i], dst[3][i] = h, d, d*h2/(2*h1), d*d*h3/(6*h1)
	}
}

// betaFraction is I_x(a, b) divided by xᵃyᵇ/B(a, b) for x at or below the mean, l = ay − bx: the continued fraction
//
//	1/(β₀ + α₁/(β₁ + α₂/(β₂ + …)))
//	αₘ = (a+m−1)(a+b+m−1) m (b−m) x² / (a+2m−1)²
//	βₘ = m + m(b−m)x/(a+2m−1) + (a+m)(l + 1 + m(2−x))/(a+2m+1)
//
// (DiDonato and Morris 1992, eq. 9), by the forward recurrence of its convergents n/d.
func betaFraction(a, b, x, l float64) float64 {
	r := 1 / (a + 1)
	n0, d0, n1, d1 := 0.0, 1.0, 1.0, a*(l+1)*r
	for m := 1.0; m <= BetaTailLimit; m++ {
		t := m * (b - m) * x * r
		alpha := (a + m - 1) * (a + b + m - 1) * x * r * t
		r = 1 / (a + 2*m + 1)
		beta := m + t + (a+m)*(l+1+m*(2-x))*r
		n2, d2 := beta*n1+alpha*n0, beta*d1+alpha*d0
		if math.Abs(n2*d1-n1*d2) <= 0x1p-53*math.Abs(n2*d1) {
			return n2 / d2
		}
		n0, d0, n1, d1 = n1, d1, n2, d2
	}
	return math.NaN()
}

// BetaLogs are logarithms of weights and parameters of Beta distributions, and of the Beta functions: slices of one length.
type BetaLogs struct{ W, A, B, Beta []float64 }

// LogBetas fills dst for as many distributions, a multiple of BetaLanes, with weights from 1e-300 to 1 and parameters between 1/32 and 128. Errors are below
// 1e-14, or as much of the result where that is more. A Beta function has the same bits with its arguments exchanged.
func LogBetas(dst *BetaLogs, w, a, b []float64) {
	sameLen(len(w), len(a), len(b))
	sameLen(len(w), len(dst.W), len(dst.A))
	sameLen(len(w), len(dst.B), len(dst.Beta))
	if len(w)%BetaLanes != 0 {
		panic("kernel: LogBetas: not a multiple of BetaLanes")
	}
	if len(w) == 0 {
		return
	}
	active.logBetas(dst, w, a, b)
}

func logBetasGeneric(dst *BetaLogs, w, a, b []float64) {
	for i := range w {
		dst.W[i], dst.A[i], dst.B[i] = math.Log(w[i]), math.Log(a[i]), math.Log(b[i])
		dst.Beta[i] = logBeta(a[i], b[i])
	}
}

// logBeta returns ln B(a, b) by Stirling's formula at a and b or, if they are less than ten, at ten more. What the formula has of
// large logarithms is taken from their differences: with a ≤ b, s = a + b and Δ the remainders,
//
//	ln B = ½ ln 2π + Δ(a) + Δ(b) − Δ(s) + (a−½) ln(a/b) − (s−½) ln(1+a/b) − ½ ln b.
func logBeta(a, b float64) float64 {
	a, b = min(a, b), max(a, b) // so that their order does not matter
	p, sum := 1.0, a+b
	for _, x := range []*float64{&a, &b} {
		if *x < 10 {
			p *= rising(*x) / rising(sum)
			*x += 10
			sum += 10
		}
	}
	a, b = min(a, b), max(a, b)
	s, r := a+b, a/b
	low := a - (s - b) // what s was rounded by
	return stirling(a) + stirling(b) - stirling(s) + halfLog2Pi - low - math.Log(p) -
		0.5*math.Log(b) - (s-0.5)*math.Log1p(r) + (a-0.5)*math.Log(r)
}

const halfLog2Pi = 0.91893853320467274178

// rising returns x(x+1)…(x+9).
func rising(x float64) float64 {
	p := x
	for i := 1.0; i < 10; i++ {
		p *= x + i
	}
	return p
}

// stirling returns the remainder of Stirling's formula for x ≥ 10.
func stirling(x float64) float64 {
	r := 1 / x
	u := r * r
	return r * (1./12 + u*(-1./360+u*(1./1260+u*(-1./1680+u*(1./1188+u*(-691./360360+u*(1./156+u*(-3617./122400))))))))
}
