package mixture

import (
	"fmt"
	"math"

	"credence/internal/special"
)

// Update returns the distribution of p conditioned on further votes: votes[i] of them for class i, between 0 and
// 1e12. A mixture of Dirichlets is conjugate, so the result is one as well, with parameters α_k + S and weights
//
//	w_k B(α_k + S)/B(α_k), rescaled.
//
// Votes may be fractional. A component whose weight underflows is dropped.
func (m *Dirichlet) Update(votes []float64) (*Dirichlet, error) {
	logs, total, err := m.logWeights(votes)
	if err != nil {
		return nil, err
	}
	u := newDirichlet(m.K(), m.classes)
	u.weights, u.alpha = u.weights[:0], u.alpha[:0]
	for k, l := range logs {
		w := math.Exp(l - total)
		if w == 0 {
			continue
		}
		u.weights = append(u.weights, w)
		for i, a := range m.row(k) {
			u.alpha = append(u.alpha, a+votes[i])
		}
	}
	special.Normalize(u.weights)
	return u, nil
}

// maxVotes keeps updated parameters within bounds.
const maxVotes = 1e12

// checkVotes returns an error unless votes has a valid count for each class.
func (m *Dirichlet) checkVotes(votes []float64) error {
	if len(votes) != m.Classes() {
		return fmt.Errorf("expected as many vote counts as classes (%d), found %d", m.Classes(), len(votes))
	}
	for i, v := range votes {
		if !(v >= 0 && v <= maxVotes) {
			return fmt.Errorf("votes for class %d: expected a number from 0 to %g, found %v", i, maxVotes, v)
		}
	}
	return nil
}

// logVotes returns the log-probability of votes in a given order under one Dirichlet: the ratio of rising factorials
//
//	B(a + S)/B(a) = ∏_i a_i(a_i+1)…(a_i+S_i−1) / (a₀(a₀+1)…(a₀+m−1)).
func logVotes(a, votes []float64) float64 {
	l := 0.0
	for i, s := range votes {
		l += special.LogRising(a[i], s)
	}
	return l - special.LogRising(special.Sum(a), special.Sum(votes))
}

// LogVotes returns the log-probability of further votes, votes[i] of them for class
// i, in one given order: the likelihood that mixtures are fitted with. The
// probability of the next vote alone is [Dirichlet.Mean].
func (m *Dirichlet) LogVotes(votes []float64) (float64, error) {
	_, total, err := m.logWeights(votes)
	return total, err
}

// logWeights returns the logarithm of each weight times the probability of votes under its component, and that of
// their sum.
func (m *Dirichlet) logWeights(votes []float64) (logs []float64, total float64, err error) {
	if err := m.checkVotes(votes); err != nil {
		return nil, 0, err
	}
	logs = make([]float64, m.K())
	var sum logSum
	for k, w := range m.weights {
		logs[k] = math.Log(w) + logVotes(m.row(k), votes)
		sum.add(logs[k])
	}
	return logs, sum.value(), nil
}

// LogCounts returns the log-probability that Σ counts further votes are split between the classes as given, in any
// order: LogVotes plus the logarithm of the multinomial coefficient (a Dirichlet-multinomial mixture).
func (m *Dirichlet) LogCounts(counts []float64) (float64, error) {
	l, err := m.LogVotes(counts)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for i, c := range counts {
		if c != math.Floor(c) {
			return 0, fmt.Errorf("votes for class %d: expected a whole number, found %v", i, c)
		}
		// The multinomial coefficient, one binomial at a time.
		total += c
		l += special.LogRising(1+total-c, c) - special.LogRising(1, c)
	}
	return l, nil
}

// VoteCounts appends to dst the distribution of the number of votes, out of n further ones, that go to the class of
// m: n + 1 probabilities of a beta-binomial mixture.
func (m *Beta) VoteCounts(dst []float64, n int) []float64 {
	dst, pmf := extend(dst, n+1)
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

// maxCountVectors is the maximum number of outcomes of further votes to enumerate:
// about a second for a mixture of fifteen components.
const maxCountVectors = 2_000_000

// Gain returns the expected reduction of the variance of the class probabilities,
// Σ_i Var p_i, by n further votes:
//
//	Σ_i Var E[p_i | votes] = Σ_S P(S) |E[p | S] − μ|²,
//
// over all splits S of n votes between the classes, of which there are
// C(n+d−1, d−1); more than 2,000,000 are an error. For one vote this is
//
//	Σ_i Σ_c Cov(p_i, p_c)²/μ_c,
//
// 2 Var²/(μ(1−μ)) for two classes, and needs two moments only. The gain of a
// further vote need not be smaller than that of the one before.
func (m *Dirichlet) Gain(n int) (float64, error) {
	switch {
	case n < 0:
		return 0, fmt.Errorf("gain: expected a number of votes of at least 0, found %d", n)
	case n == 0:
		return 0, nil
	case n == 1:
		return m.firstGain(), nil
	}
	if v := countVectors(n, m.Classes()); v > maxCountVectors {
		return 0, fmt.Errorf("gain of %d votes: expected at most %d ways to split them between %d classes, found %.3g",
			n, maxCountVectors, m.Classes(), v)
	}
	return newGain(m, n).walk(0, n), nil
}

// firstGain is Gain(1).
func (m *Dirichlet) firstGain() float64 {
	d := m.Classes()
	cov := m.Covariance(nil)
	g := 0.0
	for c, mu := range m.Mean(nil) {
		if mu == 0 {
			continue // too small to be a float64, and so is its share
		}
		for i := range d {
			v := cov[i*d+c]
			g += v * (v / mu)
		}
	}
	return g
}

// countVectors returns C(n+d−1, d−1), the number of ways to split n votes between d classes.
func countVectors(n, d int) float64 {
	v := 1.0
	for i := 1; i < d; i++ {
		v *= float64(n+i) / float64(i)
	}
	return math.Round(v)
}

// gain enumerates the splits of n votes.
type gain struct {
	m     *Dirichlet
	mean  []float64
	total []float64     // α_k0
	terms [][][]float64 // [K][d][n+1] ln of a rising factorial over s!
	logs  [][]float64   // [d][K] ln weights of components given the votes for the preceding classes
	count []float64     // votes of each class
	after []float64     // E[p | votes], times their probability
}

func newGain(m *Dirichlet, n int) *gain {
	d, votes := m.Classes(), float64(n)
	g := &gain{m: m, mean: m.Mean(nil), count: make([]float64, d), after: make([]float64, d)}
	factorial := make([]float64, n+1) // ln s!
	for s := 2; s <= n; s++ {
		factorial[s] = special.LogRising(1, float64(s))
	}
	for range d {
		g.logs = append(g.logs, make([]float64, m.K()))
	}
	for k := range m.weights {
		a := m.row(k)
		total := special.Sum(a)
		g.total = append(g.total, total)
		g.logs[0][k] = math.Log(m.weights[k]) + factorial[n] - special.LogRising(total, votes)
		rows := make([][]float64, d)
		for i, ai := range a {
			rows[i] = make([]float64, n+1)
			for s := range rows[i] {
				rows[i][s] = special.LogRising(ai, float64(s)) - factorial[s]
			}
		}
		g.terms = append(g.terms, rows)
	}
	return g
}

// walk returns the sum of P(S) |E[p | S] − μ|² over all ways to give left votes to the classes from i on.
func (g *gain) walk(i, left int) float64 {
	if i == len(g.count)-1 {
		g.count[i] = float64(left)
		return g.leaf(left)
	}
	total := 0.0
	for s := range left + 1 {
		g.count[i] = float64(s)
		for k, l := range g.logs[i] {
			g.logs[i+1][k] = l + g.terms[k][i][s]
		}
		total += g.walk(i+1, left-s)
	}
	return total
}

// leaf is the term of one split, the last class of which has s votes.
func (g *gain) leaf(s int) float64 {
	last, votes := len(g.count)-1, 0.0
	for i, c := range g.count {
		g.after[i] = 0
		votes += c
	}
	p := 0.0
	for k, l := range g.logs[last] {
		w := math.Exp(l + g.terms[k][last][s])
		p += w
		for i, a := range g.m.row(k) {
			g.after[i] += w * ((a + g.count[i]) / (g.total[k] + votes))
		}
	}
	if p == 0 {
		return 0
	}
	t := 0.0
	for i, e := range g.after {
		e = e/p - g.mean[i]
		t += e * e
	}
	return p * t
}
