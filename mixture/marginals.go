package mixture

import (
	"credence/internal/kernel"
	"credence/internal/special"
)

// marginals are the marginal distributions of classes, with the logarithms that their tables take. What classes have in common, and
// logarithms of many numbers at a time, cost less than those of each class alone.
type marginals struct {
	k, first int // components per class, and the first class

	// Rows of numbers, their log-gamma functions and their logarithms: the weights, the sums of parameters, and of each class a and b. A
	// row is [K], with room for whole blocks.
	x, gamma, log  []float64
	logBeta        []float64    // [K] of one class
	rest           []float64    // [d]
	mean, variance []float64    // [d] of all classes
	moments        [2][]float64 // memory for them
}

// marginal is the marginal distribution of one class: Σ w_k Beta(a_k, b_k), all slices [K].
type marginal struct {
	w, sum                   []float64
	terms                    kernel.BetaTerms
	gammaA, gammaB, gammaSum []float64
	mean, variance           float64
}

// set computes the marginal distributions of classes from … to−1, and the moments of all if they are nil.
func (s *marginals) set(m *Dirichlet, mean, variance []float64, from, to int) {
	k := m.K()
	pad := kernel.WholeBlocks(k)
	n := 2 * pad * (1 + to - from)
	s.k, s.first = k, from
	if mean == nil {
		s.moments[0], s.moments[1] = m.Moments(s.moments[0][:0], s.moments[1][:0])
		mean, variance = s.moments[0], s.moments[1]
	}
	s.mean, s.variance = mean, variance
	s.x, s.gamma, s.log, s.logBeta = room(s.x, n)[:n], room(s.gamma, n)[:n], room(s.log, n)[:n], room(s.logBeta, pad)[:k]
	s.rest = room(s.rest, m.Classes())[:m.Classes()]
	for at := k; at < n; at += pad {
		for i := range pad - k {
			s.x[at+i] = 1
		}
	}
	copy(s.x, m.weights)
	for c := range k {
		alpha := m.row(c)
		special.SumOthers(s.rest, alpha)
		s.x[pad+c] = alpha[0] + s.rest[0]
		at := 2*pad + c
		for i := from; i < to; i++ {
			s.x[at], s.x[at+pad] = alpha[i], s.rest[i]
			at += 2 * pad
		}
	}
	kernel.LogGamma(s.gamma, s.log, s.x)
}

// class returns the marginal distribution of one of the classes, whose logBeta is not set.
func (s *marginals) class(i int) marginal {
	pad := kernel.WholeBlocks(s.k)
	row := func(x []float64, r int) []float64 { return x[r*pad : r*pad+s.k : (r+1)*pad] }
	a := 2 + 2*(i-s.first)
	return marginal{
		w: row(s.x, 0), sum: row(s.x, 1),
		terms: kernel.BetaTerms{
			A: row(s.x, a), B: row(s.x, a+1), LogA: row(s.log, a), LogB: row(s.log, a+1),
			LogW: row(s.log, 0), LogSum: row(s.log, 1), LogBeta: s.logBeta,
		},
		gammaSum: row(s.gamma, 1), gammaA: row(s.gamma, a), gammaB: row(s.gamma, a+1),
		mean: s.mean[i], variance: s.variance[i],
	}
}

// parameters sets gamma and log to the log-gamma functions and the logarithms of the parameters of all classes in a component, if all were set.
// It returns the logarithm of the component's weight.
func (s *marginals) parameters(gamma, log []float64, component int) (logW float64) {
	pad := kernel.WholeBlocks(s.k)
	at := 2*pad + component
	for i := range gamma {
		gamma[i], log[i] = s.gamma[at], s.log[at]
		at += 2 * pad
	}
	return s.log[component]
}
