package evaluate

import (
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/special"
)

// maxLossTerms bounds the terms that the variance of a loss is summed from.
const maxLossTerms = 2e7

// fewClasses is the largest number of classes for which the parameters of others are added up anew for each pair.
const fewClasses = 16

// jointLoss returns mean and variance of −ln B(α + S)/B(α), the loss of m votes of an
// item together under the Dirichlet distribution that they follow. It is a constant
// less a sum over classes,
//
//	ln α₀(α₀+1)…(α₀+m−1) − Σ_i ln α_i(α_i+1)…(α_i+S_i−1),
//
// so that the distributions of one and of two counts suffice, and outcomes need not
// be enumerated. The variance is NaN where it would take too long.
func jointLoss(alpha []float64, m int) (mean, variance float64) {
	c := newVoteCounts(alpha, m)
	d := float64(len(alpha))
	wanted := d*d*float64(m)*float64(m) <= maxLossTerms
	expected := make([]float64, len(alpha))
	for i := range alpha {
		p := c.one(i)
		expected[i] = kernel.Dot64(p, c.rising[i])
		mean -= expected[i]
		for s, r := range c.rising[i] {
			variance += p[s] * (r - expected[i]) * (r - expected[i])
		}
		for l := 0; wanted && l < i; l++ {
			variance += 2 * c.covariance(i, l, expected)
		}
	}
	if !wanted {
		variance = math.NaN()
	}
	return mean + c.total, max(0, variance)
}

// voteCounts are the counts of m votes under a Dirichlet distribution. Their
// probabilities are products of rising factorials over factorials.
type voteCounts struct {
	alpha     []float64
	sum       float64     // α₀
	rising    [][]float64 // [d][m+1] ln α_i(α_i+1)…(α_i+s−1)
	factorial []float64   // [m+1] ln s!
	total     float64     // ln α₀(α₀+1)…(α₀+m−1)
}

func newVoteCounts(alpha []float64, m int) *voteCounts {
	c := &voteCounts{alpha: alpha, sum: sum(alpha), factorial: logRisings(1, m)}
	c.total = special.LogRising(c.sum, float64(m))
	for _, a := range alpha {
		c.rising = append(c.rising, logRisings(a, m))
	}
	return c
}

// logRisings returns ln a(a+1)…(a+s−1) for s = 0 … m.
func logRisings(a float64, m int) []float64 {
	list := make([]float64, m+1)
	for s := 1; s <= m; s++ {
		list[s] = special.LogRising(a, float64(s))
	}
	return list
}

// rest returns the parameters of other classes than those given, summed: what is left of
// the whole, if that is most of it and classes are many.
func (c *voteCounts) rest(than []int) float64 {
	if len(c.alpha) > fewClasses {
		part := 0.0
		for _, i := range than {
			part += c.alpha[i]
		}
		if part <= c.sum/2 {
			return c.sum - part
		}
	}
	rest := 0.0
	for i, a := range c.alpha {
		if !slices.Contains(than, i) {
			rest += a
		}
	}
	return rest
}

// others returns the logarithms of what votes for other classes than those given
// contribute, by their number.
func (c *voteCounts) others(than ...int) []float64 {
	rest := c.rest(than)
	list := logRisings(rest, len(c.factorial)-1)
	for u := range list {
		if list[u] -= c.factorial[u]; rest == 0 && u > 0 {
			list[u] = math.Inf(-1) // there are none
		}
	}
	return list
}

// one returns the distribution of the count of class i.
func (c *voteCounts) one(i int) []float64 {
	m := len(c.factorial) - 1
	others, p := c.others(i), make([]float64, m+1)
	for s, r := range c.rising[i] {
		p[s] = math.Exp(c.factorial[m] - c.factorial[s] + r + others[m-s] - c.total)
	}
	return p
}

// covariance returns that of the terms of classes i and l.
func (c *voteCounts) covariance(i, l int, expected []float64) float64 {
	m := len(c.factorial) - 1
	others, v := c.others(i, l), 0.0
	for s, x := range c.rising[i] {
		for t, y := range c.rising[l][:m-s+1] {
			p := math.Exp(c.factorial[m] - c.factorial[s] - c.factorial[t] + x + y + others[m-s-t] - c.total)
			v += p * (x - expected[i]) * (y - expected[l])
		}
	}
	return v
}
