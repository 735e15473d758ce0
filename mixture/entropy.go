package mixture

import (
	"math"
	"sync"

	"credence/internal/kernel"
	"credence/internal/special"
)

// Entropy splits the uncertainty about an item's next label, in nats.
type Entropy struct {
	// Predictive is the entropy of the label itself, −Σ μ_i ln μ_i, with μ the mean probabilities.
	Predictive float64
	// Expected is E[−Σ p_i ln p_i]: what would remain if p were known, the disagreement among raters.
	Expected float64
	// Information is their difference, the mutual information between the label and p.
	Information float64
}

// Entropy returns the entropies of the next label. With μ_k the mean of component k and μ their mixture,
//
//	Expected    = Σ_k w_k Σ_i μ_ki (ψ(α_k0+1) − ψ(α_ki+1))
//	Information = Σ_k w_k Σ_i μ_ki (ln(μ_ki/μ_i) + δ(α_ki) − δ(α_k0)),
//
// δ(a) = ψ(a+1) − ln a. The second is computed from ψ(α_ki+1) − ln(α_k0 μ_i), so that it keeps its digits when all
// parameters are large and it is the small difference of two large entropies.
func (m *Dirichlet) Entropy() Entropy { return m.EntropyAt(nil) }

// EntropyAt is Entropy, given the class means; nil if they are not known.
func (m *Dirichlet) EntropyAt(mean []float64) Entropy {
	d := m.Classes()
	n := m.K() * (d + 1) // each component's classes, and their total
	work := entropyWork.Get().(*[]float64)
	defer entropyWork.Put(work)
	*work = room(*work, 3*n+2*d)
	take := (*work)[:3*n+2*d]
	a, c, psi, logs := take[:n], take[n:2*n], take[2*n:3*n], take[3*n+d:]
	if mean == nil {
		mean = m.Mean(take[3*n : 3*n : 3*n+d])
	}
	var e Entropy
	for i, mu := range mean {
		if logs[i] = 0; mu > 0 {
			logs[i] = math.Log(mu)
			e.Predictive -= mu * logs[i]
		}
	}
	for k, row := 0, 0; row < n; k, row = k+1, row+d+1 {
		alpha := m.row(k)
		total := special.Sum(alpha)
		to := c[row : row+d+1]
		for i, mu := range mean {
			to[i] = total * max(mu, 1e-200)
		}
		copy(a[row:], alpha)
		a[row+d], to[d] = total, total
	}
	kernel.DigammaLog(psi, a, c)
	for k, row := 0, 0; row < n; k, row = k+1, row+d+1 {
		share, dt := m.weights[k]/a[row+d], psi[row+d]
		params := a[row : row+d]
		for i, x := range psi[row : row+d] {
			mu, x := share*params[i], x-dt
			e.Information += mu * x
			e.Expected -= mu * (x + logs[i])
		}
	}
	e.Information = max(0, e.Information)
	return e
}

// entropyWork recycles the memory of entropies.
var entropyWork = sync.Pool{New: func() any { return new([]float64) }}
