package mixture

import (
	"fmt"
	"math"

	"credence/internal/special"
)

// LogVotes returns the log-probability that further votes come out as given,
// votes[i] of them for class i, in one given order: the likelihood that a mixture
// is fitted by. The probability of the next vote alone is [Dirichlet.Mean].
func (m *Dirichlet) LogVotes(votes []float64) (float64, error) {
	if err := m.checkVotes(votes); err != nil {
		return 0, err
	}
	var l logSum
	for k, w := range m.weights {
		l.add(math.Log(w) + logVotes(m.alpha[k], votes))
	}
	return l.value(), nil
}

// LogCounts returns the log-probability that Σ counts further votes are split
// between the classes as given, in any order: LogVotes plus the logarithm of the
// multinomial coefficient (a Dirichlet-multinomial mixture).
func (m *Dirichlet) LogCounts(counts []float64) (float64, error) {
	l, err := m.LogVotes(counts)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for i, c := range counts {
		if c != math.Floor(c) {
			return 0, fmt.Errorf("count of class %d is %v: counts are whole numbers", i, c)
		}
		// The multinomial coefficient, one binomial at a time.
		total += c
		l += special.LogRising(1+total-c, c) - special.LogRising(1, c)
	}
	return l, nil
}

// VoteCounts appends to dst the distribution of the number of votes, out of n
// further ones, that go to the class of m: n + 1 probabilities of a
// beta-binomial mixture.
func (m *Beta) VoteCounts(dst []float64, n int) []float64 {
	from := len(dst)
	dst = append(dst, make([]float64, n+1)...)
	pmf := dst[from:]
	for i := range m.components {
		c := &m.components[i]
		whole := special.LogRising(c.A+c.B, float64(n))
		choose := 0.0 // ln C(n, s)
		for s := range pmf {
			yes, no := float64(s), float64(n-s)
			if s > 0 {
				choose += math.Log((no + 1) / yes)
			}
			pmf[s] += math.Exp(c.logWeight + choose +
				special.LogRising(c.A, yes) + special.LogRising(c.B, no) - whole)
		}
	}
	return dst
}
