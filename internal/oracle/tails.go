package oracle

import (
	"math"
	"math/big"
)

// A kernel is a series or continued fraction to be evaluated, which times the
// prefactor gives one tail of a distribution.
type kernel interface {
	// cost estimates how many terms a relative accuracy of 2^−bits takes, and
	// their total cost, in units of a term of a series in the usual precision.
	// It may give up, with any cost greater than limit.
	cost(bits, limit float64) (terms, cost float64)
	// value returns the kernel with a relative error of 2^−bits from truncation,
	// computed with precision w.
	value(w, bits Precision) *big.Float
}

// A candidate is a way to compute one of the tails, as prefactor·kernel/divisor.
type candidate struct {
	kernel
	divisor *big.Float
	upper   bool // it is the upper tail that it gives
	small   bool // which is on its own side of the mean: the smaller tail, if not by much
}

// A distribution at a point, for which the tails are to be found.
type distribution interface {
	// prefactor returns the common factor of the tails to p bits.
	prefactor(p Precision) *big.Float
	// bound returns a number such that the smaller tail is at least
	// prefactor/bound, and preferably not much more.
	bound() *big.Float
	// candidates returns the ways to compute a tail, to be evaluated with
	// precision p; always the same ones in the same order.
	candidates(p Precision) []candidate
}

// tails returns P(X ≤ x), P(X > x) and the prefactor to p bits.
//
// One of the tails is computed directly, by whatever method takes the least
// work, and the other one is 1 minus that, computed with as many bits more as
// the subtraction cancels.
func (p Precision) tails(d distribution) (lower, upper, prefactor *big.Float) {
	const spare = guard / 2
	wFactor := p + 4*guard // enough, unless many bits get lost
	factor := d.prefactor(wFactor)
	best, terms, lost := choose(d.candidates(p+guard), float64(p+spare), p.quo(factor, d.bound()))
	for {
		bits := p + spare + lost
		// Rounding errors of n terms add up to at most n²/2 units.
		w := bits + guard + 2*bitsOf(terms)
		if w > wFactor {
			wFactor = w
			factor = d.prefactor(w)
		}
		c := d.candidates(w)[best]
		tail := w.quo(w.mul(factor, c.value(w, bits)), c.divisor)
		other := w.sub(one, tail)
		if other.Sign() > 0 && exponent(other) > -int(lost+spare/2) {
			tail, other = p.round(tail), p.round(other)
			if c.upper {
				tail, other = other, tail
			}
			return tail, other, p.round(factor)
		}
		if other.Sign() > 0 {
			lost = Precision(-exponent(other))
		} else {
			lost += p
		}
	}
}

// choose returns the index of the cheapest candidate for an accuracy of the given
// bits in both tails, the smaller of which is at least small; about how many
// terms it takes; and how many bits it is going to lose when its result is
// subtracted from 1.
func choose(plan []candidate, bits float64, small *big.Float) (best int, terms float64, lost Precision) {
	least := math.Inf(1)
	for i, c := range plan {
		var loses float64
		if !c.small {
			loses = math.Max(0, float64(1-exponent(small)))
		}
		// Beyond the precision in which the unit of cost is defined, operations
		// become slower with between the first and the second power.
		slower := math.Pow(1+loses/(bits+guard), 1.5)
		n, cost := c.cost(bits+loses, least/slower)
		if cost *= slower; cost < least {
			best, terms, least, lost = i, n, cost, Precision(loses)
		}
	}
	if math.IsInf(least, 1) {
		panic("oracle: no method converges")
	}
	return best, terms, lost
}

// A series is Σ_n Π_{j<n} (num + j·step)/(den + j) with all numbers positive, or
// step = 0, and step < 1 so that it converges.
type series struct {
	num, step, den *big.Float
}

// cost finds the n for which the terms have become small enough, from the
// integral of the logarithm of their ratio.
func (s series) cost(bits, limit float64) (terms, cost float64) {
	num, step, den := float(s.num), float(s.step), float(s.den)
	gap, slope := float(guardedSub(s.num, s.den)), float(guardedSub(s.step, one))
	if slope == 0 {
		return math.Inf(1), math.Inf(1) // step < 1 has been rounded to 1
	}
	logTerm := func(n float64) float64 {
		if n == 0 {
			return 0
		}
		rise := n // num/step·ln(1 + n·step/num), of which this is the limit
		if step > 0 {
			rise = num / step * math.Log1p(n*step/num)
		}
		ratio := (gap + n*slope) / (den + n)
		return rise - den*math.Log1p(n/den) + n*math.Log1p(math.Max(ratio, -1))
	}
	largest := math.Max(0, -gap/slope) // where the ratio passes 1
	target := logTerm(largest) - bits*math.Ln2
	lo, hi := largest, 2*largest+8
	for logTerm(hi) > target {
		lo, hi = hi, 2*hi
		if lo > limit {
			return lo, lo
		}
	}
	for hi-lo > 4+0.01*lo {
		if mid := lo + (hi-lo)/2; logTerm(mid) > target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, hi
}

// guardedSub returns x − y to some 60 bits beyond what cancels in float64.
func guardedSub(x, y *big.Float) *big.Float { return Precision(guard+128).sub(x, y) }

// value sums the series over a common denominator, which takes no division:
// the sum is n_k/d_k, and the last term t_k/d_k, with
// t_{k+1} = t_k (num + k step), d_{k+1} = d_k (den + k), n_{k+1} = n_k (den + k) + t_{k+1}.
func (s series) value(w, bits Precision) *big.Float {
	num, den := w.round(s.num), w.round(s.den)
	t, n, d, swap := w.int(1), w.int(1), w.int(1), w.zero()
	for k := 0; ; k++ {
		swap.Mul(t, num)
		t, swap = swap, t
		swap.Mul(n, den)
		sum(n, swap, t)
		swap.Mul(d, den)
		d, swap = swap, d
		num.Add(num, s.step)
		den.Add(den, one)
		if exponent(t)-exponent(n) > -int(bits) || num.Cmp(den) >= 0 {
			continue
		}
		// From here on the ratio r of terms is at most num/den, or at most step
		// if that is the larger, so that what is left is at most t r/(1 − r).
		r := w.quo(num, den)
		if r.Cmp(s.step) < 0 {
			r.Set(s.step)
		}
		rest := exponent(t) - exponent(n) + exponent(r) - exponent(w.sub(one, r)) + 2
		if rest <= -int(bits) {
			return w.quo(n, d)
		}
	}
}

// A coefficients generates α_n and β_n, n = 1, 2, …, of the continued fraction
// α₁/(β₁ + α₂/(β₂ + …)).
type coefficients interface {
	// exact sets alpha and beta for n, called for n = 1, 2, …, in this order.
	exact(n int64, alpha, beta *big.Float)
	// approximate returns those of an equivalent fraction.
	approximate(n float64) (alpha, beta float64)
}

// A fraction is a continued fraction whose terms cost as much as so many of a series.
type fraction struct {
	coefficients
	termCost float64
}

// cost runs the fraction in float64 and finds how fast its convergents converge.
func (f fraction) cost(bits, limit float64) (terms, cost float64) {
	_, rho := f.approximate(1) // ρ_n = B_n/B_{n−1}
	gained, change := 0.0, 1.0
	for n := 2.0; ; n++ {
		alpha, beta := f.approximate(n)
		next := beta + alpha/rho
		change *= math.Abs(alpha / (rho * next))
		rho = next
		if change < 0x1p-500 {
			gained, change = gained+500, change*0x1p500
		}
		cost := n * f.termCost
		if gained-math.Log2(change) >= bits || cost > limit {
			return n, cost
		}
		if math.IsNaN(change) {
			return n, math.Inf(1)
		}
	}
}

// value evaluates the fraction by the recurrence of numerators and denominators
// of its convergents, A_n = β_n A_{n−1} + α_n A_{n−2} and the same for B_n,
// which takes no division and in the range of big.Float no scaling. It ends when
// A_n/B_n − A_{n−1}/B_{n−1} = ± Π α_k / (B_n B_{n−1}) is small enough.
func (f fraction) value(w, bits Precision) *big.Float {
	a0, a1, b0, b1 := w.int(1), w.zero(), w.zero(), w.int(1)
	product, alpha, beta := w.int(1), w.zero(), w.zero()
	s, t := w.zero(), w.zero()
	advance := func(x0, x1 **big.Float) {
		s.Mul(beta, *x1)
		t.Mul(alpha, *x0)
		sum(*x0, s, t)
		*x0, *x1 = *x1, *x0
	}
	for n := int64(1); ; n++ {
		f.exact(n, alpha, beta)
		advance(&a0, &a1)
		advance(&b0, &b1)
		s.Mul(product, alpha)
		product, s = s, product
		if exponent(product)-exponent(b0)-exponent(a1) < -int(bits) {
			return w.quo(a1, b1)
		}
	}
}
