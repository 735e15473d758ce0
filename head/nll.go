package head

import (
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/special"
)

// NLL returns the negative log-likelihood of one item's votes under a mixture
// of Dirichlet distributions, in float64: the reference for the fast paths of
// [Mixture], and for use outside training. outputs holds K logits, then
// K·d values of log α; counts has length d; grad, if not nil, receives the
// derivative with respect to outputs. No votes give zero.
func NLL(grad, outputs, counts []float64) float64 {
	d := len(counts)
	k := len(outputs) / (d + 1)
	if k < 1 || k*(d+1) != len(outputs) || grad != nil && len(grad) != len(outputs) {
		panic("head: NLL: lengths of outputs, counts and grad do not match")
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

// expShifted fills dst with exp(x_i − largest) and returns the sum.
func expShifted(dst []float64, x []float32) (sum float64) {
	top := float64(slices.Max(x))
	for i, v := range x {
		dst[i] = math.Exp(float64(v) - top)
		sum += dst[i]
	}
	return sum
}

// fewVotes is the largest number of votes for which an item's likelihood is
// multiplied out. The products stay within e^±(20·16) ≈ 1e±139, far from the ends of float64.
const fewVotes = 16

// faintest is the smallest weight that is taken from exponentials in float32; where the likelihood is below faintTotal, smaller
// ones may matter.
const (
	faintest   = 1e-34
	faintTotal = 1e-14
)

// fewWork is the scratch of one worker for items with few votes.
type fewWork struct {
	weights      []float64 // [K]
	like, rising []float64 // likelihood [K] and gradient of its log [K·d]
	two          *kernel.TwoVotes
}

// newFewWork allocates the scratch memory with two unused cache lines on either side, so that no
// two workers write to the same line (false sharing).
func newFewWork(k, d int) *fewWork {
	const apart = 16
	n := 2*k + k*d
	all := make([]float64, apart+n+apart)[apart:][:n:n]
	return &fewWork{weights: all[:k:k], like: all[k : 2*k : 2*k], rising: all[2*k:], two: kernel.NewTwoVotes(k)}
}

// nll returns exp(NLL) of an item with m whole votes, 1 ≤ m ≤ fewVotes, as a
// product of rising factorials, without any special function, and fills g with
// the gradient of the NLL times scale. With u_t = 1/(α₀+t), the likelihood of a component and the
// derivative of its logarithm are
//
//	p = ∏_i ∏_{t<S_i} (α_i+t) · ∏_{t<m} u_t
//	∂ log p/∂ log α_i = Σ_{t<S_i} α_i/(α_i+t)·(α₀−α_i)·u_t − α_i Σ_{t=S_i}^{m−1} u_t
//
// where α₀ − α_i of a large α_i is summed from the other α, so that nothing
// cancels. e holds the unnormalized weights [K] and α [K,d] of the
// item, out its raw outputs.
func (h *fewWork) nll(g, e, out, s []float32, m, scale float64) float64 {
	k, d := len(h.weights), len(s)
	if d == 2 {
		if weight, total := h.two.Likelihood(g, e, int(s[0]), int(s[1]), scale); total > faintTotal {
			return weight / total
		}
	}
	w, alpha, like := h.weights, e[k:], h.like
	h.products(alpha, s, int(m))
	faint := false
	for c, x := range e[:k] {
		w[c] = float64(x)
		if x < faintest {
			w[c], faint = 0, true
		}
	}
	weight, total := sums(w, like)
	if faint && !(total > faintTotal) {
		// A component whose weight is beyond the range of float32 may be the
		// only one that explains the votes.
		expShifted(w, out[:k])
		weight, total = sums(w, like)
	}
	if g == nil {
		return weight / total
	}
	a, b := scale/weight, scale/total
	ga, rising := g[k:], h.rising
	for c, x := range w {
		p, r := flush(x*a), flush(x*like[c]*b) // weight, responsibility
		g[c] = float32(p - r)
		row := rising[c*d:][:d]
		for i, q := range row {
			ga[c*d+i] = float32(-r * q)
		}
	}
	return weight / total
}

// sums returns Σ w and Σ w·p.
func sums(w, p []float64) (weight, total float64) {
	p = p[:len(w)]
	for c, x := range w {
		weight += x
		total += x * p[c]
	}
	return weight, total
}

// flush returns x ≥ 0, or zero where it is too small to matter. Gradients near
// the smallest float32 make a network's products subnormal, which are a hundred
// times slower.
func flush(x float64) float64 {
	if x < 1e-30 {
		return 0
	}
	return x
}

// products fills h.like with the likelihood of each component and h.rising
// with the gradient of its logarithm.
func (h *fewWork) products(alpha, s []float32, m int) {
	d := len(s)
	var u, tail [fewVotes + 1]float64
	for c := range h.like {
		al, q := alpha[c*d:][:d], h.rising[c*d:][:d]
		a0 := 0.0
		for _, x := range al {
			a0 += float64(x)
		}
		p := 1.0
		tail[m] = 0
		for t := m - 1; t >= 0; t-- {
			u[t] = 1 / (a0 + float64(t))
			tail[t] = tail[t+1] + u[t]
			p *= u[t]
		}
		for i, x := range al {
			a, si := float64(x), int(s[i])
			if si == 0 {
				q[i] = -a * tail[0]
				continue
			}
			rest := a0 - a
			if a > 0.5*a0 { // cancels; at most one class does
				rest = 0
				for j, y := range al {
					if j != i {
						rest += float64(y)
					}
				}
			}
			p *= a
			up := u[0]
			for t := 1; t < si; t++ {
				at := a + float64(t)
				p *= at
				up += a / at * u[t]
			}
			q[i] = rest*up - a*tail[si]
		}
		h.like[c] = p
	}
}
