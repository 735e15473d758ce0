package mixture

import (
	"math"

	"credence/internal/special"
)

// TopClass appends to dst, for each class, the probability that it is the most
// probable one, P(p_i > p_j for all j ≠ i). They are accurate to 1e-8 and sum
// to one.
//
// For two classes it is the mass above ½. For more, p is a vector of independent
// Gamma variables over their sum, so with U_i the logarithms of these,
//
//	P(i is top) = Σ_k w_k ∫ φ_ki(u) ∏_{j≠i} P(U_kj ≤ u) du,
//
// φ the density of U.
func (m *Dirichlet) TopClass(dst []float64) []float64 {
	d := m.Classes()
	from := len(dst)
	dst = append(dst, make([]float64, d)...)
	top := dst[from:]
	if d == 2 {
		top[1], top[0] = m.Marginal(0).tails(0.5)
	} else {
		for k, w := range m.weights {
			t := newTopIntegral(m.alpha[k])
			for i, p := range t.run() {
				top[i] += w * p
			}
		}
	}
	total := sum(top)
	for i := range top {
		top[i] /= total
	}
	return dst
}

// topIntegral integrates the d integrands of TopClass at once, because they
// share all their factors.
type topIntegral struct {
	alpha         []float64
	u             []special.LogGammaVariable
	cdf, pdf      []float64
	left          []float64 // products of cdf before each class
	result        []float64
	whole, halves []float64
	panels        int // how many may still be tried; rounding can keep the rules apart
}

func newTopIntegral(alpha []float64) *topIntegral {
	d := len(alpha)
	t := &topIntegral{alpha: alpha, u: make([]special.LogGammaVariable, d)}
	for i, a := range alpha {
		t.u[i] = special.NewLogGammaVariable(a)
	}
	for _, s := range []*[]float64{&t.cdf, &t.pdf, &t.left, &t.result, &t.whole, &t.halves} {
		*s = make([]float64, d)
	}
	return t
}

// negligible is the mass of the largest variable left out at either end.
const negligible = 1e-13

// run integrates over the range of the largest variable, whose distribution
// function is the product of all.
func (t *topIntegral) run() []float64 {
	largest := 0.0
	for _, a := range t.alpha {
		largest = max(largest, a)
	}
	hi := math.Log(largest + 8.5*math.Sqrt(largest) + 35)
	lo := math.Log(largest)
	for step := 1 / math.Sqrt(1+largest); t.product(lo) > negligible; step *= 2 {
		lo -= step
	}
	if !t.trapezoid(lo, hi) {
		clear(t.result)
		t.panels = 1000
		t.integrate(lo, hi)
	}
	return t.result
}

// trapezoid integrates by the trapezoidal rule, which for smooth integrands that
// vanish at both ends doubles its correct digits each time the step is halved. It
// reports false if that does not happen soon, as with the long tails of small
// parameters.
func (t *topIntegral) trapezoid(lo, hi float64) bool {
	n := 16
	h := (hi - lo) / float64(n)
	for i := 1; i < n; i++ {
		t.node(t.result, lo+float64(i)*h, h)
	}
	for ; n <= 64; n *= 2 {
		clear(t.whole)
		h /= 2
		for i := range n {
			t.node(t.whole, lo+float64(2*i+1)*h, h)
		}
		worst := 0.0
		for i := range t.result {
			half := t.result[i] / 2
			worst = max(worst, math.Abs(half-t.whole[i])) // half the change
			t.result[i] = half + t.whole[i]
		}
		if worst < 2e-6 {
			return true
		}
	}
	return false
}

// product returns the distribution function of the largest variable at u.
func (t *topIntegral) product(u float64) float64 {
	p := 1.0
	for i := range t.u {
		c, _ := t.u[i].At(u)
		p *= c
	}
	return p
}

// integrate adds the integrals from lo to hi to the result: the rule over two
// halves if it agrees with the rule over the whole, otherwise half by half.
func (t *topIntegral) integrate(lo, hi float64) {
	mid := (lo + hi) / 2
	clear(t.whole)
	clear(t.halves)
	t.rule(t.whole, lo, hi)
	t.rule(t.halves, lo, mid)
	t.rule(t.halves, mid, hi)
	worst := 0.0
	for i := range t.whole {
		worst = max(worst, math.Abs(t.whole[i]-t.halves[i]))
	}
	if t.panels--; worst < 1e-11 || t.panels <= 0 {
		for i, v := range t.halves {
			t.result[i] += v
		}
		return
	}
	t.integrate(lo, mid)
	t.integrate(mid, hi)
}

// rule adds the Gauss–Legendre approximations from lo to hi to dst.
func (t *topIntegral) rule(dst []float64, lo, hi float64) {
	special.Legendre32Each(lo, hi, func(u, weight float64) { t.node(dst, u, weight) })
}

// node adds the integrands at u, times weight, to dst.
func (t *topIntegral) node(dst []float64, u, weight float64) {
	product := 1.0
	for i := range t.u {
		t.cdf[i], t.pdf[i] = t.u[i].At(u)
		t.left[i] = product
		product *= t.cdf[i]
	}
	right := weight
	for i := len(t.u) - 1; i >= 0; i-- {
		dst[i] += t.pdf[i] * t.left[i] * right
		right *= t.cdf[i]
	}
}
