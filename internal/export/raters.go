package export

import (
	"math"

	"credence/mixture"
)

// averageRater returns the reported distribution of models with raters, [mixture.AverageRater.Dist], with the means and
// variances of an average rater's vote probabilities p̄, [N, 1, d].
func (b *builder) averageRater(m dist, average *mixture.AverageRater) (reported dist, mean, variance string, err error) {
	if average.Ordered() {
		return m, "", "", refused("the rater model of ordered classes")
	}
	scale, offset, shares, odds := average.Parameters()
	if shares != nil {
		reported = b.averageOfTwo(m, offset[1], shares, odds)
		mean, variance = b.moments(reported)
		return reported, mean, variance, nil
	}
	s := b.summarize(m)
	means := b.add(b.mul(b.num(scale), s.means), b.Doubles(offset, m.d))
	trace := b.mul(b.num(scale*scale), b.div(b.simplexVariance(s.means, m.d), b.add(s.total, b.num(1))))
	mean, variance = b.moments(m)
	mean, variance = b.add(b.mul(b.num(scale), mean), b.Doubles(offset, m.d)), b.mul(b.num(scale*scale), variance)
	return b.matched(m, means, trace), mean, variance, nil
}

// matched returns mixtures whose components have the given means [N, K, d] and traces of the covariance [N, K, 1].
func (b *builder) matched(m dist, means, trace string) dist {
	g := b.simplexVariance(means, m.d)
	whole := b.min(b.sub(b.div(g, trace), b.num(1)), b.num(maxParameter))
	usable := b.Add("And", b.Add("Greater", trace, b.num(0)), b.Add("Greater", g, trace))
	whole = b.Add("Where", usable, whole, b.num(maxParameter))
	return m.with(b.clip(b.mul(means, whole), minParameter, maxParameter))
}

const (
	raterNodes = 64 // of the trapezoidal rule
	raterDrop  = 28 // logarithm of the density's fall from its mode to the ends of the nodes
	raterRange = 20 // of logits beyond the biases of raters, outside of which votes hardly depend on p
)

// averageOfTwo returns the distribution of p̄ for two classes. Within a component p is Beta(x, y), and with z = log(p/(1−p))
//
//	E h(p̄) ∝ Σ_j h(p̄(z_j)) exp(f(z_j)),   f(z) = −x log(1 + e⁻ᶻ) − y log(1 + eᶻ),
//
// by the trapezoidal rule on the whole line, whose error falls exponentially with the number of nodes. Beyond the nodes f is
// linear, with the slopes x and −y, where it matters, and p̄ constant: the sums there are geometric series. With κ = xy/(x+y)
// the curvature at the mode, f falls by at least κt²/(2 + 2t/3) within t, which gives the range of the nodes.
func (b *builder) averageOfTwo(m dist, offset float64, shares, odds []float64) dist {
	limit, whole := float64(raterRange), 0.0
	for g := range shares {
		limit = max(limit, raterRange+math.Abs(math.Log(odds[g])))
		whole += shares[g]
	}
	x, y := b.slice(m.alpha, 2, 1, 2), b.slice(m.alpha, 2, 0, 1) // [N, K, 1]
	mode := b.Add("Log", b.div(x, y))
	s := b.div(b.mul(b.num(raterDrop), b.add(x, y)), b.mul(x, y))
	third := b.div(s, b.num(3))
	t := b.add(third, b.Add("Sqrt", b.add(b.mul(third, third), b.mul(b.num(2), s))))
	lo, hi := b.clip(b.sub(mode, t), -limit, limit-1), b.clip(b.add(mode, t), 1-limit, limit) // lo < hi
	h := b.div(b.sub(hi, lo), b.num(raterNodes-1))
	steps := make([]float64, raterNodes)
	for j := range steps {
		steps[j] = float64(j)
	}
	z := b.add(lo, b.mul(h, b.Doubles(steps, raterNodes))) // [N, K, nodes]
	logDensity := func(z string) string {
		return b.Add("Neg", b.add(b.mul(x, b.softplus(b.Add("Neg", z))), b.mul(y, b.softplus(z))))
	}
	top := logDensity(b.clip(mode, -limit, limit))
	relative := func(z string) string { return b.Add("Exp", b.sub(logDensity(z), top)) }
	// Weights of the nodes, and of what is beyond them, Σ_{j>0} e^{−jxh} = 1/(e^{xh} − 1).
	q := relative(z)
	below, above := b.div(relative(lo), b.series(b.mul(x, h))), b.div(relative(hi), b.series(b.mul(y, h)))
	// votes is p̄ of the second class.
	e := b.Add("Exp", b.Add("Neg", z))
	votes := b.num(offset)
	for g, share := range shares {
		votes = b.add(votes, b.div(b.num(share), b.add(b.num(1), b.mul(e, b.num(1/odds[g])))))
	}
	low, high := b.num(offset), b.num(offset+whole)
	mass := b.add(b.sum(q, 2), b.add(below, above))
	mean := b.div(b.add(b.sum(b.mul(q, votes), 2), b.add(b.mul(below, low), b.mul(above, high))), mass)
	square := func(v string) string { e := b.sub(v, mean); return b.mul(e, e) }
	variance := b.div(b.add(b.sum(b.mul(q, square(votes)), 2), b.add(b.mul(below, square(low)), b.mul(above, square(high)))), mass)
	means := b.concat(2, []string{b.sub(b.num(1), mean), mean})
	return b.matched(m, means, b.mul(b.num(2), variance))
}

// softplus returns log(1 + eᶻ) without overflow.
func (b *builder) softplus(z string) string {
	return b.add(b.max(z, b.num(0)), b.Add("Log", b.add(b.num(1), b.Add("Exp", b.Add("Neg", b.Add("Abs", z))))))
}

// series returns eᵘ − 1 for u > 0.
func (b *builder) series(u string) string {
	small := b.mul(u, b.add(b.num(1), b.div(u, b.num(2))))
	return b.Add("Where", b.Add("Less", u, b.num(1e-5)), small, b.sub(b.Add("Exp", u), b.num(1)))
}
