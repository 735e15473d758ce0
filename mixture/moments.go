package mixture

import "credence/internal/special"

// Covariance appends the d × d covariance matrix of the class probabilities to
// dst, row by row, and returns it: the law of total covariance over the
// components, within each of which, with mean μ and α₀ = Σα,
//
//	Cov(p_i, p_j) = (μ_i 1{i=j} − μ_i μ_j) / (α₀ + 1).
func (m *Dirichlet) Covariance(dst []float64) []float64 {
	d := m.Classes()
	mean := m.Mean(nil)
	n := len(dst)
	dst = append(dst, make([]float64, d*d)...)
	cov := dst[n:]
	mu := make([]float64, d)
	for k, w := range m.weights {
		a := m.alpha[k]
		total := special.Sum(a)
		for i := range mu {
			mu[i] = a[i] / total
		}
		for i := range d {
			di := mu[i] - mean[i]
			for j := range d {
				within := -mu[i] * mu[j]
				if i == j {
					within = mu[i] * (sumOthers(a, i, total) / total)
				}
				cov[i*d+j] += w * (within/(total+1) + di*(mu[j]-mean[j]))
			}
		}
	}
	return dst
}

// Dirichlet returns m as the distribution of two classes (p, 1 − p).
func (m *Beta) Dirichlet() *Dirichlet {
	d := &Dirichlet{}
	for _, c := range m.components {
		d.weights = append(d.weights, c.weight)
		d.alpha = append(d.alpha, []float64{c.A, c.B})
	}
	return d
}
