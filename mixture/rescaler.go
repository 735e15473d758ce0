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
}

// NewRescaler returns a Rescaler of m.
func NewRescaler(m *Dirichlet) *Rescaler {
	r := new(Rescaler)
	r.Set(m)
	return r
}

// Set makes r a Rescaler of m, in the memory that it has.
func (r *Rescaler) Set(m *Dirichlet) {
	k := m.K()
	r.m, r.mean, r.within, r.between = m, m.Mean(r.mean[:0]), 0, 0
	r.total, r.g, r.variance = room(r.total, k)[:k], room(r.g, k)[:k], room(r.variance, k)[:k]
	for k, w := range m.weights {
		a := m.row(k)
		total := special.Sum(a)
		r.total[k], r.g[k] = total, simplexVariance(a, total)
		r.variance[k] = w * r.g[k]
		r.within += r.variance[k] / (total + 1)
		inverse := 1 / total
		for i, ai := range a {
			e := ai*inverse - r.mean[i]
			r.between += w * (e * e)
		}
	}
}

// Narrow returns the distribution with the given ratio, above 0 and at most 1, of its variance, Σ_i Var p_i: by larger parameters
// as far as [Dirichlet.Concentrate] goes; of the ratio that is left, by its power moves, from 0 to 1, with component means that
// move towards the mean as in [Dirichlet.Rescale].
func (r *Rescaler) Narrow(ratio, moves float64) (*Dirichlet, error) {
	if ratio == 1 {
		return r.m, nil
	}
	s := r.m.like()
	if err := r.narrowed(s.alpha, ratio, moves); err != nil {
		return nil, err
	}
	return s, nil
}

// Mix returns the mixture of the results of Narrow for several ratios, with the given positive weights, which sum to one.
func (r *Rescaler) Mix(weights, ratios, moves []float64) (*Dirichlet, error) {
	sum, err := checkWeights(weights)
	if err != nil {
		return nil, err
	}
	k, n := r.m.K(), len(r.m.alpha)
	all := newDirichlet(len(weights)*k, r.m.classes)
	for i, share := range weights {
		share /= sum
		for j, w := range r.m.weights {
			all.weights[i*k+j] = w * share
		}
		if err := r.narrowed(all.alpha[i*n:(i+1)*n], ratios[i], moves[i]); err != nil {
			return nil, err
		}
	}
	all.drop()
	return all, nil
}

// drop removes components without weight from a mixture that nobody else has yet.
func (m *Dirichlet) drop() {
	n := 0
	for k, w := range m.weights {
		if w > 0 {
			if n < k {
				m.weights[n] = w
				copy(m.row(n), m.row(k))
			}
			n++
		}
	}
	m.weights, m.alpha = m.weights[:n], m.alpha[:n*m.classes]
}

// narrowed sets alpha [K, d] to the parameters of Narrow.
func (r *Rescaler) narrowed(alpha []float64, ratio, moves float64) error {
	if err := checkNarrowing(ratio); err != nil {
		return err
	}
	if ratio == 1 {
		copy(alpha, r.m.alpha)
		return nil
	}
	t := r.concentration(ratio)
	rest := 1.0
	if moves > 0 {
		now := r.between
		for k, v := range r.variance {
			now += v / (t*r.total[k] + 1)
		}
		rest = math.Pow(ratio*(r.within+r.between)/now, moves)
	}
	if rest < 1-1e-9 {
		r.narrow(alpha, t, rest)
	} else {
		r.concentrated(alpha, t)
	}
	return nil
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
		if near := newtonWithin(r.variance, r.total, want, 1); near < t { // false if it is not a number
			t = max(near, 1)
		}
	}
	return t
}

// concentrated sets alpha [K, d] to all parameters multiplied by t.
func (r *Rescaler) concentrated(alpha []float64, t float64) {
	for i, a := range r.m.alpha {
		alpha[i] = min(t*a, maxParameter)
	}
}

// narrow sets alpha [K, d] to [Dirichlet.Rescale] of the distribution with all parameters multiplied by t, for a ratio below 1.
func (r *Rescaler) narrow(alpha []float64, t, ratio float64) {
	d := r.m.classes
	root := math.Sqrt(ratio)
	for k := range r.total {
		a, row := r.m.row(k), alpha[k*d:(k+1)*d]
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
}
