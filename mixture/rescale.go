package mixture

import (
	"fmt"
	"math"

	"credence/internal/special"
)

// widest is the largest fraction of 1 − Σμ_i² that the trace of the covariance can
// have after [Dirichlet.Rescale]. The fraction is 1 for a distribution with all of its
// mass on the corners of the simplex.
const widest = 0.95

// Rescale returns the distribution scaled about its mean: the class means are unchanged, and the
// trace of the covariance, Σ_i Var p_i, is ratio times as large. Parameters stay
// between 1e-100 and 1e15, which limits how narrow a distribution can become, and the trace
// grows to at most 0.95 (1 − Σμ_i²).
//
// With w_k the weights, m_k the mean of a component, α_k0 the sum of its
// parameters and g(m) = 1 − Σm_i², the trace is
//
//	Σ_k w_k (g(m_k)/(α_k0 + 1) + |m_k − μ|²).
//
// For ratio ≤ 1 both terms shrink by the same factor, which larger parameters alone could
// not achieve, because they do not change the distance between components:
//
//	m_k′ = μ + √ratio (m_k − μ),   α_k0′ + 1 = (α_k0 + 1) g(m_k′)/(ratio g(m_k)).
//
// No parameter becomes smaller, because g is concave. For ratio > 1 the means of
// components move outwards by the same formula, but at most until a coordinate is
// half of what it was, and all parameters are multiplied by one t, found by
// bisection, which gives the rest: a distribution with two separate modes keeps them, where
// widening each component alone would fill the gap between.
func (m *Dirichlet) Rescale(ratio float64) (*Dirichlet, error) {
	switch {
	case !(ratio > 0) || math.IsInf(ratio, 1):
		return nil, fmt.Errorf("ratio of variances: expected a positive finite number, found %v", ratio)
	case ratio == 1:
		return m, nil
	case ratio < 1:
		s := m.like()
		NewRescaler(m).narrow(s.alpha, 1, ratio)
		return s, nil
	}
	return m.widen(ratio), nil
}

// simplexVariance returns 1 − Σm_i² of m = a/total, as 2 Σ m_i Σ_{j>i} m_j, which
// keeps its digits next to a corner.
func simplexVariance(a []float64, total float64) float64 {
	g, behind := 0.0, 0.0
	r := 1 / total
	for i := len(a) - 1; i >= 0; i-- {
		m := a[i] * r
		g += m * behind
		behind += m
	}
	return 2 * g
}

// widen implements Rescale for ratio > 1.
func (m *Dirichlet) widen(ratio float64) *Dirichlet {
	mean := m.Mean(nil)
	now := special.Sum(m.Variance(nil))
	want := min(ratio*now, max(now, widest*simplexVariance(mean, 1)))
	if !(want > now) {
		return m
	}
	step := min(math.Sqrt(want/now), m.room(mean))
	s := m.like()
	// Per component, the trace within it is variance[k]/(t·total[k] + 1).
	variance, total := make([]float64, m.K()), make([]float64, m.K())
	largest := 0.0
	for k := range total {
		a, row := m.row(k), s.row(k)
		total[k] = special.Sum(a)
		largest = max(largest, total[k])
		for i, ai := range a {
			mu := ai / total[k]
			row[i] = mu + (step-1)*(mu-mean[i])
			e := step * (mu - mean[i])
			want -= m.weights[k] * e * e
		}
		variance[k] = m.weights[k] * simplexVariance(row, special.Sum(row))
	}
	t := solveWithin(variance, total, want, largest)
	for k := range total {
		row := s.row(k)
		for i := range row {
			row[i] = min(max(row[i]*t*total[k], minParameter), maxParameter)
		}
	}
	return s
}

// room returns the largest factor by which the distances of the components' means
// from the overall mean can grow before a coordinate falls to half of its value.
func (m *Dirichlet) room(mean []float64) float64 {
	step := math.Inf(1)
	for k := range m.weights {
		a := m.row(k)
		total := special.Sum(a)
		for i, ai := range a {
			if mu := ai / total; mu < mean[i] {
				step = min(step, 1+mu/2/(mean[i]-mu))
			}
		}
	}
	return step
}

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
	r, s := NewRescaler(m), m.like()
	r.concentrated(s.alpha, r.concentration(ratio))
	return s, nil
}

// solveWithin returns the t at which f(t) = Σ_k variance[k]/(t total[k] + 1) is want, by
// bisection of its logarithm. It falls with t from Σ variance, of which want is at most the share
// [widest]. Newton's method finds the place first, so that f itself decides only on
// the last digits.
func solveWithin(variance, total []float64, want, largest float64) float64 {
	near := math.Log(newtonWithin(variance, total, want, 0))
	slack := nearWithin * (1 + math.Abs(near))
	over := func(log float64) bool {
		switch {
		case log < near-slack:
			return true
		case log > near+slack:
			return false
		}
		t, v := math.Exp(log), 0.0
		for k := range total {
			v += variance[k] / (t*total[k] + 1)
		}
		return v > want
	}
	// At the lower end even the largest component has t α₀ < 1/widest − 1.
	lo, hi := math.Log((1/widest-1)/largest)-1, 1.0
	for over(hi) && hi < 700 {
		hi *= 2
	}
	lo, hi = bisect(lo, hi, over)
	return math.Exp(lo + (hi-lo)/2)
}

// bisect narrows the range between a number where low is true and one where it is false to neighbors.
func bisect(lo, hi float64, low func(x float64) bool) (below, above float64) {
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if low(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}

// nearWithin bounds the relative error of what newtonWithin returns, generously: rounding alone moves
// log t by 1e-14 at most, for the slope of log f is at least 0.05 in size where f is below the share widest
// of f(0).
const nearWithin = 1e-13

// newtonWithin is solveWithin to a relative error of 1e-13, or not a number if that was not reached. The reciprocal
// of f rises and is concave in t, and is a line if there is one component: steps from a t below the root end there
// without passing it. The relative error after a step is about its square.
func newtonWithin(variance, total []float64, want, from float64) float64 {
	t, step := from, 0.0
	for range 60 {
		f, slope := 0.0, 0.0 // the slope is −f′
		for k, v := range variance {
			r := 1 / (t*total[k] + 1)
			f += v * r
			slope += v * r * r * total[k]
		}
		step = f * (f - want) / (want * slope)
		if t += step; !(math.Abs(step) > newtonLast*t) {
			return t
		}
	}
	return math.NaN()
}

// newtonLast is the relative size of the last step of newtonWithin.
const newtonLast = 1e-9
