package oracle

import (
	"fmt"
	"math"
	"math/big"
	"sync"
)

// bernoulli holds the exact Bernoulli numbers B₂, B₄, …, as many as have been
// needed.
var bernoulli struct {
	mu sync.Mutex
	b  []*big.Rat
}

// bernoulliNumbers returns at least n of B₂, B₄, …, to be read only.
//
// They come from the tangent numbers T_k, which satisfy a recurrence in
// positive integers (Brent and Harvey, "Fast computation of Bernoulli, Tangent
// and Secant numbers", 2011, algorithm TangentNumbers):
// B_2k = (−1)^(k−1) 2k T_k / (4^k (4^k − 1)).
func bernoulliNumbers(n int) []*big.Rat {
	bernoulli.mu.Lock()
	defer bernoulli.mu.Unlock()
	if len(bernoulli.b) >= n {
		return bernoulli.b
	}
	n += n / 2
	t := make([]*big.Int, n+1)
	t[1] = big.NewInt(1)
	for k := 2; k <= n; k++ {
		t[k] = new(big.Int).Mul(big.NewInt(int64(k-1)), t[k-1])
	}
	for k := 2; k <= n; k++ {
		for j := k; j <= n; j++ {
			left := new(big.Int).Mul(big.NewInt(int64(j-k)), t[j-1])
			t[j].Mul(t[j], big.NewInt(int64(j-k+2)))
			t[j].Add(t[j], left)
		}
	}
	b := make([]*big.Rat, n)
	for k := 1; k <= n; k++ {
		num := t[k].Mul(t[k], big.NewInt(int64(2*k)))
		if k%2 == 0 {
			num.Neg(num)
		}
		four := new(big.Int).Lsh(big.NewInt(1), uint(2*k))
		den := new(big.Int).Sub(four, big.NewInt(1))
		b[k-1] = new(big.Rat).SetFrac(num, den.Mul(den, four))
	}
	bernoulli.b = b
	return b
}

// LogGamma returns ln Γ(x) for x > 0, with relative accuracy also next to its
// zeros 1 and 2.
func (p Precision) LogGamma(x *big.Float) *big.Float {
	if x.Sign() <= 0 || x.IsInf() {
		panic(fmt.Sprintf("oracle: LogGamma(%.20x)", x))
	}
	if x.Cmp(one) == 0 || x.Cmp(big.NewFloat(2)) == 0 {
		return p.zero()
	}
	return p.relative(func(w Precision) (*big.Float, int) { return w.logGamma(x) })
}

// relative evaluates f at a working precision at which its value has p bits.
// f returns a value and the exponent of the largest intermediate result, whose
// rounding error is that of the value. What cancels all of 4p bits is taken to
// be 0, as it cannot be distinguished from it.
func (p Precision) relative(f func(w Precision) (*big.Float, int)) *big.Float {
	for w := p + guard; ; {
		v, magnitude := f(w)
		lost := Precision(min(max(0, magnitude-exponent(v)), 8*int(p)))
		switch {
		case w >= p+guard/2+lost:
			return p.round(v)
		case w > 4*p && lost > 4*p:
			return p.zero()
		}
		w = p + guard + min(lost, w) // beyond w it is but rounding error
	}
}

// logGamma returns ln Γ(x), and the exponent of its largest summand.
//
// With z = x + n, n such that z is large (DLMF 5.11.1 and 5.5.1),
//
//	ln Γ(x) = (z − ½) ln z − z + ½ ln 2π + Σ_k B_2k/(2k(2k−1) z^(2k−1)) − ln Π_{j<n}(x + j),
//
// where the error of the sum is less than the first term left out.
func (p Precision) logGamma(x *big.Float) (value *big.Float, magnitude int) {
	// The smallest term is about e^(−2πz), below 2^−p if z > 0.11 p; beyond
	// twice that the series is short enough for the shift to cost as much.
	z, product, t := p.round(x), p.int(1), p.zero()
	for least := p.int(int64(p/4) + 8); z.Cmp(least) < 0; {
		t.Mul(product, z)
		product, t = t, product
		z.Add(z, one)
	}
	half := big.NewFloat(0.5)
	value = p.mul(p.sub(z, half), p.Log(z))
	magnitude = exponent(value)
	value.Sub(value, z)
	twoPi := p.Pi()
	twoPi.SetMantExp(twoPi, 1)
	value.Add(value, p.mul(half, p.Log(twoPi)))
	power := p.quo(one, z)
	invSquare := p.mul(power, power)
	for k := 1; ; k++ {
		b := bernoulliNumbers(k)[k-1]
		c := p.zero().SetRat(b)
		t.Quo(c, p.int(int64(2*k)*int64(2*k-1)))
		c.Mul(t, power)
		if exponent(c) < -int(p) {
			break
		}
		value.Add(value, c)
		t.Mul(power, invSquare)
		power, t = t, power
	}
	shift := p.Log(product)
	return value.Sub(value, shift), max(magnitude, exponent(shift))
}

// LogBeta returns ln B(a, b) = ln Γ(a) + ln Γ(b) − ln Γ(a + b) for a, b > 0.
func (p Precision) LogBeta(a, b float64) *big.Float {
	if !(a > 0 && b > 0) || math.IsInf(a+b, 0) {
		panic(fmt.Sprintf("oracle: LogBeta(%v, %v)", a, b))
	}
	return p.relative(func(w Precision) (*big.Float, int) {
		return w.logBeta(exactly(a), exactly(b))
	})
}

// logBeta returns ln B(a₁, …, a_d) = Σ ln Γ(a_i) − ln Γ(Σ a_i), and the exponent of
// its largest summand.
func (p Precision) logBeta(a ...*big.Float) (value *big.Float, magnitude int) {
	total := new(big.Float)
	value = p.zero()
	for _, ai := range a {
		v, m := p.logGamma(ai)
		value.Add(value, v)
		magnitude = max(magnitude, m)
		total = exactSum(total, ai)
	}
	v, m := p.logGamma(total)
	return value.Sub(value, v), max(magnitude, m)
}

// exactly returns x without rounding.
func exactly(x float64) *big.Float { return big.NewFloat(x) }

// exactSum returns x + y without rounding, unless they are so far apart that
// it makes no difference to anything.
func exactSum(x, y *big.Float) *big.Float {
	low := min(exponent(x)-int(x.MinPrec()), exponent(y)-int(y.MinPrec()))
	high := max(exponent(x), exponent(y)) + 1
	return Precision(min(high-low, 1<<12)).add(x, y)
}
