package mixture

import (
	"fmt"
	"math"

	"credence/internal/special"
)

// maxCountVectors bounds how many outcomes of further votes are enumerated: about
// a second for a mixture of fifteen components.
const maxCountVectors = 2_000_000

// Gain returns by how much n further votes are expected to reduce the variance of
// the class probabilities, Σ_i Var p_i:
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
		return 0, fmt.Errorf("gain of %d votes: their number is not negative", n)
	case n == 0:
		return 0, nil
	case n == 1:
		return m.firstGain(), nil
	}
	if v := countVectors(n, m.Classes()); v > maxCountVectors {
		return 0, fmt.Errorf("gain of %d votes: %.3g ways to split them between %d classes, want at most %d",
			n, v, m.Classes(), maxCountVectors)
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

// countVectors returns C(n+d−1, d−1), the number of ways to split n votes between
// d classes.
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
	logs  [][]float64   // [d][K] ln weights of components after the classes before
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
	for k, a := range m.alpha {
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

// walk returns the sum of P(S) |E[p | S] − μ|² over all ways to give left votes to
// the classes from i on.
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
		for i, a := range g.m.alpha[k] {
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
