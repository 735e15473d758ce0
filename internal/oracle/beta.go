package oracle

import (
	"fmt"
	"math"
	"math/big"
)

// IncBeta returns the regularised incomplete Beta functions I_x(a, b) and
// 1 − I_x(a, b): the probabilities that a Beta(a, b) variable is below x, and
// above x. a and b must be positive; the time it takes is reasonable between
// 1e-6 and 1e8. For x close to 1, give it the bits that 1 − x needs.
func (p Precision) IncBeta(a, b float64, x *big.Float) (lower, upper *big.Float) {
	return p.IncBetaXY(a, b, x, p.complement(x))
}

// IncBetaXY is IncBeta at x = 1 − y, given both, so that neither needs more than
// p bits. What is used is the smaller of the two.
func (p Precision) IncBetaXY(a, b float64, x, y *big.Float) (lower, upper *big.Float) {
	if !(a > 0 && b > 0) || math.IsInf(a, 0) || math.IsInf(b, 0) || x.Sign() < 0 || y.Sign() < 0 {
		panic(fmt.Sprintf("oracle: IncBeta(%v, %v, %.20x)", a, b, x))
	}
	if x.Sign() == 0 {
		return p.zero(), p.int(1)
	}
	if y.Sign() == 0 {
		return p.int(1), p.zero()
	}
	lower, upper, _ = p.tails(betaAt{newBeta(exactly(a), exactly(b)), x, y})
	return lower, upper
}

// beta is a Beta distribution. The parameters are big so that sums of parameters
// of a Dirichlet distribution need not be rounded.
type beta struct {
	a, b *big.Float
	logB *constant // ln B(a, b), with an absolute error small beside a + b
}

func newBeta(a, b *big.Float) beta {
	return beta{a, b, &constant{compute: func(p Precision) *big.Float {
		v, _ := p.logBeta(a, b)
		return v
	}}}
}

// betaAt is a Beta distribution at x = 1 − y, 0 < x < 1.
type betaAt struct {
	beta
	x, y *big.Float
}

// split returns x and y = 1 − x to p bits, from the smaller one of them.
func (p Precision) split(x, y *big.Float) (px, py *big.Float) {
	if x.Cmp(y) <= 0 {
		return p.round(x), p.sub(one, x)
	}
	return p.sub(one, y), p.round(y)
}

// logs returns ln x and ln y for y = 1 − x, from the smaller one of them.
func (p Precision) logs(x, y *big.Float) (logX, logY *big.Float) {
	if x.Cmp(y) <= 0 {
		return p.Log(x), p.Log1p(new(big.Float).Neg(x))
	}
	return p.Log1p(new(big.Float).Neg(y)), p.Log(y)
}

// prefactor returns x^a y^b / B(a, b).
func (d betaAt) prefactor(p Precision) *big.Float {
	// The logarithm is what remains of summands no larger than this (by
	// Stirling's formula, in the case of the Beta function).
	a, b := float(d.a), float(d.b)
	size := a*float64(1-exponent(d.x)) + b*float64(1-exponent(d.y)) + (a+b+float64(p))*math.Log(a+b+float64(p))
	w := p + guard + bitsOf(size)
	logX, logY := w.logs(d.x, d.y)
	logKernel := w.add(w.mul(d.a, logX), w.mul(d.b, logY))
	return p.Exp(w.sub(logKernel, d.logB.at(w)))
}

// leftOfMean reports whether x ≤ a/(a+b).
func (d betaAt) leftOfMean() bool {
	x, y := Default.split(d.x, d.y)
	return Default.mul(d.a, y).Cmp(Default.mul(d.b, x)) >= 0
}

func (d betaAt) bound() *big.Float {
	if d.leftOfMean() {
		return d.a
	}
	return d.b
}

// candidates returns the series (DLMF 8.17.8), which hold for all x,
//
//	I_x(a, b) = x^a y^b / (a B(a, b)) Σ_n (a+b)_n/(a+1)_n xⁿ
//	1 − I_x(a, b) = x^a y^b / (b B(a, b)) Σ_n (a+b)_n/(b+1)_n yⁿ
//
// and the continued fraction for the tail on whose side of the mean x is.
func (d betaAt) candidates(p Precision) []candidate {
	left := d.leftOfMean()
	x, y := p.split(d.x, d.y)
	ab := exactSum(d.a, d.b)
	list := []candidate{
		{
			kernel:  series{num: p.mul(ab, x), step: x, den: exactSum(d.a, one)},
			divisor: d.a,
			small:   left,
		}, {
			kernel:  series{num: p.mul(ab, y), step: y, den: exactSum(d.b, one)},
			divisor: d.b,
			upper:   true,
			small:   !left,
		},
	}
	if left {
		return append(list, candidate{kernel: newBetaFraction(p, d.a, d.b, x, y), divisor: one, small: true})
	}
	return append(list, candidate{kernel: newBetaFraction(p, d.b, d.a, y, x), divisor: one, upper: true, small: true})
}

// betaFraction is the continued fraction of DiDonato and Morris ("Algorithm
// 708", ACM TOMS 18, 1992, eq. 9) for I_x(a, b), x ≤ a/(a+b): with
// λ = a − (a+b)x it is α₁/(β₁ + α₂/(β₂ + …)) where α₁ = 1 and
//
//	α_{n+1} = (a+n−1)(a+b+n−1) n(b−n) x² / (a+2n−1)²
//	β_{n+1} = n + n(b−n)x/(a+2n−1) + (a+n)(λ+1+n(1+y))/(a+2n+1).
//
// The one evaluated is equivalent to it, with the denominators cleared by
// factors s₁ = a+1, s_{n+1} = (a+2n−1)(a+2n+1).
type betaFraction struct {
	p                Precision
	a, b, x, lambda1 *big.Float // λ + 1
	x2, y1           *big.Float // x², 1 + y
	ab               *big.Float // a + b
	s, t             *big.Float

	fa, fb, fx, fy, fl float64 // a, b, x, y, λ+1
}

func newBetaFraction(p Precision, a, b, x, y *big.Float) fraction {
	ab := exactSum(a, b)
	f := &betaFraction{
		p: p, a: a, b: b, x: x,
		lambda1: p.add(p.sub(p.mul(ab, y), b), one), // a − (a+b)x = (a+b)y − b
		x2:      p.mul(x, x),
		y1:      p.add(one, y),
		ab:      ab,
		s:       p.zero(),
		t:       p.zero(),
		fa:      float(a), fb: float(b), fx: float(x), fy: float(y),
	}
	if x.Cmp(y) <= 0 {
		f.lambda1 = p.add(p.sub(a, p.mul(ab, x)), one)
	}
	f.fl = float(f.lambda1)
	return fraction{f, 6}
}

func (f *betaFraction) approximate(i float64) (alpha, beta float64) {
	n := i - 1
	c := f.fa + 2*n
	beta = n + (f.fa+n)*(f.fl+n*(1+f.fy))/(c+1)
	if n == 0 {
		return 1, beta
	}
	beta += n * (f.fb - n) * f.fx / (c - 1)
	u := f.fx / (c - 1)
	return (f.fa + n - 1) * (f.fa + f.fb + n - 1) * n * (f.fb - n) * u * u, beta
}

func (f *betaFraction) exact(i int64, alpha, beta *big.Float) {
	if i == 1 {
		alpha.Add(f.a, one)
		beta.Mul(f.a, f.lambda1)
		return
	}
	p, n := f.p, f.p.int(i-1)
	an := p.add(f.a, n)                        // a + n
	c := p.add(an, n)                          // a + 2n
	cUp, cDown := p.add(c, one), p.sub(c, one) // a + 2n ± 1
	nbn := p.mul(n, p.sub(f.b, n))             // n(b − n)
	ab1 := p.add(f.ab, p.int(i-2))             // a + b + n − 1
	a1 := p.sub(an, one)                       // a + n − 1
	alpha.Mul(p.mul(p.mul(nbn, a1), p.mul(ab1, cUp)), f.x2)
	if i > 2 {
		f.s.Set(alpha)
		alpha.Mul(f.s, p.sub(cDown, p.int(2)))
	}
	// (a+2n+1)·(n(a+2n−1) + n(b−n)x) + (a+2n−1)(a+n)(λ+1+n(1+y))
	f.s.Mul(nbn, f.x)
	f.t.Mul(n, cDown)
	sum(f.t, f.t, f.s)
	beta.Mul(cUp, f.t)
	f.s.Mul(n, f.y1)
	sum(f.s, f.s, f.lambda1)
	f.t.Mul(p.mul(cDown, an), f.s)
	sum(beta, beta, f.t)
}
