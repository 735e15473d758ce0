package evaluate

import "math"

// curvature returns C_mm·C_hh/C_hm² of raters with independent errors whose response to an item is logistic, at least 1. For items with
// logits z ~ N(μ, σ²) people vote σ(z) and the group σ(a + bz), where mean and covariances have the given values.
func curvature(people, chh, group, chm float64) float64 {
	if !(chh > 0 && chm > 0 && people > 0 && people < 1 && group > 0 && group < 1) {
		return 1
	}
	n := newNormalNodes()
	h := n.response(people, steepness(chh, func(b float64) float64 {
		p := n.response(people, b)
		return n.covariance(p, p, people, people)
	}))
	m := n.response(group, steepness(chm, func(b float64) float64 { return n.covariance(n.response(group, b), h, group, people) }))
	cross := n.covariance(m, h, group, people)
	return max(1, n.covariance(m, m, group, group)*n.covariance(h, h, people, people)/(cross*cross))
}

// normalNodes are equidistant points z, and the weights of a standard normal distribution there, with a sum of 1.
type normalNodes struct{ z, weight []float64 }

// reach is how far the nodes extend, in standard deviations.
const reach = 5.0

func newNormalNodes() normalNodes {
	const count = 61
	n, sum := normalNodes{make([]float64, count), make([]float64, count)}, 0.0
	for k := range n.z {
		n.z[k] = reach * (2*float64(k)/(count-1) - 1)
		n.weight[k] = math.Exp(-n.z[k] * n.z[k] / 2)
		sum += n.weight[k]
	}
	for k := range n.weight {
		n.weight[k] /= sum
	}
	return n
}

// response returns σ(a + bz) at the nodes, with the a that gives it the mean, by Newton's method in a bracket of a.
func (n normalNodes) response(mean, b float64) []float64 {
	p := make([]float64, len(n.z))
	lo, hi := -60.0-reach*b, 60+reach*b
	a := math.Log(mean/(1-mean)) * math.Sqrt(1+b*b/2)
	for range 60 {
		total, steep := 0.0, 0.0
		for k, z := range n.z {
			p[k] = 1 / (1 + math.Exp(-a-b*z))
			total += n.weight[k] * p[k]
			steep += n.weight[k] * p[k] * (1 - p[k])
		}
		if total > mean {
			hi = a
		} else {
			lo = a
		}
		next := a - (total-mean)/steep
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
		}
		if math.Abs(next-a) <= 1e-13*max(1, math.Abs(a)) {
			break
		}
		a = next
	}
	return p
}

// covariance returns that of two responses with known means.
func (n normalNodes) covariance(p, q []float64, meanP, meanQ float64) float64 {
	total := 0.0
	for k, w := range n.weight {
		total += w * (p[k] - meanP) * (q[k] - meanQ)
	}
	return total
}

// steepness returns the b, at most 40, at which of, which increases from 0, has a value. It is found by false position, where an end that
// stays for two steps counts half, so that the other moves past the root.
func steepness(value float64, of func(b float64) float64) float64 {
	lo, hi := 0.0, 40.0
	below, above := -value, of(hi)-value
	if above <= 0 {
		return hi
	}
	last := 0.0
	for range 60 {
		b := (lo*above - hi*below) / (above - below)
		e := of(b) - value
		if math.Abs(e) <= 1e-13*value {
			return b
		}
		if e > 0 {
			hi, above = b, e
			if last > 0 {
				below /= 2
			}
		} else {
			lo, below = b, e
			if last < 0 {
				above /= 2
			}
		}
		last = e
	}
	return (lo + hi) / 2
}
