package oracle

import (
	"fmt"
	"math"
	"math/big"
)

// DirichletMixture is a finite mixture of Dirichlet distributions. It is safe
// for concurrent use.
type DirichletMixture struct {
	p       Precision
	weights []float64
	alpha   [][]float64
}

// NewDirichletMixture returns the mixture Σ_k w_k Dirichlet(alpha[k]), to be
// evaluated with precision p. The weights must not be negative; they are divided
// by their exact sum.
func NewDirichletMixture(p Precision, weights []float64, alpha [][]float64) *DirichletMixture {
	if len(alpha) != len(weights) {
		panic(fmt.Sprintf("oracle: %d weights, %d components", len(weights), len(alpha)))
	}
	for _, row := range alpha {
		if len(row) < 2 || len(row) != len(alpha[0]) {
			panic(fmt.Sprintf("oracle: component with %d parameters", len(row)))
		}
		for _, a := range row {
			if !(a > 0) || math.IsInf(a, 0) {
				panic(fmt.Sprintf("oracle: parameters %v", row))
			}
		}
	}
	m := &DirichletMixture{p, weights, alpha}
	m.Marginal(0) // checks the weights
	return m
}

// Marginal returns the distribution of coordinate i, the Beta mixture
// Σ_k w_k Beta(α_ki, Σ_{j≠i} α_kj), where the sum is not rounded to float64.
func (m *DirichletMixture) Marginal(i int) *Mixture {
	marginal := &Mixture{p: m.p, total: new(big.Float)}
	for k, row := range m.alpha {
		rest := new(big.Float)
		for j, a := range row {
			if j != i {
				rest = exactSum(rest, exactly(a))
			}
		}
		marginal.add(m.weights[k], exactly(row[i]), rest)
	}
	marginal.check()
	return marginal
}

// LogPDF returns the logarithm of the density, with respect to all coordinates
// but one, at x. The coordinates must be positive; they are taken as they are,
// though their sum may differ from 1.
func (m *DirichletMixture) LogPDF(x []*big.Float) *big.Float {
	if len(x) != len(m.alpha[0]) {
		panic(fmt.Sprintf("oracle: %d coordinates of %d", len(x), len(m.alpha[0])))
	}
	return m.p.relative(func(w Precision) (*big.Float, int) {
		logX := make([]*big.Float, len(x))
		for i := range x {
			logX[i] = w.Log(x[i])
		}
		var terms []logTerm
		total := new(big.Float)
		for k, row := range m.alpha {
			if m.weights[k] == 0 {
				continue
			}
			alpha := make([]*big.Float, len(row))
			for i, a := range row {
				alpha[i] = exactly(a)
			}
			weight := exactly(m.weights[k])
			terms = append(terms, w.logDirichlet(weight, alpha, logX))
			total = exactSum(total, weight)
		}
		return w.logSum(terms, total)
	})
}
