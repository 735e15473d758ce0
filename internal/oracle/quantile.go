package oracle

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// Quantile returns the x at which the CDF is 0 ≤ q ≤ 1, and 1 − x, each to full
// relative accuracy. For q close to 1, give it the bits that 1 − q needs, or use
// [Mixture.UpperQuantile]. Where x or 1 − x is beyond the exponent range of
// big.Float it is 0.
func (m *Mixture) Quantile(q *big.Float) (x, y *big.Float) {
	x, y, _ = m.quantile(q, m.p.complement(q))
	return x, y
}

// UpperQuantile returns the x above which the probability is 0 ≤ s ≤ 1, and
// 1 − x: the quantile of 1 − s.
func (m *Mixture) UpperQuantile(s *big.Float) (x, y *big.Float) {
	x, y, _ = m.quantile(m.p.complement(s), s)
	return x, y
}

const (
	// searchPrecision is that of the search until Newton's method converges.
	searchPrecision Precision = 64
	// exp(−maxLogit) is in the range of big.Float, by some margin.
	maxLogit = 1.4e9
	// maxEvaluations is several times what any known case takes.
	maxEvaluations = 200
)

// quantile returns x and y = 1 − x for the quantile q = 1 − s, and the number of
// evaluations of the mixture it took. Only the smaller of q and s need be accurate.
//
// It solves for t = logit x, which treats x and y alike, by Newton's method for
// the function of [Mixture.evaluate], safeguarded by bisection. As that function
// changes form where t passes a component, the search begins at the means of the
// components, to find the two nearest to the root. Then precision is raised
// along with the number of bits that are correct.
func (m *Mixture) quantile(q, s *big.Float) (x, y *big.Float, evaluations int) {
	switch {
	case q.Sign() < 0 || s.Sign() < 0:
		panic(fmt.Sprintf("oracle: Quantile(%.20x)", q))
	case q.Sign() == 0:
		return m.p.zero(), m.p.int(1), 0
	case s.Sign() == 0:
		return m.p.int(1), m.p.zero(), 0
	}
	evaluate := func(w Precision, t *big.Float) evaluation {
		if evaluations++; evaluations > maxEvaluations {
			panic(fmt.Sprintf("oracle: Quantile(%.20x) does not converge", q))
		}
		return m.evaluate(w, t, q, s)
	}
	tPrecision := m.p + 4*guard // of which up to 31 bits are before the point
	var root bracket
	var e evaluation
	means := m.logitMeans()
	for i, j := 0, len(means); i < j; {
		k := (i + j) / 2
		at := evaluate(searchPrecision, tPrecision.New(means[k]))
		root.narrow(at)
		if e.t == nil || at.distance() < e.distance() {
			e = at
		}
		if at.h.Sign() < 0 {
			i = k + 1
		} else {
			j = k
		}
	}
	last, beforeLast := math.Inf(1), math.Inf(1) // lengths of steps
	for {
		good := -exponent(e.h) // bits of the root, about
		converging := e.step != nil && good > guard/2
		// Newton's step, unless it leaves the bracket or, as when it is lost on a
		// plateau, is not less than half of the one before the last. Once it
		// converges, steps are what rounding makes of them, and may grow.
		next := root.middle(tPrecision)
		if e.step != nil {
			t := tPrecision.add(e.t, e.step)
			if root.open() || root.contains(t) && (converging || math.Abs(float(e.step)) <= beforeLast/2) {
				next = t
			}
		}
		next = clamp(next, maxLogit)
		beforeLast, last = last, math.Abs(float(tPrecision.sub(next, e.t)))

		// The error after a step of Newton's method is about the square of the
		// one before it, so that twice as many bits can be right the next time.
		w, full := searchPrecision, m.p+guard+bitsOf(1/e.slope)
		if converging {
			w = min(full, max(w, Precision(2*good)+guard))
		}
		e = evaluate(w, next)
		root.narrow(e)

		if edge := math.Abs(float(e.t)) == maxLogit; edge && e.t.Sign() == e.h.Sign()*-1 {
			// The root is beyond the edge.
			if e.t.Sign() < 0 {
				return m.p.zero(), m.p.int(1), evaluations
			}
			return m.p.int(1), m.p.zero(), evaluations
		}
		if w < full || e.step == nil {
			continue
		}
		// What the next step would be if convergence is quadratic.
		length := math.Abs(float(e.step))
		if ahead := length * math.Pow(length/last, 2); length == 0 || ahead < math.Ldexp(1, -int(m.p+4)) {
			x, y = m.p.logistic(tPrecision.add(e.t, e.step))
			return x, y, evaluations
		}
	}
}

// logitMeans returns logit a/(a+b) = ln a/b of the components, in increasing order.
func (m *Mixture) logitMeans() []float64 {
	var means []float64
	for _, c := range m.components {
		means = append(means, math.Log(float(c.a)/float(c.b)))
	}
	slices.Sort(means)
	return slices.Compact(means)
}

// logistic returns x = 1/(1 + e^−t) and y = 1/(1 + e^t).
func (p Precision) logistic(t *big.Float) (x, y *big.Float) {
	w := p + guard
	e := w.Exp(w.zero().Neg(new(big.Float).Abs(t)))
	e1 := w.add(one, e)
	small, large := p.quo(e, e1), p.quo(one, e1)
	if t.Sign() < 0 {
		return small, large
	}
	return large, small
}

// An evaluation of the function h whose zero is the logit of the quantile.
type evaluation struct {
	t     *big.Float
	h     *big.Float // may be infinite
	step  *big.Float // −h/h′, Newton's step; nil if h is infinite
	slope float64    // h′; 1 if h is infinite
}

// distance is how far h is from 0.
func (e evaluation) distance() float64 { return math.Abs(float(e.h)) }

// evaluate returns h(t) = ln U − ln V and its derivative to w bits or so.
//
// With the components divided into those mostly left of x and those mostly right
// of it, L = {k: S_k(x) < F_k(x)} and R, the equation F(x) = q is
//
//	Σ_R w_k F_k + c⁺ = Σ_L w_k S_k + c⁻, where c = Σ_L w_k − q, c⁺ = max(c, 0), c⁻ = max(−c, 0),
//
// the sides of which are U, increasing, and V, decreasing. There is no
// cancellation here but in c, which is computed exactly. So the root is as well
// determined on a plateau of F between modes, where F − q is all rounding error,
// as elsewhere; and in the tails ln U − ln V becomes ln F − ln q or ln s − ln S,
// in which Newton's method does best. The derivatives by t are those of F and S,
// ± the prefactor x^a y^b / B(a, b).
func (m *Mixture) evaluate(w Precision, t, q, s *big.Float) evaluation {
	x, y := w.logistic(t)
	u, v, du, dv := w.zero(), w.zero(), w.zero(), w.zero()
	left, right := new(big.Float), new(big.Float)
	for _, c := range m.components {
		lower, upper, density := w.tails(betaAt{c.beta, x, y})
		if upper.Cmp(lower) < 0 {
			sum(v, v, w.mul(c.weight, upper))
			sum(dv, dv, w.mul(c.weight, density))
			left = exactSum(left, c.weight)
		} else {
			sum(u, u, w.mul(c.weight, lower))
			sum(du, du, w.mul(c.weight, density))
			right = exactSum(right, c.weight)
		}
	}
	var excess *big.Float
	if q.Cmp(s) <= 0 {
		below := exactProduct(q, m.total)
		excess = exactSum(left, below.Neg(below))
	} else {
		excess = exactSum(exactProduct(s, m.total), right.Neg(right))
	}
	if excess.Sign() > 0 {
		sum(u, u, excess)
	} else {
		sum(v, v, excess.Neg(excess))
	}
	e := evaluation{t: t, slope: 1}
	switch {
	case u.Sign() > 0 && v.Sign() > 0:
		slope := w.add(du.Quo(du, u), dv.Quo(dv, v))
		e.h = w.Log(u.Quo(u, v))
		e.slope = float(slope)
		e.step = w.quo(e.h, slope)
		e.step.Neg(e.step)
	case u.Sign() > 0:
		e.h = w.zero().SetInf(false)
	case v.Sign() > 0:
		e.h = w.zero().SetInf(true)
	default:
		panic("oracle: quantile on a plateau where all tails underflow")
	}
	return e
}

// exactProduct returns x·y without rounding.
func exactProduct(x, y *big.Float) *big.Float {
	return Precision(x.MinPrec()+y.MinPrec()).mul(x, y)
}

// A bracket is an interval that contains the root; an end is nil if unknown.
type bracket struct {
	lo, hi *big.Float
}

// narrow moves the end that e shows to be possible, unless e is so close to the
// root that the sign of h may be due to rounding.
func (b *bracket) narrow(e evaluation) {
	switch {
	case !e.h.IsInf() && exponent(e.h) < -int(e.h.Prec()/2):
	case e.h.Sign() < 0:
		if b.lo == nil || b.lo.Cmp(e.t) < 0 {
			b.lo = e.t
		}
	default:
		if b.hi == nil || b.hi.Cmp(e.t) > 0 {
			b.hi = e.t
		}
	}
}

func (b *bracket) open() bool { return b.lo == nil || b.hi == nil }

func (b *bracket) contains(t *big.Float) bool { return b.lo.Cmp(t) <= 0 && t.Cmp(b.hi) <= 0 }

// middle returns the middle of the bracket; nil if it is open. An open bracket is
// never bisected, as the means at the ends of the range always have both tails.
func (b *bracket) middle(p Precision) *big.Float {
	if b.open() {
		return nil
	}
	t := p.add(b.lo, b.hi)
	return t.SetMantExp(t, -1)
}

// clamp returns t, or the end of the range ±limit that it is beyond.
func clamp(t *big.Float, limit float64) *big.Float {
	if f := float(t); math.Abs(f) > limit {
		return big.NewFloat(math.Copysign(limit, f))
	}
	return t
}
