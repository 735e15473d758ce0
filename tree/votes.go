package tree

import (
	"math"

	"credence/internal/special"
)

// The range of log S: from votes that agree as if there were one to votes that are independent given the means.
const minLogS, maxLogS = -4, 8

// leastLogAlpha keeps α above the smallest value that mixtures take.
const leastLogAlpha = -16

// logAlpha sets dst [d] to log α for outputs [O].
func logAlpha(dst, out []float32) {
	logS := min(max(float64(out[len(out)-1]), minLogS), maxLogS)
	if len(dst) == 2 {
		z := float64(out[0])
		dst[0], dst[1] = atLeast(logS-softplus(z)), atLeast(logS-softplus(-z))
		return
	}
	top := math.Inf(-1)
	for _, v := range out[:len(dst)] {
		top = max(top, float64(v))
	}
	sum := 0.0
	for _, v := range out[:len(dst)] {
		sum += math.Exp(float64(v) - top)
	}
	shift := logS - top - math.Log(sum)
	for i, v := range out[:len(dst)] {
		dst[i] = atLeast(float64(v) + shift)
	}
}

func atLeast(x float64) float32 { return float32(max(x, leastLogAlpha)) }

// softplus returns log(1 + e^z).
func softplus(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }

// Loss returns the negative log-likelihood of votes [d] under log α [d]: log S^(n) − Σ log α_i^(v_i), with x^(n) the
// rising factorial.
func Loss(logAlpha, votes []float32) float64 {
	s, n, loss := 0.0, 0.0, 0.0
	for i, v := range votes {
		a := math.Exp(float64(logAlpha[i]))
		s += a
		if v > 0 {
			n += float64(v)
			loss -= special.LogRising(a, float64(v))
		}
	}
	if n == 0 {
		return 0
	}
	return loss + special.LogRising(s, n)
}

// gradient sets grad [O, 2] to the first derivative of the loss of votes [d] by each output, and to the curvature of
// its Newton step. With D_i = ψ(α_i + v_i) − ψ(α_i) and A = Σμ_i D_i,
//
//	∂/∂logit_k = −α_k(D_k − A),                       h = n(S+1)/(S+n)·μ_k(1−μ_k) + 10⁻³
//	∂/∂log S   = S(ψ(S+n) − ψ(S) − A),                h = (d−1)/2·(S(n−1)/((S+n)(S+1)))² + 0.02
//
// The curvatures are those of a quasi-likelihood with the same mean and variance, positive everywhere.
func gradient(grad, out, votes, alpha []float32, weight float64) {
	d := len(votes)
	logAlpha(alpha, out)
	s, n, mean := 0.0, 0.0, 0.0
	for i, a := range alpha {
		s += math.Exp(float64(a))
		n += float64(votes[i])
	}
	if n == 0 || weight == 0 {
		clear(grad)
		return
	}
	var few [16]float64
	diff := few[:]
	if d > len(few) {
		diff = make([]float64, d)
	}
	for i, a := range alpha {
		diff[i] = 0
		if v := votes[i]; v > 0 {
			alpha := math.Exp(float64(a))
			diff[i] = special.DigammaDiff(alpha, float64(v))
			mean += alpha / s * diff[i]
		}
	}
	info := n * (s + 1) / (s + n)
	set := func(k int, g, h float64) { grad[2*k], grad[2*k+1] = float32(weight*g), float32(weight*h) }
	first := 0
	if d == 2 {
		first = 1 // the only logit is that of the second class
	}
	for i := first; i < d; i++ {
		a := math.Exp(float64(alpha[i]))
		mu := a / s
		set(i-first, -a*(diff[i]-mean), info*mu*(1-mu)+1e-3)
	}
	r := s * (n - 1) / ((s + n) * (s + 1))
	set(d-first, s*(special.DigammaDiff(s, n)-mean), float64(d-1)/2*r*r+0.02)
}
