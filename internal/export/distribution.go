package export

import (
	"credence/head"
	"credence/internal/onnx"
)

// dist is a mixture of Dirichlet distributions per item.
type dist struct {
	weights string // [N, K, 1]
	alpha   string // [N, K, d]
	k, d    int
}

// with returns the mixture with other parameters.
func (m dist) with(alpha string) dist {
	m.alpha = alpha
	return m
}

// decode returns the mixture of the raw outputs of networks [N, outputs], of each logits of the weights of its components
// and logarithms of their parameters, and of log α of a further component of each by its forest [N, d], with the given share
// of the weight. There are no forests, or no networks if their share is 1.
func (b *builder) decode(method head.Mixture, raw, forests []string, share float64, d int) dist {
	k, members := method.Components, max(len(raw), len(forests))
	m := dist{d: d}
	var weights, alpha []string
	add := func(w, a string, k int) {
		weights, alpha = append(weights, b.reshape(w, k, 1)), append(alpha, b.reshape(a, k, d))
		m.k += k
	}
	for i := range members {
		if raw != nil {
			w := b.AddWith("Softmax", []onnx.Attr{{Name: "axis", Value: 1}}, b.slice(raw[i], 1, 0, k))
			a := b.Add("Exp", b.clip(b.slice(raw[i], 1, k, k+k*d), -method.Limit, method.Limit))
			add(b.div(w, b.num(float64(members)/(1-share))), a, k)
		}
		if forests != nil {
			a := b.Add("Exp", forests[i])
			one := b.add(b.mul(b.slice(a, 1, 0, 1), b.num(0)), b.num(share/float64(members))) // [N, 1]
			add(one, a, 1)
		}
	}
	m.weights, m.alpha = b.concat(1, weights), b.concat(1, alpha)
	return m
}

// summary has quantities of a mixture, with g(m) = 1 − Σm_i².
type summary struct {
	total    string // [N, K, 1] Σα
	means    string // [N, K, d] of components
	mean     string // [N, 1, d]
	distance string // [N, K, d] component mean − mean
	within   string // [N, K, 1] w g(m), which Σα + 1 divides
	trace    string // [N, 1, 1] Σ_i Var p_i
}

// summarize computes them.
func (b *builder) summarize(m dist) summary {
	var s summary
	s.total = b.sum(m.alpha, 2)
	s.means = b.div(m.alpha, s.total)
	s.mean = b.sum(b.mul(m.weights, s.means), 1)
	s.distance = b.sub(s.means, s.mean)
	s.within = b.mul(m.weights, b.simplexVariance(s.means, m.d))
	inner := b.sum(b.div(s.within, b.add(s.total, b.num(1))), 1)
	s.trace = b.add(inner, b.between(m.weights, s.distance))
	return s
}

// between returns Σ_k w_k |distance_k|² [N, 1, 1].
func (b *builder) between(weights, distance string) string {
	return b.sum(b.mul(weights, b.sum(b.mul(distance, distance), 2)), 1)
}

// simplexVariance returns 1 − Σm_i² of rows m that sum to one, as Σ m_i Σ_{j≠i} m_j, which keeps its digits next to a
// corner.
func (b *builder) simplexVariance(m string, d int) string {
	others := make([]float64, d*d)
	for i := range others {
		if i%(d+1) != 0 {
			others[i] = 1
		}
	}
	return b.sum(b.mul(m, b.Add("MatMul", m, b.Doubles(others, d, d))), 2)
}

// moments returns the means and the variances of the class probabilities, [N, 1, d]:
//
//	Var p_i = Σ_k w_k (m_ki (1 − m_ki)/(α_k0 + 1) + (m_ki − μ_i)²).
func (b *builder) moments(m dist) (mean, variance string) {
	s := b.summarize(m)
	inner := b.div(b.mul(s.means, b.sub(b.num(1), s.means)), b.add(s.total, b.num(1)))
	return s.mean, b.sum(b.mul(m.weights, b.add(inner, b.mul(s.distance, s.distance))), 1)
}
