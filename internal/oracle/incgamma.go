package oracle

import (
	"fmt"
	"math"
	"math/big"
)

// IncGamma returns the regularised incomplete Gamma functions P(a, x) and
// Q(a, x) = 1 − P(a, x): the probabilities that a Gamma(a) variable of scale 1
// is below x, and above x. a must be positive; the time it takes is reasonable
// between 1e-6 and 1e8.
func (p Precision) IncGamma(a float64, x *big.Float) (lower, upper *big.Float) {
	if !(a > 0) || math.IsInf(a, 0) || x.Sign() < 0 {
		panic(fmt.Sprintf("oracle: IncGamma(%v, %.20x)", a, x))
	}
	if x.Sign() == 0 {
		return p.zero(), p.int(1)
	}
	if x.IsInf() || exponent(x) > 64 && a < 0x1p32 { // Q < exp(−2^62) underflows
		return p.int(1), p.zero()
	}
	lower, upper, _ = p.tails(gammaAt{exactly(a), x})
	return lower, upper
}

// gammaAt is a Gamma(a) distribution at x.
type gammaAt struct {
	a, x *big.Float
}

// prefactor returns x^a e^−x / Γ(a).
func (d gammaAt) prefactor(p Precision) *big.Float {
	// The logarithm is what remains of summands no larger than this.
	a, x := float(d.a), float(d.x)
	size := a*math.Abs(float64(exponent(d.x))) + x + (a+float64(p))*math.Log(a+float64(p))
	w := p + guard + bitsOf(size)
	logKernel := w.sub(w.mul(d.a, w.Log(d.x)), d.x)
	logGamma, _ := w.logGamma(d.a)
	return p.Exp(w.sub(logKernel, logGamma))
}

func (d gammaAt) leftOfMean() bool { return d.x.Cmp(d.a) <= 0 }

// bound uses that the lower tail is at least the first term of its series, and
// that Γ(a, x) ≥ x^a e^−x/(x + 1) (DLMF 8.10.1 and 8.10.5).
func (d gammaAt) bound() *big.Float {
	if d.leftOfMean() {
		return d.a
	}
	return exactSum(d.x, one)
}

// candidates returns the series (DLMF 8.7.1), which holds for all x,
//
//	P(a, x) = x^a e^−x / (a Γ(a)) Σ_n xⁿ/(a+1)_n
//
// and the continued fraction for Q(a, x) if x > a.
func (d gammaAt) candidates(p Precision) []candidate {
	left := d.leftOfMean()
	list := []candidate{{
		kernel:  series{num: p.round(d.x), step: p.zero(), den: exactSum(d.a, one)},
		divisor: d.a,
		small:   left,
	}}
	if !left {
		list = append(list, candidate{kernel: newGammaFraction(p, d.a, d.x), divisor: one, upper: true, small: true})
	}
	return list
}

// gammaFraction is Legendre's continued fraction (DLMF 8.9.2, contracted) for
// Γ(a, x) e^x x^−a, x > a: α₁/(β₁ + α₂/(β₂ + …)) where α₁ = 1 and
//
//	α_{n+1} = n(a − n)
//	β_{n+1} = x − a + 2n + 1.
type gammaFraction struct {
	p       Precision
	a, gap1 *big.Float // gap1 = x − a + 1
	fa, fg  float64    // the same in float64
}

func newGammaFraction(p Precision, a, x *big.Float) fraction {
	gap1 := p.add(p.sub(x, a), one)
	return fraction{&gammaFraction{p, a, gap1, float(a), float(gap1)}, 2}
}

func (f *gammaFraction) approximate(i float64) (alpha, beta float64) {
	n := i - 1
	if n == 0 {
		return 1, f.fg
	}
	return n * (f.fa - n), f.fg + 2*n
}

func (f *gammaFraction) exact(i int64, alpha, beta *big.Float) {
	n := f.p.int(i - 1)
	if i == 1 {
		alpha.Set(one)
	} else {
		alpha.Mul(n, f.p.sub(f.a, n))
	}
	beta.Add(f.gap1, n.Add(n, n))
}
