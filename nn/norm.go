package nn

import (
	"cmp"
	"math"

	"credence/internal/kernel"
)

// BatchNorm normalizes each channel to mean 0 and variance 1 over the whole
// batch, then scales and shifts it (Ioffe and Szegedy 2015):
//
//	x̂ = (x − μ)/√(σ² + ε),    y = γ·x̂ + β
//
// While training it keeps running statistics, with Bessel's correction in the
// variance; otherwise it uses them.
//
//	C channels, s values per channel
//	x, y, dx, dy        [N, C, s]
//	γ, β, mean, inv     [C]    mean and inv are μ and 1/√(σ² + ε) as used
type BatchNorm struct {
	Epsilon  float64 // zero means 1e-5
	Momentum float64 // weight of a new batch in the running statistics; zero means 0.1

	channels, size       int
	gamma, beta          *Param
	runMean, runVariance *Param
	mean, inv            []float32
	grads                []kernel.NormGrad // [C], of the backward pass
	fwd, bwd             func(c int)
	pass                 *Pass
	y, x, dx, dy         []float32
}

// Build implements [Layer].
func (l *BatchNorm) Build(b *Builder, in Shape) (Shape, error) {
	c := in[0]
	l.channels, l.size = c, in.Size()/c
	l.gamma = b.Const("weight", Shape{c}, 1)
	l.beta = b.Const("bias", Shape{c}, 0)
	l.runMean = b.State("running_mean", Shape{c}, 0)
	l.runVariance = b.State("running_var", Shape{c}, 1)
	b.hold(2 * c)
	b.OnForward(func(int) { l.mean, l.inv = make([]float32, c), make([]float32, c) })
	b.OnBackward(func(int) { l.grads = make([]kernel.NormGrad, c) })
	l.fwd, l.bwd = l.forward, l.backward
	return in, nil
}

// Forward implements [Layer].
func (l *BatchNorm) Forward(p *Pass, y, x []float32) {
	l.pass, l.y, l.x = p, y, x
	p.For(l.channels, l.fwd)
}

// row is where item j's channel c starts.
func (l *BatchNorm) row(j, c int) int { return (j*l.channels + c) * l.size }

func (l *BatchNorm) forward(c int) {
	l.statistics(c)
	a := l.inv[c] * l.gamma.Value[c]
	b := l.beta.Value[c]
	mean := l.mean[c]
	for j := range l.pass.Items {
		at := l.row(j, c)
		kernel.Normalize(l.y[at:][:l.size], l.x[at:][:l.size], mean, a, b)
	}
}

// statistics sets mean and inv of channel c, and the running ones in training.
func (l *BatchNorm) statistics(c int) {
	eps := epsilon(l.Epsilon)
	if !l.pass.Train {
		l.mean[c] = l.runMean.Value[c]
		l.inv[c] = float32(1 / math.Sqrt(float64(l.runVariance.Value[c])+eps))
		return
	}
	n := float64(l.pass.Items * l.size)
	var sum, sq float64
	for j := range l.pass.Items {
		x := l.x[l.row(j, c):][:l.size]
		sum += kernel.Sum(x)
		sq += kernel.SumSq(x)
	}
	mean := sum / n
	sq = squares(sum, sq, n)
	l.mean[c], l.inv[c] = float32(mean), float32(1/math.Sqrt(sq/n+eps))
	momentum := l.momentum()
	run(&l.runMean.Value[c], momentum, mean)
	run(&l.runVariance.Value[c], momentum, sq/math.Max(n-1, 1))
}

// momentum is the weight of a new batch in the running statistics.
func (l *BatchNorm) momentum() float64 { return cmp.Or(l.Momentum, 0.1) }

// run moves a running statistic towards x.
func run(r *float32, momentum, x float64) {
	*r = float32((1-momentum)*float64(*r) + momentum*x)
}

// Backward implements [Layer]. In training, with means over the batch,
//
//	dx = γ/√(σ² + ε) · (dy − mean dy − x̂·mean(dy·x̂))
//
// otherwise the statistics are constants and dx = γ/√(σ² + ε) · dy.
func (l *BatchNorm) Backward(p *Pass, dx, dy, _, x []float32) {
	l.pass, l.dx, l.dy, l.x = p, dx, dy, x
	p.For(l.channels, l.bwd)
}

func (l *BatchNorm) backward(c int) {
	mean, inv := l.mean[c], l.inv[c]
	var sum, dot float64
	for j := range l.pass.Items {
		at := l.row(j, c)
		sum += kernel.Sum(l.dy[at:][:l.size])
		dot += kernel.CentredDot(l.dy[at:][:l.size], l.x[at:][:l.size], mean)
	}
	dot *= float64(inv)
	l.gamma.Grad[c], l.beta.Grad[c] = float32(dot), float32(sum)
	if l.dx == nil {
		return
	}
	p := &l.grads[c]
	*p = kernel.NormGrad{Mean: mean, Inv: inv, Scale: inv * l.gamma.Value[c]}
	if n := float64(l.pass.Items * l.size); l.pass.Train {
		p.A, p.B = float32(sum/n), float32(dot/n)
	}
	for j := range l.pass.Items {
		at := l.row(j, c)
		p.Apply(l.dx[at:][:l.size], l.dy[at:][:l.size], l.x[at:][:l.size])
	}
}

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
	buffer(b.OnForward, &l.mean, 1)
	buffer(b.OnForward, &l.inv, 1)
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
	n, sum := float64(l.size), kernel.Sum(x)
	mean, inv := float32(sum/n), float32(1/math.Sqrt(squares(sum, kernel.SumSq(x), n)/n+epsilon(l.Epsilon)))
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

// squares returns Σ(x − mean)² from Σx and Σx² over n values: in float64, as
// float32 values square exactly there, which is enough unless the mean is 1e6
// standard deviations from zero.
func squares(sum, sumSq, n float64) float64 { return max(sumSq-sum*sum/n, 0) }

// epsilon returns the epsilon of a norm, or the default for zero.
func epsilon(e float64) float64 { return cmp.Or(e, 1e-5) }
