package mixture

import (
	"math"

	"credence/internal/special"
)

// Entropy splits the uncertainty about an item's next label, in nats.
type Entropy struct {
	// Predictive is the entropy of the label itself, −Σ μ_i ln μ_i, with μ the
	// mean probabilities.
	Predictive float64
	// Expected is E[−Σ p_i ln p_i]: what would be left if p were known, the
	// disagreement among raters.
	Expected float64
	// Information is their difference, the mutual information between the
	// label and p: what knowing p would tell.
	Information float64
}

// Entropy returns the entropies of the next label. With μ_k the mean of
// component k and μ their mixture,
//
//	Expected    = Σ_k w_k Σ_i μ_ki (ψ(α_k0+1) − ψ(α_ki+1))
//	Information = Σ_k w_k Σ_i μ_ki (ln(μ_ki/μ_i) + δ(α_ki) − δ(α_k0)),
//
// δ(a) = ψ(a+1) − ln a. The second is computed as written, so that it keeps its
// digits when all parameters are large and it is the small difference of two
// large entropies.
func (m *Dirichlet) Entropy() Entropy {
	mean := m.Mean(nil)
	var e Entropy
	for _, mu := range mean {
		if mu > 0 {
			e.Predictive -= mu * math.Log(mu)
		}
	}
	for k, w := range m.weights {
		a := m.alpha[k]
		total := special.Sum(a)
		dt := special.DigammaExcess(total)
		for i, ai := range a {
			mu := ai / total
			if mu == 0 {
				continue
			}
			da := special.DigammaExcess(ai)
			// ln(μ_i/μ_ki): the ratio is near one when one component dominates.
			e.Information += w * mu * (math.Log(mu/mean[i]) + (da - dt))
			e.Expected += w * mu * (dt - da - math.Log(mu))
		}
	}
	e.Information = max(0, e.Information)
	return e
}
