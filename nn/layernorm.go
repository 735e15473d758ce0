package nn

import (
	"cmp"
	"math"

	"credence/internal/kernel"
)

// LayerNorm normalizes each item to mean 0 and variance 1 over all its values,
// then scales and shifts each value (Ba, Kiros and Hinton 2016):
//
//	x̂ = (x − μ)/√(σ² + ε),    y = γ·x̂ + β
//
//	L values of an item
//	x, y, dx, dy    [N, L]
//	γ, β            [L]
//	mean, inv       [N]    μ and 1/√(σ² + ε)
type LayerNorm struct {
	Epsilon float64 // zero means 1e-5

	size         int
	gamma, beta  *Param
	mean, inv    []float32
	fwd, bwd     func(j int)
	y, x, dx, dy []float32
}

// Build implements [Layer].
func (l *LayerNorm) Build(b *Builder, in Shape) (Shape, error) {
	l.size = in.Size()
	l.gamma = b.Const("weight", Shape{l.size}, 1)
	l.beta = b.Const("bias", Shape{l.size}, 0)
	b.OnForward(func(batch int) { l.mean, l.inv = make([]float32, batch), make([]float32, batch) })
	l.fwd, l.bwd = l.forward, l.backward
	return in, nil
}

// Forward implements [Layer].
func (l *LayerNorm) Forward(p *Pass, y, x []float32) {
	l.y, l.x = y, x
	p.For(p.Items, l.fwd)
}

func (l *LayerNorm) forward(j int) {
	x, y := l.x[j*l.size:][:l.size], l.y[j*l.size:][:l.size]
	mean, inv := moments(x, epsilon(l.Epsilon))
	l.mean[j], l.inv[j] = mean, inv
	for i, v := range x {
		y[i] = (v-mean)*inv*l.gamma.Value[i] + l.beta.Value[i]
	}
}

// Backward implements [Layer]. With g = dy·γ,
//
//	dx = (g − mean g − x̂·mean(g·x̂))/√(σ² + ε)
func (l *LayerNorm) Backward(p *Pass, dx, dy, _, x []float32) {
	dgamma, dbeta := l.gamma.Grad, l.beta.Grad
	clear(dgamma)
	clear(dbeta)
	for j := range p.Items {
		x, dy := x[j*l.size:][:l.size], dy[j*l.size:][:l.size]
		for i, g := range dy {
			dgamma[i] += g * (x[i] - l.mean[j]) * l.inv[j]
			dbeta[i] += g
		}
	}
	if dx != nil {
		l.dx, l.dy, l.x = dx, dy, x
		p.For(p.Items, l.bwd)
	}
}

func (l *LayerNorm) backward(j int) {
	x, dx, dy := l.x[j*l.size:][:l.size], l.dx[j*l.size:][:l.size], l.dy[j*l.size:][:l.size]
	mean, inv := l.mean[j], l.inv[j]
	var sum, dot float64
	for i, v := range dy {
		g := float64(v * l.gamma.Value[i])
		sum += g
		dot += g * float64((x[i]-mean)*inv)
	}
	a, b := float32(sum/float64(l.size)), float32(dot/float64(l.size))
	for i, v := range dy {
		dx[i] = inv * (v*l.gamma.Value[i] - a - (x[i]-mean)*inv*b)
	}
}

// moments returns the mean of x and 1/√(variance + eps).
func moments(x []float32, eps float64) (mean, inv float32) {
	n := float64(len(x))
	sum := kernel.Sum(x)
	return float32(sum / n), float32(1 / math.Sqrt(squares(sum, kernel.SumSq(x), n)/n+eps))
}

// squares returns Σ(x − mean)² from Σx and Σx² over n values: in float64, as
// float32 values square exactly there, which is enough unless the mean is 1e6
// standard deviations from zero.
func squares(sum, sumSq, n float64) float64 { return max(sumSq-sum*sum/n, 0) }

// epsilon is that of a norm, or what stands for none.
func epsilon(e float64) float64 { return cmp.Or(e, 1e-5) }
