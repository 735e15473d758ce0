package oracle

import (
	"fmt"
	"math"
	"math/big"
	"sync"
)

// constant caches a number, and computes it again only when more bits are
// requested than before.
type constant struct {
	mu      sync.Mutex
	value   *big.Float
	compute func(p Precision) *big.Float // to p bits or more
}

// at returns the constant rounded to p bits.
func (c *constant) at(p Precision) *big.Float {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.value == nil || c.value.Prec() < uint(p) {
		c.value = c.compute(p)
	}
	return p.round(c.value)
}

var (
	// ln 2 = 18 artanh(1/26) − 2 artanh(1/4801) + 8 artanh(1/8749).
	ln2 = constant{compute: func(p Precision) *big.Float {
		return inverseSum(p, 1, [][2]int64{{18, 26}, {-2, 4801}, {8, 8749}})
	}}
	// π = 16 arctan(1/5) − 4 arctan(1/239), Machin's formula.
	pi = constant{compute: func(p Precision) *big.Float {
		return inverseSum(p, -1, [][2]int64{{16, 5}, {-4, 239}})
	}}
)

// inverseSum returns Σ_j c_j A(1/m_j) for the pairs (c_j, m_j), where
// A(z) = Σ_n sⁿ z^(2n+1)/(2n+1): artanh for s = 1, arctan for s = −1, to more
// than p bits, as more are likely to be needed soon. It is computed in integers
// scaled by 2^w.
func inverseSum(p Precision, s int64, terms [][2]int64) *big.Float {
	p += p/2 + guard
	w := uint(p + guard)
	total := new(big.Int)
	for _, t := range terms {
		c, m := big.NewInt(t[0]), big.NewInt(t[1])
		power := new(big.Int).Lsh(c, w)
		power.Quo(power, m)
		sm2 := new(big.Int).Mul(m, m)
		sm2.Mul(sm2, big.NewInt(s))
		for n := int64(1); power.Sign() != 0; n += 2 {
			total.Add(total, new(big.Int).Quo(power, big.NewInt(n)))
			power.Quo(power, sm2)
		}
	}
	x := p.zero().SetInt(total)
	return x.SetMantExp(x, -int(w))
}

// Pi returns π.
func (p Precision) Pi() *big.Float { return pi.at(p) }

// Exp returns eˣ; 0 or +Inf where it is beyond the exponent range of big.Float.
func (p Precision) Exp(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return p.int(1)
	}
	if exponent(x) > 32 {
		return p.beyondExp(x)
	}
	// eˣ = 2^k (e^(r/2^s))^(2^s) with r = x − k ln 2, |r| ≤ ½ ln 2. Each
	// squaring doubles the relative error; the Taylor series needs about w/s
	// terms; so s ≈ √w is near the best.
	s := int(math.Sqrt(float64(p))) + 2
	w := p + guard + Precision(s)
	wx := w + Precision(max(0, exponent(x)))
	k := int64(math.Round(float(x) / math.Ln2))
	r := wx.sub(x, wx.mul(wx.int(k), ln2.at(wx)))
	r.SetMantExp(r, -s)
	power := w.add(one, expm1Taylor(w, w.round(r)))
	square := w.zero()
	for range s {
		square.Mul(power, power)
		power, square = square, power
	}
	if k < big.MinExp+1 || k > big.MaxExp-2 {
		return p.beyondExp(x)
	}
	return p.round(power.SetMantExp(power, int(k)))
}

// beyondExp returns the limit of eˣ for large |x|.
func (p Precision) beyondExp(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return p.zero()
	}
	return p.zero().SetInf(false)
}

// expm1Taylor returns Σ_{n≥1} rⁿ/n! to w bits, for |r| well below 1.
func expm1Taylor(w Precision, r *big.Float) *big.Float {
	total, term, t := w.round(r), w.round(r), w.zero()
	for n := int64(2); exponent(term) > exponent(total)-int(w); n++ {
		t.Mul(term, r)
		term.Quo(t, w.int(n))
		sum(total, total, term)
	}
	return total
}

// Expm1 returns eˣ − 1.
func (p Precision) Expm1(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return p.zero()
	}
	lost := max(0, -exponent(x))
	if lost > 16 {
		return p.round(expm1Taylor(p+guard, x))
	}
	w := p + guard + Precision(lost)
	return p.sub(w.Exp(x), one)
}

// Log returns ln x for x > 0.
func (p Precision) Log(x *big.Float) *big.Float {
	if x.Sign() <= 0 {
		panic(fmt.Sprintf("oracle: Log(%.20x)", x))
	}
	// x = m·2^e with m in [¾, 3/2): then |ln m| < 0.41 cannot cancel more than
	// a bit or two of e ln 2.
	w := p + guard
	m := new(big.Float)
	e := x.MantExp(m)
	if float(m) < 0.75 {
		m.SetMantExp(m, 1)
		e--
	}
	d := Precision(m.MinPrec()).sub(m, one) // exact
	if e == 0 {
		return p.log1pCore(d)
	}
	return p.add(w.log1pCore(d), w.mul(w.int(int64(e)), ln2.at(w)))
}

// Log1p returns ln(1 + d) for d > −1.
func (p Precision) Log1p(d *big.Float) *big.Float {
	if f := float(d); f < -0.25 || f > 0.5 {
		// Exact where d is near −1; and where d is large rounding is harmless.
		return p.Log(max(p+guard, Precision(d.MinPrec())+2).add(one, d))
	}
	return p.log1pCore(d)
}

// log1pCore returns ln(1 + d) for −¼ ≤ d ≤ ½.
func (p Precision) log1pCore(d *big.Float) *big.Float {
	if d.Sign() == 0 {
		return p.zero()
	}
	lost := -exponent(d) // 1 + d has lost as many bits of d
	if lost >= 16 {
		// ln(1 + d) = 2 artanh z, z = d/(2 + d).
		w := p + guard
		z := w.quo(d, w.add(w.int(2), d))
		z2 := w.mul(z, z)
		total, power, t := w.round(z), z, w.zero()
		for n := int64(3); exponent(power) > exponent(total)-int(w); n += 2 {
			t.Mul(power, z2)
			power.Set(t)
			sum(total, total, t.Quo(power, w.int(n)))
		}
		return p.round(total.SetMantExp(total, 1))
	}
	// Halley's iteration for e^y = 1 + d triples the number of correct bits.
	const start = 48 // of math.Log1p, less than it has
	extra := Precision(max(0, lost)) + guard
	y := p.New(math.Log1p(float(d)))
	for good := Precision(start); ; good *= 3 {
		w := min(3*good, p) + extra
		m := w.add(one, d)
		e := w.Exp(y)
		step := w.quo(w.sub(m, e), w.add(m, e))
		y = w.add(y, step.SetMantExp(step, 1))
		if 3*good > p+8 {
			return p.round(y)
		}
	}
}

// Pow returns x^a = exp(a ln x) for x > 0.
func (p Precision) Pow(x, a *big.Float) *big.Float {
	w := p + guard
	if m := exponent(a) + 33; m > 0 { // |ln x| < 2^32
		w += Precision(m)
	}
	return p.Exp(w.mul(a, w.Log(x)))
}
