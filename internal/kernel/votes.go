package kernel

// VoteSlack is the number of values after those of an item that [TwoVotes.Likelihood] may read.
const VoteSlack = 16

// TwoVotes is the working memory of the likelihood of an item's votes for two classes under a mixture of K
// components.
type TwoVotes struct {
	k    int
	work []float64 // groups of lanes: weights, likelihoods and derivatives
	sums [2]float64
}

// NewTwoVotes returns the memory for k components. Cache lines on either side are not used, so that no two workers
// write to the same line.
func NewTwoVotes(k int) *TwoVotes {
	const apart = 16
	n := roundUp(k, 8)
	return &TwoVotes{
		k:    k,
		work: make([]float64, apart+4*n+apart)[apart:][:4*n],
	}
}

// Likelihood computes the likelihood of s0 and s1 votes, m = s0 + s1 from 1 to 16, as a sum over components. e has the weights
// w [K] and then the parameters a and b [K, 2], and its capacity reaches VoteSlack values beyond. With uₜ = 1/(a+b+t),
//
//	p = ∏_{t<s0} (a+t) · ∏_{t<s1} (b+t) · ∏_{t<m} uₜ
//	weight = Σ w,   total = Σ w·p
//
// Unless g [K] and [K, 2] is nil, it is set to the gradient of −ln(total/weight) with respect to the logarithms of e, times scale:
//
//	w·scale/weight − r,   r = w·p·scale/total
//	−r·(b·Σ_{t<s0} a/(a+t)·uₜ − a·Σ_{s0≤t<m} uₜ),   and with a and b exchanged
//
// in which nothing cancels. Weights below 1e-34 count as 0, as do w·scale/weight and r below 1e-30: subnormal gradients would
// be a hundred times slower.
func (v *TwoVotes) Likelihood(g, e []float32, s0, s1 int, scale float64) (weight, total float64) {
	k := v.k
	checkLen("TwoVotes", 3*k, len(e))
	_ = e[:3*k+VoteSlack]
	var ga []float32
	if g != nil {
		checkLen("TwoVotes", 3*k, len(g))
		ga = g[k:]
	}
	active.twoVotes(v.work, g, ga, e, k, s0, s1, scale, &v.sums)
	return v.sums[0], v.sums[1]
}

// twoVotesGeneric computes weight and total of [TwoVotes.Likelihood] into sums, and the gradients into g and ga; work
// has [K] weights, likelihoods, and derivatives by log a and log b. There is no gradient if g is nil.
func twoVotesGeneric(work []float64, g, ga, e []float32, k, s0, s1 int, scale float64, sums *[2]float64) {
	w, like, qa, qb := work[:k], work[k:2*k], work[2*k:3*k], work[3*k:4*k]
	weight, total := 0.0, 0.0
	for c := range w {
		x := float64(e[c])
		if x < 1e-34 {
			x = 0
		}
		w[c] = x
		like[c], qa[c], qb[c] = votesOf(float64(e[k+2*c]), float64(e[k+2*c+1]), s0, s1)
		weight += x
		total += float64(x * like[c])
	}
	*sums = [2]float64{weight, total}
	if g == nil {
		return
	}
	a, b := scale/weight, scale/total
	for c, x := range w {
		p, r := flushTiny(x*a), flushTiny(x*like[c]*b)
		g[c] = float32(p - r)
		ga[2*c], ga[2*c+1] = float32(-r*qa[c]), float32(-r*qb[c])
	}
}

// flushTiny returns x, or 0 if it is below 1e-30.
func flushTiny(x float64) float64 {
	if x < 1e-30 {
		return 0
	}
	return x
}

// votesOf returns the likelihood of votes under one component, and the derivatives of its logarithm by log a and log b.
func votesOf(a, b float64, s0, s1 int) (p, qa, qb float64) {
	sum := a + b
	if s0+s1 == 2 { // the most common case, with one division less
		next := sum + 1
		inv := 1 / (sum * next)
		u, v := next*inv, sum*inv
		switch s0 {
		case 0:
			return b * (b + 1) * inv, -a * (u + v), a * (u + b/(b+1)*v)
		case 1:
			return a * b * inv, b*u - a*v, a*u - b*v
		default:
			return a * (a + 1) * inv, b * (u + a/(a+1)*v), -b * (u + v)
		}
	}
	p = 1
	var upA, upB, downA, downB float64
	for t := range s0 + s1 {
		x := float64(t)
		u := 1 / (sum + x)
		p *= u
		if t < s0 {
			p *= a + x
			upA += a / (a + x) * u
		} else {
			downA += u
		}
		if t < s1 {
			p *= b + x
			upB += b / (b + x) * u
		} else {
			downB += u
		}
	}
	return p, b*upA - a*downA, a*upB - b*downB
}
