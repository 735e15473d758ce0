package mixture

import "math"

// PairError returns what the pairs among an item's votes say of the error of the
// mean,
//
//	D = Σ_i (S_i(S_i−1)/(m(m−1)) − 2μ_i S_i/m + μ_i²),
//
// the mean of (e_u − μ)·(e_v − μ) over pairs of votes u, v, with e_u the vector
// that is 1 at the class of u. If the votes are independent given p, its
// expectation is that of |p − μ|², whatever the law of p: a mean that is off counts
// as much as spread. Σ_i Var p_i is what the mixture expects of it. It takes
// m ≥ 2 votes; with fewer it is NaN.
func (m *Dirichlet) PairError(votes []float64) (float64, error) {
	if err := m.checkVotes(votes); err != nil {
		return 0, err
	}
	n := sum(votes)
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
// item whose p has the law m, exactly; NaN for n < 2. It costs K·d² operations,
// whatever n.
//
// PairError is a U-statistic with the kernel h(u, v) = (e_u − μ)·(e_v − μ). Given p
// its expectation is θ = |p − μ|², and with ζ₁ = Σ_v p_v (Σ_u p_u h(u, v))² and
// ζ₂ = Σ_uv p_u p_v h(u, v)² (Hoeffding 1948),
//
//	Var D = Var θ + (4(n−2) E[ζ₁ − θ²] + 2 E[ζ₂ − θ²])/(n(n−1)).
//
// The expectations are moments of Dirichlet laws up to the fourth, in forms without
// cancellation: central moments by sums over the cycles of permutations, and ζ₁ by
// the law that a vote for v leaves.
func (m *Dirichlet) PairVariance(n float64) float64 {
	if !(n >= 2) || math.IsInf(n, 1) {
		return math.NaN()
	}
	mean := m.Mean(nil)
	h := kernelMatrix(mean)
	var theta, theta2, zeta1, zeta2 float64
	for k, w := range m.weights {
		c := newPairMoments(m.alpha[k], mean, h)
		theta += w * c.theta
		theta2 += w * c.theta2
		zeta1 += w * c.zeta1
		zeta2 += w * c.zeta2
	}
	v := max(0, theta2-theta*theta)
	return v + (4*(n-2)*max(0, zeta1-theta2)+2*max(0, zeta2-theta2))/(n*(n-1))
}

// kernelMatrix returns h(u, v) = (e_u − μ)·(e_v − μ), [d × d].
func kernelMatrix(mean []float64) []float64 {
	d := len(mean)
	h := make([]float64, d*d)
	for u := range d {
		for v := range d {
			s := 0.0
			for i, mu := range mean {
				// The coordinates of e_u − μ and e_v − μ; the sum of the others
				// keeps the digits that 1 − μ loses.
				x, y := -mu, -mu
				if i == u {
					x = sumExcept(mean, i)
				}
				if i == v {
					y = sumExcept(mean, i)
				}
				s += x * y
			}
			h[u*d+v] = s
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
func newPairMoments(a, mean, h []float64) pairMoments {
	d := len(a)
	total := sum(a)
	mu, delta, norm := make([]float64, d), make([]float64, d), make([]float64, d)
	shift, delta2, meanDelta := 0.0, 0.0, 0.0 // δ·m, |δ|², δ·μ
	for i, ai := range a {
		mu[i] = ai / total
		delta[i] = mu[i] - mean[i]
		shift += mu[i] * delta[i]
		delta2 += delta[i] * delta[i]
		meanDelta += mean[i] * delta[i]
	}
	var y2, dy2, y2dy, n2, frobenius float64
	for v := range d {
		c := sumExcept(a, v) / total
		norm[v] = c * c
		for i, x := range mu {
			if i != v {
				norm[v] += x * x
			}
		}
		s := delta[v] - shift
		y2 += mu[v] * norm[v]
		dy2 += mu[v] * s * s
		y2dy += mu[v] * norm[v] * s
		n2 += mu[v] * norm[v] * norm[v]
		frobenius += mu[v] * mu[v] * norm[v]
	}
	fourth := (6*n2/(total+2) + total/(total+2)*(y2*y2+2*frobenius)) / (total + 1) / (total + 3)
	var r pairMoments
	r.theta = y2/(total+1) + delta2
	r.theta2 = fourth + 8*y2dy/(total+1)/(total+2) + 4*dy2/(total+1) + 2*delta2*y2/(total+1) + delta2*delta2
	for v := range d {
		row := h[v*d : (v+1)*d]
		// E p_v f(p) = m_v E f(p) under the law after a vote for v, whose mean is
		// (A m + e_v)/(A+1). There Σ_u p_u h(u, v) has this mean and variance.
		at := total/(total+1)*(delta[v]-meanDelta) + row[v]/(total+1)
		spread, second := 0.0, 0.0
		for u := range d {
			p := total / (total + 1) * mu[u]
			if u == v {
				p += 1 / (total + 1)
			}
			e := row[u] - at
			spread += p * e * e
			second += p * row[u] * row[u]
		}
		r.zeta1 += mu[v] * (at*at + spread/(total+2))
		r.zeta2 += mu[v] * second
	}
	return r
}
