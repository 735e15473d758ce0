package mixture

import (
	"math"

	"credence/internal/special"
)

// PairError returns the squared error of the mean as estimated from the pairs among
// an item's votes,
//
//	D = Σ_i (S_i(S_i−1)/(m(m−1)) − 2μ_i S_i/m + μ_i²),
//
// the mean of (e_u − μ)·(e_v − μ) over pairs of votes u, v, with e_u the vector
// that is 1 at the class of u. If the votes are independent given p, its
// expectation is that of |p − μ|² for any distribution of p: an error of the mean counts
// as much as spread. The mixture predicts Σ_i Var p_i for it. It requires m ≥ 2
// votes; with fewer it is NaN.
func (m *Dirichlet) PairError(votes []float64) (float64, error) {
	if err := m.checkVotes(votes); err != nil {
		return 0, err
	}
	n := special.Sum(votes)
	if n < 2 {
		return math.NaN(), nil
	}
	d := 0.0
	for i, mu := range m.Mean(nil) {
		s := votes[i]
		d += s*(s-1)/(n*(n-1)) - 2*mu*s/n + mu*mu
	}
	return d, nil
}

// PairVariance returns the variance of [Dirichlet.PairError] over n votes of an
// item with the distribution m of p, exactly; NaN for n < 2. It takes some 50 K·d operations
// for d > 16 classes and K·d² + d³ for fewer, independent of n.
//
// PairError is a U-statistic with the kernel h(u, v) = (e_u − μ)·(e_v − μ). Given p
// its expectation is θ = |p − μ|², and with ζ₁ = Σ_v p_v (Σ_u p_u h(u, v))² and
// ζ₂ = Σ_uv p_u p_v h(u, v)² (Hoeffding 1948),
//
//	Var D = Var θ + (4(n−2) E[ζ₁ − θ²] + 2 E[ζ₂ − θ²])/(n(n−1)).
//
// The expectations are moments of Dirichlet distributions up to the fourth, in forms without
// cancellation: central moments by sums over the cycles of permutations, and ζ₁ by
// the posterior distribution after a vote for v.
func (m *Dirichlet) PairVariance(n float64) float64 {
	if !(n >= 2) || math.IsInf(n, 1) {
		return math.NaN()
	}
	mean := m.Mean(nil)
	h := newPairKernel(mean, len(mean) <= fewClasses)
	var theta, theta2, zeta1, zeta2 float64
	for k, w := range m.weights {
		c := newPairMoments(m.row(k), h)
		theta += w * c.theta
		theta2 += w * c.theta2
		zeta1 += w * c.zeta1
		zeta2 += w * c.zeta2
	}
	v := max(0, theta2-theta*theta)
	return v + (4*(n-2)*max(0, zeta1-theta2)+2*max(0, zeta2-theta2))/(n*(n-1))
}

// pairKernel is h(u, v) = (e_u − μ)·(e_v − μ) for a mean μ. With few classes it is a matrix; with many
// it is computed from two numbers per class,
//
//	h(v, v) = (1 − μ_v)² + Σ_{i≠v} μ_i²   and   h(u, v) = apart_v − μ_u,   apart_v = Σ_{i≠v} μ_i² − μ_v (1 − μ_v).
type pairKernel struct {
	mean        []float64
	matrix      []float64 // [d × d], or nil
	same, apart []float64 // [d], without a matrix
}

// newPairKernel computes the kernel of a mean, as a matrix or not.
func newPairKernel(mean []float64, matrix bool) *pairKernel {
	if matrix {
		return &pairKernel{mean: mean, matrix: kernelMatrix(mean)}
	}
	d := len(mean)
	h := &pairKernel{mean: mean, same: make([]float64, d), apart: make([]float64, d)}
	squares := make([]float64, d)
	for i, mu := range mean {
		squares[i] = mu * mu
	}
	total, square := special.Sum(mean), special.Sum(squares)
	for v, mu := range mean {
		rest, others := sumOthers(mean, v, total), sumOthers(squares, v, square)
		h.same[v] = rest*rest + others
		h.apart[v] = others - mu*rest
	}
	return h
}

// at returns h(u, v).
func (h *pairKernel) at(u, v int) float64 {
	switch {
	case h.matrix != nil:
		return h.matrix[v*len(h.mean)+u]
	case u == v:
		return h.same[v]
	}
	return h.apart[v] - h.mean[u]
}

// kernelMatrix returns h(u, v), [d × d].
func kernelMatrix(mean []float64) []float64 {
	d := len(mean)
	h, rest := make([]float64, d*d), make([]float64, d)
	for i := range mean {
		rest[i] = special.SumExcept(mean, i) // with the digits that 1 − μ loses
	}
	for u := range d {
		for v := range u + 1 {
			s := 0.0
			for i, mu := range mean {
				x, y := -mu, -mu // the coordinates of e_u − μ and e_v − μ
				if i == u {
					x = rest[i]
				}
				if i == v {
					y = rest[i]
				}
				s += x * y
			}
			h[u*d+v], h[v*d+u] = s, s
		}
	}
	return h
}

// pairMoments are the expectations of θ, θ², ζ₁ and ζ₂ under one Dirichlet.
type pairMoments struct{ theta, theta2, zeta1, zeta2 float64 }

// newPairMoments computes them for Dirichlet(a). With A = Σa, m = a/A and
// δ = m − μ, a class v drawn from m, n_v = |e_v − m|² and y = p − m, the central
// moments of a Dirichlet are
//
//	E|y|²       = E n_v/(A+1)
//	E (δ·y)²    = E (δ_v − δ·m)²/(A+1)
//	E |y|² δ·y  = 2 E n_v (δ_v − δ·m)/((A+1)(A+2))
//	E |y|⁴      = (6 E n_v² + A((E n_v)² + 2 Σ_v m_v² n_v))/((A+1)(A+2)(A+3)),
//
// the expectations on the right over v: E Π_l c_l·y is the sum over permutations of
// products over their cycles of A E Π c_l·(e_v − m), divided by A(A+1)…, and cycles
// of length one vanish.
func newPairMoments(a []float64, h *pairKernel) pairMoments {
	d, mean := len(a), h.mean
	total := special.Sum(a)
	mu, delta := make([]float64, d), make([]float64, d)
	shift, delta2, meanDelta, square := 0.0, 0.0, 0.0, 0.0 // δ·m, |δ|², δ·μ, |m|²
	for i, ai := range a {
		mu[i] = ai / total
		delta[i] = mu[i] - mean[i]
		shift += mu[i] * delta[i]
		delta2 += delta[i] * delta[i]
		meanDelta += mean[i] * delta[i]
		square += mu[i] * mu[i]
	}
	// direct reports whether sums over u ≠ v are taken term by term. Of many classes this is done for
	// those that are probable, at most six: the whole less their part would lose digits.
	direct := func(v int) bool { return h.matrix != nil || mu[v] > 0.25 || mean[v] > 0.25 }
	var y2, dy2, y2dy, n2, frobenius float64
	for v := range d {
		c := sumOthers(a, v, total) / total
		norm := c * c
		if direct(v) {
			for i, x := range mu {
				if i != v {
					norm += x * x
				}
			}
		} else {
			norm += square - mu[v]*mu[v]
		}
		s := delta[v] - shift
		y2 += mu[v] * norm
		dy2 += mu[v] * s * s
		y2dy += mu[v] * norm * s
		n2 += mu[v] * norm * norm
		frobenius += mu[v] * mu[v] * norm
	}
	fourth := (6*n2/(total+2) + total/(total+2)*(y2*y2+2*frobenius)) / (total + 1) / (total + 3)
	var r pairMoments
	r.theta = y2/(total+1) + delta2
	r.theta2 = fourth + 8*y2dy/(total+1)/(total+2) + 4*dy2/(total+1) + 2*delta2*y2/(total+1) + delta2*delta2
	rest := newAfterVote(h, mu, total)
	for v := range d {
		// E p_v f(p) = m_v E f(p) under the distribution after a vote for v, whose mean is
		// (A m + e_v)/(A+1). There Σ_u p_u h(u, v) has this mean and variance.
		at := total/(total+1)*(delta[v]-meanDelta) + h.at(v, v)/(total+1)
		spread, second := rest.around(v, at, direct(v)), rest.around(v, 0, direct(v))
		r.zeta1 += mu[v] * (at*at + spread/(total+2))
		r.zeta2 += mu[v] * second
	}
	return r
}

// afterVote computes second moments of the kernel under the posterior of Dirichlet(A m) after a vote.
type afterVote struct {
	*pairKernel
	mu             []float64 // m
	total          float64   // A
	first, between float64   // mean and variance of μ_u, with u drawn from m
}

func newAfterVote(h *pairKernel, mu []float64, total float64) *afterVote {
	l := &afterVote{pairKernel: h, mu: mu, total: total}
	for u, p := range mu {
		l.first += p * h.mean[u]
	}
	for u, p := range mu {
		e := h.mean[u] - l.first
		l.between += p * e * e
	}
	return l
}

// around returns E (h(u, v) − x)² over classes u drawn from the mean after a vote for v, (A m + e_v)/(A+1). If it is
// not to be summed directly, the sum over u ≠ v is that over all of m_u (apart_v − x − μ_u)², less the
// part of v.
func (l *afterVote) around(v int, x float64, direct bool) float64 {
	share, s := l.total/(l.total+1), 0.0
	if direct {
		for u, m := range l.mu {
			p := share * m
			if u == v {
				p += 1 / (l.total + 1)
			}
			e := l.at(u, v) - x
			s += p * e * e
		}
		return s
	}
	b := l.apart[v] - x
	off, own, e := b-l.first, b-l.pairKernel.mean[v], l.same[v]-x
	return share*max(0, l.between+off*off-l.mu[v]*own*own) + (share*l.mu[v]+1/(l.total+1))*e*e
}
