package mixture

import (
	"fmt"
	"math"

	"credence/internal/special"
)

// Rescaler narrows one distribution about its mean to several variances. What the results have in common is computed once.
type Rescaler struct {
	m    *Dirichlet
	mean []float64 // [d]
	// [K]: the sum of a component's parameters, the g of its mean as in [Dirichlet.Rescale], and its weight times that.
	total, g, variance []float64
	// The trace of the covariance is within + between: that within components, and that of their means.
	within, between float64

	// Memory for further results.
	results int
	dists   []Dirichlet
	alpha   [][]float64
	values  []float64
}

// NewRescaler returns a Rescaler of m, for about the given number of results.
func NewRescaler(m *Dirichlet, results int) *Rescaler {
	k, d := m.K(), m.Classes()
	values := make([]float64, 3*k+d)
	r := &Rescaler{m: m, results: results, total: values[:k], g: values[k : 2*k], variance: values[2*k : 3*k]}
	r.mean = m.Mean(values[3*k : 3*k])
	for k, a := range m.alpha {
		w, total := m.weights[k], special.Sum(a)
		r.total[k], r.g[k] = total, simplexVariance(a, total)
		r.variance[k] = w * r.g[k]
		r.within += r.variance[k] / (total + 1)
		inverse := 1 / total
		for i, ai := range a {
			e := ai*inverse - r.mean[i]
			r.between += w * (e * e)
		}
	}
	return r
}

// Narrow returns the distribution with the given ratio, above 0 and at most 1, of its variance, Σ_i Var p_i: by larger parameters
// as far as [Dirichlet.Concentrate] goes; of the ratio that is left, by its power moves, from 0 to 1, with component means that
// move towards the mean as in [Dirichlet.Rescale].
func (r *Rescaler) Narrow(ratio, moves float64) (*Dirichlet, error) {
	if err := checkNarrowing(ratio); err != nil {
		return nil, err
	}
	if ratio == 1 {
		return r.m, nil
	}
	t := r.concentration(ratio)
	now := r.between
	for k, v := range r.variance {
		now += v / (t*r.total[k] + 1)
	}
	rest := 1.0
	if moves > 0 {
		rest = math.Pow(ratio*(r.within+r.between)/now, moves)
	}
	if !(rest < 1-1e-9) {
		return r.concentrated(t), nil
	}
	return r.narrow(t, rest), nil
}

// checkNarrowing returns an error if a ratio of variances is not above 0 and at most 1.
func checkNarrowing(ratio float64) error {
	if !(ratio > 0 && ratio <= 1) {
		return fmt.Errorf("expected a ratio of variances above 0 and at most 1, found %v", ratio)
	}
	return nil
}

// concentration returns the factor of parameters of [Dirichlet.Concentrate].
func (r *Rescaler) concentration(ratio float64) float64 {
	t := float64(maxConcentration)
	want := r.within - (1-ratio)*(r.within+r.between) // of what is within components
	if r.within > 0 && want > 0 {
		if near := newtonWithin(r.variance, r.total, want); near < t { // false if it is not a number
			t = max(near, 1)
		}
	}
	return t
}

// concentrated returns the distribution with all parameters multiplied by t.
func (r *Rescaler) concentrated(t float64) *Dirichlet {
	s := r.copy()
	for k, a := range r.m.alpha {
		row := s.alpha[k]
		for i, ai := range a {
			row[i] = min(t*ai, maxParameter)
		}
	}
	return s
}

// narrow is [Dirichlet.Rescale] of the distribution with all parameters multiplied by t, for a ratio below 1.
func (r *Rescaler) narrow(t, ratio float64) *Dirichlet {
	s := r.copy()
	root := math.Sqrt(ratio)
	for k, a := range r.m.alpha {
		row := s.alpha[k]
		total := t * r.total[k]
		share, sum := root/r.total[k], 0.0
		for i, ai := range a {
			row[i] = (1-root)*r.mean[i] + share*ai
			sum += row[i]
		}
		// α₀′ = α₀ q + (q − 1), q = g(m′)/(ratio g(m)).
		q := math.Inf(1)
		if g := r.g[k]; g > 0 {
			q = simplexVariance(row, sum) / (ratio * g)
		}
		whole := min(max(total*q+(q-1), total), maxParameter)
		for i := range row {
			row[i] = min(max(row[i]*whole, t*a[i]), maxParameter)
		}
	}
	return s
}

// copy returns a distribution with the weights of the original, and parameters that are not set yet.
func (r *Rescaler) copy() *Dirichlet {
	n, d := r.m.K(), r.m.Classes()
	if len(r.dists) == 0 {
		r.dists, r.alpha, r.values = make([]Dirichlet, r.results), make([][]float64, r.results*n), make([]float64, r.results*n*d)
	}
	s := &r.dists[0]
	*s = Dirichlet{weights: r.m.weights, alpha: r.alpha[:n:n]}
	for k := range s.alpha {
		s.alpha[k] = r.values[k*d : (k+1)*d : (k+1)*d]
	}
	r.dists, r.alpha, r.values = r.dists[1:], r.alpha[n:], r.values[n*d:]
	return s
}
