package mixture

import (
	"math"
	"math/rand/v2"

	"credence/internal/special"
)

// Sample appends one random draw of the class probabilities to dst. Parameters
// far below one put draws next to a corner of the simplex, where all but one
// coordinate may underflow to zero.
func (m *Dirichlet) Sample(dst []float64, r *rand.Rand) []float64 {
	a := m.alpha[pick(m.weights, r)]
	from := len(dst)
	top := math.Inf(-1)
	for _, ai := range a {
		g := logGamma(ai, r)
		top = max(top, g)
		dst = append(dst, g)
	}
	p := dst[from:]
	for i := range p {
		p[i] = math.Exp(p[i] - top)
	}
	special.Normalize(p)
	return dst
}

// pick draws an index with the given probabilities.
func pick(weights []float64, r *rand.Rand) int {
	u := r.Float64()
	for k, w := range weights[:len(weights)-1] {
		if u -= w; u < 0 {
			return k
		}
	}
	return len(weights) - 1
}

// logGamma draws the logarithm of a Gamma(a) variable, which for small a is far
// below the logarithm of the smallest float64. (Marsaglia and Tsang 2000; below
// a = 1, Gamma(a) = Gamma(a+1) U^{1/a}.)
func logGamma(a float64, r *rand.Rand) float64 {
	if a < 1 {
		return logGamma(a+1, r) - r.ExpFloat64()/a
	}
	d := a - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if e := r.ExpFloat64(); -e < 0.5*x*x+d-d*v+d*math.Log(v) {
			return math.Log(d) + math.Log(v)
		}
	}
}
