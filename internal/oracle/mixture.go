package oracle

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// Mixture is a finite mixture of Beta distributions. It is safe for concurrent use.
type Mixture struct {
	p          Precision
	components []component
	total      *big.Float // of the weights, exact
}

type component struct {
	beta
	weight *big.Float
}

// NewMixture returns the mixture Σ_k w_k Beta(a_k, b_k), to be evaluated with
// precision p. The weights must not be negative; they are divided by their
// exact sum.
func NewMixture(p Precision, weights, a, b []float64) *Mixture {
	if len(a) != len(weights) || len(b) != len(weights) {
		panic(fmt.Sprintf("oracle: %d weights, %d and %d parameters", len(weights), len(a), len(b)))
	}
	m := &Mixture{p: p, total: new(big.Float)}
	for k, w := range weights {
		if !(a[k] > 0 && b[k] > 0) || math.IsInf(a[k]+b[k], 0) {
			panic(fmt.Sprintf("oracle: component Beta(%v, %v)", a[k], b[k]))
		}
		m.add(w, exactly(a[k]), exactly(b[k]))
	}
	m.check()
	return m
}

func (m *Mixture) add(weight float64, a, b *big.Float) {
	if !(weight >= 0) || math.IsInf(weight, 0) {
		panic(fmt.Sprintf("oracle: weight %v", weight))
	}
	if weight == 0 {
		return
	}
	w := exactly(weight)
	m.components = append(m.components, component{newBeta(a, b), w})
	m.total = exactSum(m.total, w)
}

func (m *Mixture) check() {
	if len(m.components) == 0 {
		panic("oracle: mixture without components of positive weight")
	}
}

// CDF returns the probabilities of the mixture below and above x. For x close
// to 1, give it the bits that 1 − x needs.
func (m *Mixture) CDF(x *big.Float) (cdf, survival *big.Float) {
	return m.CDFXY(x, m.p.complement(x))
}

// CDFXY is CDF at x = 1 − y, given both, so that neither needs more bits than
// the precision of the mixture. What is used is the smaller of the two.
func (m *Mixture) CDFXY(x, y *big.Float) (cdf, survival *big.Float) {
	if x.Sign() < 0 || y.Sign() < 0 {
		panic(fmt.Sprintf("oracle: CDF(%.20x)", x))
	}
	if x.Sign() == 0 {
		return m.p.zero(), m.p.int(1)
	}
	if y.Sign() == 0 {
		return m.p.int(1), m.p.zero()
	}
	w := m.p + guard
	cdf, survival = w.zero(), w.zero()
	for _, c := range m.components {
		lower, upper, _ := w.tails(betaAt{c.beta, x, y})
		sum(cdf, cdf, w.mul(c.weight, lower))
		sum(survival, survival, w.mul(c.weight, upper))
	}
	return m.p.quo(cdf, m.total), m.p.quo(survival, m.total)
}

// LogPDF returns the logarithm of the density at 0 < x < 1.
func (m *Mixture) LogPDF(x *big.Float) *big.Float {
	return m.LogPDFXY(x, m.p.complement(x))
}

// LogPDFXY is LogPDF at x = 1 − y, given both as for [Mixture.CDFXY].
func (m *Mixture) LogPDFXY(x, y *big.Float) *big.Float {
	if x.Sign() <= 0 || y.Sign() <= 0 {
		panic(fmt.Sprintf("oracle: LogPDF(%.20x)", x))
	}
	return m.p.relative(func(w Precision) (*big.Float, int) {
		logX, logY := w.logs(x, y)
		terms := make([]logTerm, len(m.components))
		for k, c := range m.components {
			terms[k] = w.logDirichlet(c.weight, []*big.Float{c.a, c.b}, []*big.Float{logX, logY})
		}
		return w.logSum(terms, m.total)
	})
}

// logTerm is a logarithm, and the exponent of its largest summand.
type logTerm struct {
	value     *big.Float
	magnitude int
}

// logDirichlet returns the logarithm of weight times the Dirichlet density
// Π x_i^(α_i − 1) / B(α), given ln x_i.
func (p Precision) logDirichlet(weight *big.Float, alpha, logX []*big.Float) logTerm {
	logB, magnitude := p.logBeta(alpha...)
	value := p.sub(p.Log(weight), logB)
	for i, a := range alpha {
		t := p.mul(exactSum(a, big.NewFloat(-1)), logX[i])
		sum(value, value, t)
		magnitude = max(magnitude, exponent(t))
	}
	return logTerm{value, max(magnitude, 11)} // |ln weight| < 2^11
}

// logSum returns ln(Σ exp(terms)/total), and the exponent of the largest of
// the intermediate results that matter.
func (p Precision) logSum(terms []logTerm, total *big.Float) (value *big.Float, magnitude int) {
	top := slices.MaxFunc(terms, func(s, t logTerm) int { return s.value.Cmp(t.value) })
	scaled := p.zero()
	for _, t := range terms {
		sum(scaled, scaled, p.Exp(p.sub(t.value, top.value)))
		magnitude = max(magnitude, t.magnitude)
	}
	return p.add(top.value, p.Log(scaled.Quo(scaled, total))), magnitude
}
