package mixture

import (
	"fmt"
	"math"
	"slices"
)

// widest is the largest share of 1 − Σμ_i² that [Dirichlet.Rescale] lets the
// trace of the covariance grow to. The whole of it is the trace of a law that
// sits on the corners of the simplex.
const widest = 0.95

// Rescale returns the law scaled about its mean: the class means stay, and the
// trace of the covariance, Σ_i Var p_i, is ratio times as large. Parameters stay
// between 1e-100 and 1e15, which limits how narrow a law can become, and the trace
// grows to at most 0.95 (1 − Σμ_i²).
//
// With w_k the weights, m_k the mean of a component, α_k0 the sum of its
// parameters and g(m) = 1 − Σm_i², the trace is
//
//	Σ_k w_k (g(m_k)/(α_k0 + 1) + |m_k − μ|²).
//
// For ratio ≤ 1 both parts shrink alike, which larger parameters alone could not
// do, because they leave the distance between components:
//
//	m_k′ = μ + √ratio (m_k − μ),   α_k0′ + 1 = (α_k0 + 1) g(m_k′)/(ratio g(m_k)).
//
// No parameter becomes smaller, because g is concave. For ratio > 1 the parameters
// are multiplied by one t < 1, found by bisection: distances between components
// could not grow without leaving the simplex.
func (m *Dirichlet) Rescale(ratio float64) (*Dirichlet, error) {
	switch {
	case !(ratio > 0) || math.IsInf(ratio, 1):
		return nil, fmt.Errorf("ratio of variances is %v: it is positive and finite", ratio)
	case ratio == 1:
		return m, nil
	case ratio < 1:
		return m.narrow(ratio), nil
	}
	return m.widen(ratio), nil
}

// narrow is Rescale for ratio < 1.
func (m *Dirichlet) narrow(ratio float64) *Dirichlet {
	d := m.Classes()
	mean := m.Mean(nil)
	root := math.Sqrt(ratio)
	values := make([]float64, m.K()*d)
	s := &Dirichlet{weights: slices.Clone(m.weights)}
	for k, a := range m.alpha {
		row := values[k*d : (k+1)*d]
		total := sum(a)
		for i, ai := range a {
			row[i] = (1-root)*mean[i] + root*(ai/total)
		}
		// α₀′ = α₀ q + (q − 1), q = g(m′)/(ratio g(m)).
		q := math.Inf(1)
		if g := simplexVariance(a, total); g > 0 {
			q = simplexVariance(row, sum(row)) / (ratio * g)
		}
		whole := min(max(total*q+(q-1), total), maxParameter)
		for i := range row {
			row[i] = min(max(row[i]*whole, a[i]), maxParameter)
		}
		s.alpha = append(s.alpha, row)
	}
	return s
}

// simplexVariance returns 1 − Σm_i² of m = a/total, as Σ m_i Σ_{j≠i} m_j, which
// keeps its digits next to a corner.
func simplexVariance(a []float64, total float64) float64 {
	g := 0.0
	for i, ai := range a {
		g += (ai / total) * (sumExcept(a, i) / total)
	}
	return g
}

// widen is Rescale for ratio > 1.
func (m *Dirichlet) widen(ratio float64) *Dirichlet {
	// Per component, the trace within it is variance[k]/(t·total[k] + 1).
	variance, total := make([]float64, m.K()), make([]float64, m.K())
	mean := m.Mean(nil)
	between, largest := 0.0, 0.0
	for k, a := range m.alpha {
		total[k] = sum(a)
		variance[k] = m.weights[k] * simplexVariance(a, total[k])
		largest = max(largest, total[k])
		for i, ai := range a {
			e := ai/total[k] - mean[i]
			between += m.weights[k] * e * e
		}
	}
	within := func(t float64) float64 {
		v := 0.0
		for k := range total {
			v += variance[k] / (t*total[k] + 1)
		}
		return v
	}
	now := within(1)
	want := min(ratio*(now+between), max(now+between, widest*simplexVariance(mean, 1))) - between
	if !(want > now) {
		return m
	}
	// The trace within components falls with t. By the limit on it some component
	// keeps t α₀ ≥ 1/widest − 1.
	lo, hi := math.Log((1/widest-1)/largest)-1, 0.0
	for range 100 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if within(math.Exp(mid)) > want {
			lo = mid
		} else {
			hi = mid
		}
	}
	t := math.Exp(lo + (hi-lo)/2)
	s := &Dirichlet{weights: slices.Clone(m.weights)}
	for _, a := range m.alpha {
		row := make([]float64, len(a))
		for i, ai := range a {
			row[i] = max(t*ai, minParameter)
		}
		s.alpha = append(s.alpha, row)
	}
	return s
}
