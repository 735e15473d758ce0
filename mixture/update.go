package mixture

import (
	"fmt"
	"math"

	"credence/internal/special"
)

// Update returns the distribution of p after further votes were seen:
// votes[i] of them for class i, between 0 and 1e12. A mixture of Dirichlets is conjugate, so the
// result is one too, with parameters α_k + S and weights
//
//	w_k B(α_k + S)/B(α_k), rescaled.
//
// Votes may be fractional. A component whose weight underflows is dropped.
func (m *Dirichlet) Update(votes []float64) (*Dirichlet, error) {
	if err := m.checkVotes(votes); err != nil {
		return nil, err
	}
	logs := make([]float64, m.K())
	var total logSum
	for k := range logs {
		logs[k] = math.Log(m.weights[k]) + logVotes(m.alpha[k], votes)
		total.add(logs[k])
	}
	u := &Dirichlet{}
	for k, l := range logs {
		w := math.Exp(l - total.value())
		if w == 0 {
			continue
		}
		a := make([]float64, len(votes))
		for i := range a {
			a[i] = m.alpha[k][i] + votes[i]
		}
		u.weights = append(u.weights, w)
		u.alpha = append(u.alpha, a)
	}
	special.Normalize(u.weights)
	return u, nil
}

// maxVotes keeps updated parameters within bounds.
const maxVotes = 1e12

// checkVotes returns an error unless votes holds a count for each class.
func (m *Dirichlet) checkVotes(votes []float64) error {
	if len(votes) != m.Classes() {
		return fmt.Errorf("%d vote counts for %d classes", len(votes), m.Classes())
	}
	for i, v := range votes {
		if !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("vote count of class %d is %v: counts are finite and not negative", i, v)
		}
		if v > maxVotes {
			return fmt.Errorf("vote count of class %d is %v: counts are at most %g", i, v, maxVotes)
		}
	}
	return nil
}

// logVotes returns the log-probability of votes in a given order under one
// Dirichlet: the ratio of rising factorials
//
//	B(a + S)/B(a) = ∏_i a_i(a_i+1)…(a_i+S_i−1) / (a₀(a₀+1)…(a₀+m−1)).
func logVotes(a, votes []float64) float64 {
	l := 0.0
	for i, s := range votes {
		l += special.LogRising(a[i], s)
	}
	return l - special.LogRising(special.Sum(a), special.Sum(votes))
}
