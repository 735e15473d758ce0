package mixture

import (
	"fmt"
	"slices"

	"credence/internal/special"
)

// maxConcentration is the largest factor by which [Dirichlet.Concentrate] multiplies parameters.
const maxConcentration = 4

// Concentrate returns the distribution with all parameters multiplied by one t ≥ 1, such that the trace of the
// covariance, Σ_i Var p_i, is ratio times as large, or as close to that as t ≤ 4 comes. Weights and component
// means are unchanged, so a distribution that leans on 0 or 1 keeps doing so, where [Dirichlet.Rescale] with a
// ratio below 1 would pull its components towards the mean. The ratio is above 0 and at most 1.
//
// With w_k the weights, m_k the mean of a component, α_k0 the sum of its parameters and g(m) = 1 − Σm_i², t solves
//
//	Σ_k w_k (g(m_k)/(t α_k0 + 1) + |m_k − μ|²) = ratio Σ_i Var p_i.
func (m *Dirichlet) Concentrate(ratio float64) (*Dirichlet, error) {
	if !(ratio > 0 && ratio <= 1) {
		return nil, fmt.Errorf("expected a ratio of variances above 0 and at most 1, found %v", ratio)
	}
	if ratio == 1 {
		return m, nil
	}
	variance, total := make([]float64, m.K()), make([]float64, m.K())
	within := 0.0
	for k, a := range m.alpha {
		total[k] = special.Sum(a)
		variance[k] = m.weights[k] * simplexVariance(a, total[k])
		within += variance[k] / (total[k] + 1)
	}
	want := within - (1-ratio)*special.Sum(m.Variance(nil)) // of what is within components
	t := float64(maxConcentration)
	if at, _ := withinAt(t, variance, total); within > 0 && want > at {
		t = solveConcentration(want, variance, total)
	}
	d := m.Classes()
	values := make([]float64, m.K()*d)
	s := &Dirichlet{weights: slices.Clone(m.weights), alpha: make([][]float64, 0, m.K())}
	for k, a := range m.alpha {
		row := values[k*d : (k+1)*d : (k+1)*d]
		for i, ai := range a {
			row[i] = min(t*ai, maxParameter)
		}
		s.alpha = append(s.alpha, row)
	}
	return s, nil
}

// solveConcentration returns the t between 1 and maxConcentration at which [withinAt] is want. It is convex and
// decreases, so that Newton's method climbs from t = 1 to the solution without passing it.
func solveConcentration(want float64, variance, total []float64) float64 {
	t := 1.0
	for range 60 {
		v, slope := withinAt(t, variance, total)
		next := min(t-(v-want)/slope, maxConcentration)
		if !(next > t*(1+1e-15)) {
			break
		}
		t = next
	}
	return t
}

// withinAt returns Σ_k variance[k]/(t total[k] + 1), and its derivative by t.
func withinAt(t float64, variance, total []float64) (v, slope float64) {
	for k, s := range total {
		r := 1 / (t*s + 1)
		term := variance[k] * r
		v += term
		slope -= term * s * r
	}
	return v, slope
}

// Mix returns the mixture of distributions with the given weights, which are positive and sum to one. It has the
// components of all of them.
func Mix(weights []float64, dists []*Dirichlet) (*Dirichlet, error) {
	var all []float64
	var alpha [][]float64
	for k, m := range dists {
		for c, w := range m.weights {
			all, alpha = append(all, weights[k]*w), append(alpha, m.alpha[c])
		}
	}
	return NewDirichlet(all, alpha)
}
