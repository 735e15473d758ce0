// Package logistic fits ridge logistic regressions with two or more classes to soft
// labels, by Newton's method with conjugate gradients. The examples are a
// [Matrix], dense or sparse.
//
// Shapes: n examples, f features, d classes, c outputs: one per class, or one for
// two classes, in which case the other logit is 0.
package logistic

import (
	"context"
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/par"
	"credence/internal/special"
)

// Matrix holds the features x of the examples, [n × f]. Weights are a vector of
// f·c numbers, in an order defined by the implementation.
type Matrix interface {
	// Size returns n and f.
	Size() (examples, features int)
	// Multiply sets z [n × c] to the products Wx_i.
	Multiply(z, w []float64, c int)
	// MultiplyTransposed sets w to the sum over examples of r_i ⊗ x_i, r being [n × c].
	MultiplyTransposed(w, r []float64, c int)
}

// Problem is the minimization over W [f·c] and b [c] of
//
//	Σ_i w_i (ln Σ_k exp z_ik − Σ_k y_ik z_ik) + ½ λ ‖W‖² + ½ λ₀ ‖b‖²,   z_i = Wx_i + b.
type Problem struct {
	X       Matrix
	Labels  []float64 // y [n × d], each row sums to 1
	Weights []float64 // w [n], 0 for held-out examples
	Classes int       // d
	Outputs int       // c
	Penalty float64   // λ
	// BiasPenalty is λ₀. A tiny value keeps b finite if a class has no votes.
	BiasPenalty float64
	// Tolerance is the norm of the gradient at the solution, relative to that at 0.
	Tolerance float64
}

// Solution is a point with its logits.
type Solution struct {
	Theta []float64 // W, then b: [f·c + c]
	Z     []float64 // [n × c], including held-out examples
}

// Start returns the point with all parameters zero.
func (p *Problem) Start() *Solution {
	n, f := p.X.Size()
	return &Solution{make([]float64, (f+1)*p.Outputs), make([]float64, n*p.Outputs)}
}

// CrossEntropy returns −Σ_k y_k ln p_k for logits z.
func CrossEntropy(y, z []float64) float64 {
	if len(z) == 1 {
		return special.Softplus(z[0]) - y[1]*z[0]
	}
	top, sum, dot := slices.Max(z), 0.0, 0.0
	for k, v := range z {
		sum += math.Exp(v - top)
		dot += y[k] * v
	}
	return top + math.Log(sum) - dot
}

// Softmax sets p to exp(z)/Σ exp(z). No probability is smaller than 1e-300.
func Softmax(p, z []float64) {
	top, sum := slices.Max(z), 0.0
	for k, v := range z {
		p[k] = math.Exp(v - top)
		sum += p[k]
	}
	for k := range p {
		p[k] = max(p[k]/sum, 1e-300)
	}
}

// Limits of the solver.
const (
	newtonSteps = 30
	cgSteps     = 100
)

// Solve improves s until the gradient is small, by Newton's method with
// conjugate gradients (Nocedal and Wright, Numerical Optimization, 2006,
// algorithm 7.1). If ctx is canceled it stops early.
func (p *Problem) Solve(ctx context.Context, s *Solution) {
	size, outputs := len(s.Theta), len(s.Z)
	x := &solver{Problem: p, Solution: s, weights: size - p.Outputs,
		grad: make([]float64, size), step: make([]float64, size), stepZ: make([]float64, outputs),
		residual: make([]float64, size), dir: make([]float64, size), dirZ: make([]float64, outputs),
		hessianDir: make([]float64, size), prob: make([]float64, outputs), slope: make([]float64, outputs)}
	// The approximate norm of the gradient at 0.
	total := special.Sum(p.Weights)
	scale := math.Sqrt(total) + total/100
	for range newtonSteps {
		x.gradient()
		norm := math.Sqrt(kernel.Dot64(x.grad, x.grad))
		if norm <= p.Tolerance*max(scale, 1e-300) || ctx.Err() != nil {
			return
		}
		x.conjugate(ctx, norm*min(0.25, math.Sqrt(norm/scale)))
		if !x.search() {
			return
		}
	}
}

// solver is the working memory of a fit. Gradients, steps and directions are [f·c + c]
// in the order of Theta, and the corresponding logits [n × c].
type solver struct {
	*Problem
	*Solution
	weights int // the length of W, which is the offset of b in Theta

	grad, step, residual, dir []float64
	hessianDir                []float64 // the product of the Hessian and dir
	stepZ, dirZ               []float64 // the logits of step and dir
	prob                      []float64 // class probabilities of the outputs at Z
	slope                     []float64 // derivatives with respect to the logits
}

// each calls body for every example, with the index range of its outputs.
func (x *solver) each(body func(i, from, to int)) {
	par.Chunks(len(x.Weights), 256, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			body(i, i*x.Outputs, (i+1)*x.Outputs)
		}
	})
}

// gradient sets prob, and grad to Σ_i w_i (p_i − y_i) ⊗ (x_i, 1) plus the gradient of the penalty.
func (x *solver) gradient() {
	x.each(func(i, from, to int) {
		w, p, r := x.Weights[i], x.prob[from:to], x.slope[from:to]
		switch {
		case w == 0:
			clear(r)
			return
		case len(p) == 1:
			p[0] = 1 / (1 + math.Exp(-x.Z[from]))
		default:
			Softmax(p, x.Z[from:to])
		}
		y := x.Labels[(i+1)*x.Classes-x.Outputs : (i+1)*x.Classes] // a single output is for the second class
		for k := range p {
			r[k] = w * (p[k] - y[k])
		}
	})
	x.backward(x.grad, x.Theta)
}

// backward sets out to Σ_i slope_i ⊗ (x_i, 1) plus the product of the Hessian of the penalty and v.
func (x *solver) backward(out, v []float64) {
	w, b := out[:x.weights], out[x.weights:]
	x.X.MultiplyTransposed(w, x.slope, x.Outputs)
	clear(b)
	for from := 0; from < len(x.slope); from += len(b) {
		for k := range b {
			b[k] += x.slope[from+k]
		}
	}
	kernel.Axpy64(x.Penalty, v[:x.weights], w)
	kernel.Axpy64(x.BiasPenalty, v[x.weights:], b)
}

// conjugate sets step to approximately −H⁻¹·grad, with a residual of at most the
// tolerance, and stepZ to its logits. H is the Hessian at prob.
func (x *solver) conjugate(ctx context.Context, tolerance float64) {
	clear(x.step)
	clear(x.stepZ)
	for j, v := range x.grad {
		x.residual[j], x.dir[j] = -v, -v
	}
	rr := kernel.Dot64(x.residual, x.residual)
	for range cgSteps {
		x.multiplyHessian()
		t := rr / kernel.Dot64(x.dir, x.hessianDir)
		kernel.Axpy64(t, x.dir, x.step)
		kernel.Axpy64(t, x.dirZ, x.stepZ)
		kernel.Axpy64(-t, x.hessianDir, x.residual)
		next := kernel.Dot64(x.residual, x.residual)
		if math.Sqrt(next) <= tolerance || ctx.Err() != nil {
			return
		}
		for j, v := range x.residual {
			x.dir[j] = v + next/rr*x.dir[j]
		}
		rr = next
	}
}

// multiplyHessian sets dirZ to the logits of dir, and hessianDir to the product of dir and the Hessian
//
//	Σ_i w_i (diag p_i − p_i p_i') ⊗ (x_i, 1)(x_i, 1)'
//
// plus that of the penalty.
func (x *solver) multiplyHessian() {
	x.X.Multiply(x.dirZ, x.dir[:x.weights], x.Outputs)
	b := x.dir[x.weights:]
	x.each(func(i, from, to int) {
		w, z, p, out := x.Weights[i], x.dirZ[from:to], x.prob[from:to], x.slope[from:to]
		for k, v := range b {
			z[k] += v
		}
		switch {
		case w == 0:
			clear(out)
			return
		case len(z) == 1:
			out[0] = w * p[0] * (1 - p[0]) * z[0]
			return
		}
		mean := 0.0
		for k, v := range z {
			mean += p[k] * v
		}
		for k, v := range z {
			out[k] = w * p[k] * (v - mean)
		}
	})
	x.backward(x.hessianDir, x.dir)
}

// search does a backtracking line search: it takes a step that decreases the objective
// sufficiently, and reports whether it found one.
func (x *solver) search() bool {
	slope := kernel.Dot64(x.grad, x.step)
	if !(slope < 0) {
		return false
	}
	linear, square := x.penalized(x.Theta, x.step), x.penalized(x.step, x.step)/2
	before, z := x.loss(x.Z), x.dirZ
	for t := 1.0; t > 1e-6; t /= 2 {
		for i, v := range x.stepZ {
			z[i] = x.Z[i] + t*v
		}
		if x.loss(z)+t*linear+t*t*square <= before+1e-4*t*slope {
			copy(x.Z, z)
			kernel.Axpy64(t, x.step, x.Theta)
			return true
		}
	}
	return false
}

// penalized returns the product of u, the Hessian of the penalty and v.
func (x *solver) penalized(u, v []float64) float64 {
	w := x.weights
	return x.Penalty*kernel.Dot64(u[:w], v[:w]) + x.BiasPenalty*kernel.Dot64(u[w:], v[w:])
}

// loss returns the objective at logits z, without the penalty.
func (x *solver) loss(z []float64) float64 {
	c, d, sum := x.Outputs, x.Classes, 0.0
	for i, w := range x.Weights {
		if w > 0 {
			sum += w * CrossEntropy(x.Labels[i*d:(i+1)*d], z[i*c:(i+1)*c])
		}
	}
	return sum
}

// Dense is a matrix in row-major order. Its weights are [c × f]. It must not be used
// by concurrent fits.
type Dense struct {
	Columns int
	Values  []float64

	sums [pieces][]float64 // buffers for MultiplyTransposed
}

// pieces is the number of pieces that the rows are split into. Their sums are added in order.
const pieces = 16

// Row returns row j, a slice of Values.
func (x *Dense) Row(j int) []float64 { return x.Values[j*x.Columns : (j+1)*x.Columns] }

// Select returns a matrix of the given rows.
func (x *Dense) Select(rows []int) *Dense {
	s := &Dense{Columns: x.Columns}
	for _, j := range rows {
		s.Values = append(s.Values, x.Row(j)...)
	}
	return s
}

// Size returns the numbers of rows and columns.
func (x *Dense) Size() (examples, features int) { return len(x.Values) / x.Columns, x.Columns }

// Multiply sets z [n × c] to the products Wx_j.
func (x *Dense) Multiply(z, w []float64, c int) {
	x.each(c, func(_, lo, hi int) {
		for j := lo; j < hi; j++ {
			kernel.Dots64(z[j*c:(j+1)*c], w, x.Row(j))
		}
	})
}

// each calls body with every piece of the rows, on all cores, or on one if a product with c outputs
// takes no longer than to wake the others.
func (x *Dense) each(c int, body func(piece, lo, hi int)) {
	n, cores := len(x.Values)/x.Columns, par.Limit(0)
	if len(x.Values)*c < 1<<15 {
		cores = 1
	}
	cores.For(pieces, func(p int) { body(p, p*n/pieces, (p+1)*n/pieces) })
}

// MultiplyTransposed sets w to the sum over rows of r_j ⊗ x_j.
func (x *Dense) MultiplyTransposed(w, r []float64, c int) {
	x.each(c, func(p, lo, hi int) {
		if len(x.sums[p]) != len(w) {
			x.sums[p] = make([]float64, len(w))
		}
		x.addRows(x.sums[p], r, c, lo, hi)
	})
	clear(w)
	for _, s := range x.sums {
		kernel.Axpy64(1, s, w)
	}
}

// addRows sets sum to the sum over rows lo … hi−1. It adds a few rows at a time to
// a stretch of the sum while both are in the first-level cache. Each element is
// still summed in the order of the rows.
func (x *Dense) addRows(sum, r []float64, c, lo, hi int) {
	const few, stretch = 4, 512
	f := x.Columns
	clear(sum)
	slopes := make([]float64, c*few) // [c, few]
	for j := lo; j < hi; j += few {
		n := min(few, hi-j)
		for i := range n {
			for k := range c {
				slopes[k*few+i] = r[(j+i)*c+k]
			}
		}
		for from := 0; from < f; from += stretch {
			to := min(from+stretch, f)
			for k := range c {
				kernel.AddRows64(sum[k*f+from:k*f+to], slopes[k*few:k*few+n], x.Values[j*f+from:], f)
			}
		}
	}
}
