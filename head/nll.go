package head

import (
	"math"
	"slices"

	"credence/internal/special"
)

// NLL returns the negative log-likelihood of one item's votes under a mixture
// of Dirichlet distributions, in float64: the reference for the fast paths of
// [Mixture], and what code outside training uses. outputs holds K logits, then
// K·d values of log α; counts has length d; grad, if not nil, receives the
// derivative with respect to outputs. No votes give zero.
func NLL(grad, outputs, counts []float64) float64 {
	d := len(counts)
	k := len(outputs) / (d + 1)
	if k < 1 || k*(d+1) != len(outputs) || grad != nil && len(grad) != len(outputs) {
		panic("head: NLL: lengths of outputs, counts and grad do not fit")
	}
	return newWork(k, d).nll(grad, outputs, counts, k, maxLogAlpha)
}

// work is the scratch of one item in float64.
type work struct {
	logp      []float64 // [K] log w_k p_k, up to a constant
	alpha     []float64 // [d]
	dlogp     []float64 // [K, d] ∂ log p_k/∂ log α
	out, grad []float64 // [K·(d+1)]
	counts    []float64 // [d]
}

func newWork(k, d int) *work {
	return &work{
		logp: make([]float64, k), alpha: make([]float64, d), dlogp: make([]float64, k*d),
		out: make([]float64, k*(d+1)), grad: make([]float64, k*(d+1)), counts: make([]float64, d),
	}
}

func (w *work) nll(grad, out, s []float64, k int, limit float64) float64 {
	d := len(s)
	m := special.Sum(s)
	if m == 0 {
		clear(grad)
		return 0
	}
	logits, logAlpha := out[:k], out[k:]
	for c := range k {
		for i := range w.alpha {
			w.alpha[i] = math.Exp(min(max(logAlpha[c*d+i], -limit), limit))
		}
		var q []float64
		if grad != nil {
			q = w.dlogp[c*d:][:d]
		}
		w.logp[c] = logits[c] + component(q, w.alpha, s, m)
	}
	topW, sumW := sumExp(logits)
	topP, sumP := sumExp(w.logp)
	nll := topW - topP + math.Log(sumW/sumP)
	if grad == nil {
		return nll
	}
	for c := range k {
		r := math.Exp(w.logp[c]-topP) / sumP // responsibility
		grad[c] = math.Exp(logits[c]-topW)/sumW - r
		for i := range d {
			x, g := logAlpha[c*d+i], -r*w.dlogp[c*d+i]
			if x > limit && g < 0 || x < -limit && g > 0 {
				g = 0
			}
			grad[k+c*d+i] = g
		}
	}
	return nll
}

// component returns log B(α+S)/B(α) and fills q with its derivative with
// respect to log α,
//
//	α_i · (h(α_i, S_i) − h(α₀, m)),    h(a, s) = ψ(a+s) − ψ(a).
//
// The difference is split so that a class that dominates α₀ does not cancel:
//
//	h(α_i, S_i) − h(α₀, m) = [h(α_i, S_i) − h(α₀, S_i)] − h(α₀ + S_i, m − S_i)
func component(q, alpha, s []float64, m float64) float64 {
	a0, logp := 0.0, 0.0
	for i, a := range alpha {
		a0 += a
		logp += special.LogRising(a, s[i])
	}
	logp -= special.LogRising(a0, m)
	h0 := 0.0
	if q != nil {
		h0 = special.DigammaDiff(a0, m)
	}
	for i := range q {
		if s[i] == 0 {
			q[i] = -alpha[i] * h0
			continue
		}
		rest := a0 - alpha[i]
		if alpha[i] > 0.5*a0 { // cancels; at most one class does
			rest = special.SumExcept(alpha, i)
		}
		// Rounding in m may leave m − S_i below zero.
		q[i] = alpha[i] * (bracket(alpha[i], rest, s[i]) - special.DigammaDiff(a0+s[i], max(m-s[i], 0)))
	}
	return logp
}

// bracket returns h(a, s) − h(a+b, s) ≥ 0. For few whole votes it is the sum
// of b/((a+t)(a+b+t)); beyond, of the two ways to write it,
//
//	h(a, s) − h(a+b, s) = h(a, b) − h(a+s, b),
//
// the one whose terms are smaller loses less.
func bracket(a, b, s float64) float64 {
	switch {
	case s == 0 || b == 0:
		return 0
	case s <= special.ShortVotes && s == math.Floor(s):
		sum := 0.0
		for t := s - 1; t >= 0; t-- {
			sum += b / ((a + t) * (a + b + t))
		}
		return sum
	case s <= b:
		return special.DigammaDiff(a, s) - special.DigammaDiff(a+b, s)
	default:
		return special.DigammaDiff(a, b) - special.DigammaDiff(a+s, b)
	}
}

// sumExp returns the largest x_i and Σ exp(x_i − largest).
func sumExp(x []float64) (top, sum float64) {
	top = slices.Max(x)
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top, sum
}
