package mixture

import (
	"credence/internal/kernel"
	"credence/internal/special"
)

// marginals are the marginal distributions of classes, with the logarithms that their tables take. What classes have in common, and
// logarithms of many numbers at a time, cost less than those of each class alone.
type marginals struct {
	k, first int // components per class, and the first class

	// Numbers, their log-gamma functions and their logarithms: of the weights [K], of the sums of parameters [K], and of each
	// class [a, b, each K].
	x, gamma, log  []float64
	rest           []float64 // [d]
	mean, variance []float64 // [d] of all classes
}

// marginal is the marginal distribution of one class: Σ w_k Beta(a_k, b_k), all slices of the same length.
type marginal struct {
	w, a, b, sum             []float64
	logW, logA, logB, logSum []float64
	gammaA, gammaB, gammaSum []float64
	mean, variance           float64
}

// set computes the marginal distributions of classes from … to−1.
func (s *marginals) set(m *Dirichlet, from, to int) {
	k := m.K()
	n := 2*k + 2*k*(to-from)
	s.k, s.first = k, from
	s.x, s.gamma, s.log = room(s.x, n)[:n], room(s.gamma, n)[:n], room(s.log, n)[:n]
	s.rest = room(s.rest, m.Classes())[:m.Classes()]
	copy(s.x, m.weights)
	for c, alpha := range m.alpha {
		special.SumOthers(s.rest, alpha)
		s.x[k+c] = alpha[0] + s.rest[0]
		at := 2*k + c
		for i := from; i < to; i++ {
			s.x[at], s.x[at+k] = alpha[i], s.rest[i]
			at += 2 * k
		}
	}
	kernel.LogGamma(s.gamma, s.log, s.x)
	s.mean, s.variance = m.Moments(s.mean[:0], s.variance[:0])
}

// class returns the marginal distribution of one of the classes.
func (s *marginals) class(i int) marginal {
	k := s.k
	a := 2*k + 2*k*(i-s.first)
	b := a + k
	return marginal{
		w: s.x[:k], sum: s.x[k : 2*k], a: s.x[a:b], b: s.x[b : b+k],
		logW: s.log[:k], logSum: s.log[k : 2*k], logA: s.log[a:b], logB: s.log[b : b+k],
		gammaSum: s.gamma[k : 2*k], gammaA: s.gamma[a:b], gammaB: s.gamma[b : b+k],
		mean: s.mean[i], variance: s.variance[i],
	}
}
