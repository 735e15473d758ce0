package head

import (
	"math"

	"credence/internal/special"
)

// startItems bounds how many items the constant Dirichlet is fitted to.
const startItems = 20000

// ConstantDirichlet fits one Dirichlet distribution to the votes of all
// items together, by Minka's fixed point (Estimating a Dirichlet distribution,
// 2000, eq. 55):
//
//	α_i ← α_i Σ_j h(α_i, S_ji) / Σ_j h(α₀, m_j),    h(a, s) = ψ(a+s) − ψ(a)
//
// Parameters are held between 1e-3 and 1e3, within which few votes leave them
// anyway. It also returns the joint negative log-likelihood per vote.
func ConstantDirichlet(votes Counts) (alpha []float64, nll float64) {
	counts, d := votes.Values, votes.Classes
	stride := max(1, len(counts)/d/startItems)
	alpha = make([]float64, d)
	cast := 0.0
	for j := 0; j < len(counts)/d; j += stride {
		for i, s := range counts[j*d : (j+1)*d] {
			alpha[i] += float64(s)
			cast += float64(s)
		}
	}
	if cast == 0 {
		return alpha, 0
	}
	for i := range alpha {
		alpha[i] = max(2*alpha[i]/cast, 1e-3)
	}
	for range 200 {
		a0 := special.Sum(alpha)
		sums, below := make([]float64, d), 0.0
		for j := 0; j < len(counts)/d; j += stride {
			m := 0.0
			for i, s := range counts[j*d : (j+1)*d] {
				if s > 0 {
					sums[i] += special.DigammaDiff(alpha[i], float64(s))
					m += float64(s)
				}
			}
			below += special.DigammaDiff(a0, m)
		}
		moved := 0.0
		for i := range alpha {
			next := min(max(alpha[i]*sums[i]/below, 1e-3), 1e3)
			moved = max(moved, math.Abs(math.Log(next/alpha[i])))
			alpha[i] = next
		}
		if moved < 1e-4 {
			break
		}
	}
	return alpha, dirichletLoss(alpha, counts)
}

// dirichletLoss is the joint negative log-likelihood per vote of votes under
// one Dirichlet distribution.
func dirichletLoss(alpha []float64, counts []float32) float64 {
	a0 := special.Sum(alpha)
	d := len(alpha)
	nll, votes := 0.0, 0.0
	for j := range len(counts) / d {
		m := 0.0
		for i, s := range counts[j*d : (j+1)*d] {
			if s > 0 {
				nll -= special.LogRising(alpha[i], float64(s))
				m += float64(s)
			}
		}
		nll += special.LogRising(a0, m)
		votes += m
	}
	return nll / votes
}
