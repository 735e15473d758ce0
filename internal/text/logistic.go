package text

import (
	"math"

	"credence/internal/kernel"
	"credence/internal/special"
)

// Shapes: n documents, f terms, d classes, c outputs: one for two classes, whose
// other logit is 0, and d for more.

// problem is a ridge logistic regression on soft labels: the minimum over
// W [f × c] and b [c] of
//
//	Σ_i w_i (ln Σ_k exp z_ik − Σ_k y_ik z_ik) + ½ λ ‖W‖² + ½ λ₀ ‖b‖²,   z_i = W'x_i + b.
//
// The tiny λ₀ keeps b finite where a class has no votes.
type problem struct {
	x       *matrix
	labels  []float64 // y [n × d], each row sums to 1
	weights []float64 // w [n], 0 for documents that are held out
	lambda  float64
	classes int
}

const biasPenalty = 1e-2

// Outputs returns the number of logits for so many classes: one for two, else one
// for each.
func Outputs(classes int) int {
	if classes == 2 {
		return 1
	}
	return classes
}

// solution is a point with its logits.
type solution struct {
	w, b []float64 // [f × c], [c]
	z    []float64 // [n × c]
}

func (p *problem) newSolution() *solution {
	c := Outputs(p.classes)
	return &solution{make([]float64, p.x.columns.len()*c), make([]float64, c), make([]float64, p.x.rows.len()*c)}
}

// loss returns the objective at logits z, of weights with the given squares.
func (p *problem) loss(z []float64, squares, biasSquares float64) float64 {
	c := Outputs(p.classes)
	sum := p.lambda/2*squares + biasPenalty/2*biasSquares
	for i, w := range p.weights {
		if w > 0 {
			sum += w * crossEntropy(p.labels[i*p.classes:(i+1)*p.classes], z[i*c:(i+1)*c])
		}
	}
	return sum
}

// crossEntropy returns −Σ_k y_k ln p_k for logits z.
func crossEntropy(y, z []float64) float64 {
	if len(z) == 1 {
		return special.Softplus(z[0]) - y[1]*z[0]
	}
	top := z[0]
	for _, v := range z {
		top = max(top, v)
	}
	sum, dot := 0.0, 0.0
	for k, v := range z {
		sum += math.Exp(v - top)
		dot += y[k] * v
	}
	return top + math.Log(sum) - dot
}

// probabilities sets p [n × c] to those of the outputs' classes.
func (p *problem) probabilities(prob, z []float64) {
	c := Outputs(p.classes)
	for i, w := range p.weights {
		q, z := prob[i*c:(i+1)*c], z[i*c:(i+1)*c]
		switch {
		case w == 0:
		case c == 1:
			q[0] = 1 / (1 + math.Exp(-z[0]))
		default:
			softmax(q, z)
		}
	}
}

func softmax(p, z []float64) {
	top, sum := z[0], 0.0
	for _, v := range z {
		top = max(top, v)
	}
	for k, v := range z {
		p[k] = math.Exp(v - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
}

// Limits of the solver. Logits are inputs of networks: a part in a thousand of
// the gradient is more than they tell.
const (
	newtonSteps = 30
	cgSteps     = 100
	tolerance   = 1e-3 // of the gradient, relative to that at 0
)

// solve improves s until the gradient is small, by Newton's method with
// conjugate gradients (Nocedal and Wright, Numerical Optimization, 2006,
// algorithm 7.1).
func (p *problem) solve(s *solution) {
	c, n := Outputs(p.classes), len(p.weights)
	f := len(s.w) / c
	size := len(s.w) + c
	prob, r := make([]float64, n*c), make([]float64, n*c)
	grad, step, stepZ := make([]float64, size), make([]float64, size), make([]float64, n*c)
	cg := newCG(size, n*c)
	target := 0.0
	for it := range newtonSteps {
		p.probabilities(prob, s.z)
		for i, w := range p.weights {
			for k := range c {
				y := p.labels[i*p.classes+k]
				if c == 1 {
					y = p.labels[i*p.classes+1]
				}
				r[i*c+k] = w * (prob[i*c+k] - y)
				if w == 0 {
					r[i*c+k] = 0
				}
			}
		}
		p.back(grad, r)
		for j, v := range s.w {
			grad[j] += p.lambda * v
		}
		for k, v := range s.b {
			grad[f*c+k] += biasPenalty * v
		}
		norm := math.Sqrt(dot(grad, grad))
		if it == 0 {
			target = tolerance * max(p.scale(), 1e-300)
		}
		if norm <= target {
			return
		}
		cg.solve(p, prob, grad, step, stepZ, norm*min(0.25, math.Sqrt(norm/p.scale())))
		if !p.search(s, grad, step, stepZ) {
			return
		}
	}
}

// scale returns the size of gradients at 0, roughly: the sum of weights.
func (p *problem) scale() float64 {
	sum := 0.0
	for _, w := range p.weights {
		sum += w
	}
	return math.Sqrt(sum) + sum/100
}

// back sets grad [f·c + c] to the sum over documents of r_i ⊗ (x_i, 1).
func (p *problem) back(grad, r []float64) {
	c := Outputs(p.classes)
	f := p.x.columns.len()
	p.x.columns.multiply(grad[:f*c], r, c)
	b := grad[f*c:]
	clear(b)
	for i := range p.weights {
		for k := range c {
			b[k] += r[i*c+k]
		}
	}
}

// forward sets z to the logits of v [f·c + c].
func (p *problem) forward(z, v []float64) {
	c := Outputs(p.classes)
	f := p.x.columns.len()
	p.x.rows.multiply(z, v[:f*c], c)
	for i := range p.weights {
		for k, b := range v[f*c:] {
			z[i*c+k] += b
		}
	}
}

// search takes a step that lowers the loss enough, and reports whether there is
// one.
func (p *problem) search(s *solution, grad, step, stepZ []float64) bool {
	slope := dot(grad, step)
	if !(slope < 0) {
		return false
	}
	f := len(s.w)
	ww, ws, ss := dot(s.w, s.w), dot(s.w, step[:f]), dot(step[:f], step[:f])
	bb, bs, sb := dot(s.b, s.b), dot(s.b, step[f:]), dot(step[f:], step[f:])
	before := p.loss(s.z, ww, bb)
	z := make([]float64, len(s.z))
	for t := 1.0; t > 1e-6; t /= 2 {
		for i := range z {
			z[i] = s.z[i] + t*stepZ[i]
		}
		if p.loss(z, ww+2*t*ws+t*t*ss, bb+2*t*bs+t*t*sb) <= before+1e-4*t*slope {
			copy(s.z, z)
			axpy(t, step[:f], s.w)
			axpy(t, step[f:], s.b)
			return true
		}
	}
	return false
}

// conjugate is the memory of the method of conjugate gradients.
type conjugate struct {
	residual, dir, turned []float64 // [f·c + c]
	dirZ, bent            []float64 // [n × c]
}

func newCG(size, outputs int) *conjugate {
	return &conjugate{make([]float64, size), make([]float64, size), make([]float64, size), make([]float64, outputs), make([]float64, outputs)}
}

// solve sets step to about −H⁻¹·grad, with a residual of at most the tolerance,
// and stepZ to its logits. H is the Hessian at probabilities prob.
func (g *conjugate) solve(p *problem, prob, grad, step, stepZ []float64, tolerance float64) {
	clear(step)
	clear(stepZ)
	for j, v := range grad {
		g.residual[j] = -v
		g.dir[j] = -v
	}
	rr := dot(g.residual, g.residual)
	f := p.x.columns.len() * Outputs(p.classes)
	for range cgSteps {
		p.forward(g.dirZ, g.dir)
		p.bend(g.bent, g.dirZ, prob)
		p.back(g.turned, g.bent)
		axpy(p.lambda, g.dir[:f], g.turned[:f])
		axpy(biasPenalty, g.dir[f:], g.turned[f:])
		t := rr / dot(g.dir, g.turned)
		axpy(t, g.dir, step)
		axpy(t, g.dirZ, stepZ)
		axpy(-t, g.turned, g.residual)
		next := dot(g.residual, g.residual)
		if math.Sqrt(next) <= tolerance {
			return
		}
		for j, v := range g.residual {
			g.dir[j] = v + next/rr*g.dir[j]
		}
		rr = next
	}
}

// bend sets out to w_i (diag p_i − p_i p_i') z_i.
func (p *problem) bend(out, z, prob []float64) {
	c := Outputs(p.classes)
	for i, w := range p.weights {
		o, z, q := out[i*c:(i+1)*c], z[i*c:(i+1)*c], prob[i*c:(i+1)*c]
		if w == 0 {
			clear(o)
			continue
		}
		if c == 1 {
			o[0] = w * q[0] * (1 - q[0]) * z[0]
			continue
		}
		mean := 0.0
		for k, v := range z {
			mean += q[k] * v
		}
		for k, v := range z {
			o[k] = w * q[k] * (v - mean)
		}
	}
}

// dot returns Σ a_i b_i.
func dot(a, b []float64) float64 {
	var sum [1]float64
	kernel.Dots64(sum[:], a, b)
	return sum[0]
}

// axpy adds a·x to y.
func axpy(a float64, x, y []float64) {
	kernel.AddRows64(y, []float64{a}, x, len(x))
}
