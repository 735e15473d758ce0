package evaluate

import (
	"math"
	"slices"

	"credence/internal/kernel"
)

// objective returns the value and the gradient of a smooth function.
type objective func(x []float64) (value float64, grad []float64)

// change is that of x and of the gradient in a step, and their product, which is positive.
type change struct {
	x, grad   []float64
	curvature float64
}

// minimize finds a minimum of a smooth function by the limited-memory BFGS
// method (Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.4) with
// a line search for the weak Wolfe conditions by bisection (Lewis and Overton
// 2013). It returns the end for the start x, and stops when two steps in a row
// gain less than tolerance·max(1, |f|).
func minimize(f objective, x []float64, tolerance float64, iterations int) []float64 {
	const memory = 10
	var last []change
	value, grad := f(x)
	small := 0
	for it := range iterations {
		dir := descent(grad, last)
		slope := kernel.Dot64(dir, grad)
		if !(slope < 0) {
			return x
		}
		t := 1.0
		if it == 0 {
			t = 1 / max(1, math.Sqrt(kernel.Dot64(grad, grad)))
		}
		next, after, nextGrad := lineSearch(f, x, dir, value, slope, t)
		if next == nil {
			return x
		}
		c := change{x: along(next, -1, x), grad: along(nextGrad, -1, grad)}
		if c.curvature = kernel.Dot64(c.x, c.grad); c.curvature > 1e-12*kernel.Dot64(c.grad, c.grad) {
			last = append(last, c)
			last = last[max(0, len(last)-memory):]
		}
		gain := value - after
		x, value, grad = next, after, nextGrad
		if gain > tolerance*max(1, math.Abs(value)) {
			small = 0
		} else if small++; small == 2 {
			return x
		}
	}
	return x
}

// descent returns minus the inverse Hessian, as the last changes have it, times
// the gradient.
func descent(grad []float64, last []change) []float64 {
	dir, scale := make([]float64, len(grad)), 1.0
	kernel.Axpy64(-1, grad, dir)
	a := make([]float64, len(last))
	for i, c := range slices.Backward(last) {
		a[i] = kernel.Dot64(c.x, dir) / c.curvature
		kernel.Axpy64(-a[i], c.grad, dir)
	}
	if k := len(last) - 1; k >= 0 {
		scale = last[k].curvature / kernel.Dot64(last[k].grad, last[k].grad)
	}
	for i := range dir {
		dir[i] *= scale
	}
	for i, c := range last {
		kernel.Axpy64(a[i]-kernel.Dot64(c.grad, dir)/c.curvature, c.x, dir)
	}
	return dir
}

// lineSearch returns a point x + t·dir, with its value and gradient, that
// decreases f enough and far enough; nil if there is none.
func lineSearch(f objective, x, dir []float64, value, slope, t float64) (best []float64, after float64, grad []float64) {
	lo, hi := 0.0, math.Inf(1)
	for range 50 {
		next := along(x, t, dir)
		v, g := f(next)
		if v <= value+1e-4*t*slope {
			best, after, grad, lo = next, v, g, t
			if !(kernel.Dot64(g, dir) < 0.9*slope) {
				break
			}
		} else {
			hi = t
		}
		if math.IsInf(hi, 1) {
			t *= 2
		} else {
			t = lo + (hi-lo)/2
		}
		if t == lo || t == hi {
			break
		}
	}
	return best, after, grad
}

// along returns x + t·dir.
func along(x []float64, t float64, dir []float64) []float64 {
	y := slices.Clone(x)
	kernel.Axpy64(t, dir, y)
	return y
}
