package evaluate

import (
	"math"

	"credence/internal/kernel"
)

// minimize finds a minimum of a smooth function by the limited-memory BFGS
// method (Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.4) with
// a line search for the weak Wolfe conditions by bisection (Lewis and Overton
// 2013). f returns the value at x and sets grad; x is the start and becomes the
// end. It stops when two steps in a row gain less than tolerance·max(1, |f|).
func minimize(f func(x, grad []float64) float64, x []float64, tolerance float64, iterations int) float64 {
	const memory = 10
	n := len(x)
	grad, next, nextGrad := make([]float64, n), make([]float64, n), make([]float64, n)
	dir := make([]float64, n)
	var steps, turns [][]float64 // the last changes of x and of the gradient
	var curvature []float64      // their products, positive

	value := f(x, grad)
	small := 0
	for it := range iterations {
		twoLoop(dir, grad, steps, turns, curvature)
		slope := kernel.Dot64(dir, grad)
		if !(slope < 0) {
			return value
		}
		t := 1.0
		if it == 0 {
			t = 1 / max(1, math.Sqrt(kernel.Dot64(grad, grad)))
		}
		t, after := lineSearch(f, x, dir, value, slope, t, next, nextGrad)
		if t == 0 {
			return value
		}
		s, y := make([]float64, n), make([]float64, n)
		for i := range x {
			s[i] = next[i] - x[i]
			y[i] = nextGrad[i] - grad[i]
		}
		if c := kernel.Dot64(s, y); c > 1e-12*kernel.Dot64(y, y) {
			steps, turns, curvature = append(steps, s), append(turns, y), append(curvature, c)
			if len(steps) > memory {
				steps, turns, curvature = steps[1:], turns[1:], curvature[1:]
			}
		}
		gain := value - after
		copy(x, next)
		copy(grad, nextGrad)
		value = after
		if gain > tolerance*max(1, math.Abs(value)) {
			small = 0
		} else if small++; small == 2 {
			return value
		}
	}
	return value
}

// twoLoop sets dir to minus the inverse Hessian, as the memory has it, times
// the gradient.
func twoLoop(dir, grad []float64, steps, turns [][]float64, curvature []float64) {
	for i, g := range grad {
		dir[i] = -g
	}
	k := len(steps)
	if k == 0 {
		return
	}
	a := make([]float64, k)
	for i := k - 1; i >= 0; i-- {
		a[i] = kernel.Dot64(steps[i], dir) / curvature[i]
		kernel.Axpy64(-a[i], turns[i], dir)
	}
	scale := curvature[k-1] / kernel.Dot64(turns[k-1], turns[k-1])
	for i := range dir {
		dir[i] *= scale
	}
	for i := range k {
		kernel.Axpy64(a[i]-kernel.Dot64(turns[i], dir)/curvature[i], steps[i], dir)
	}
}

// lineSearch returns a step t along dir, with next = x + t·dir and its gradient
// set, that decreases f enough and far enough; 0 if there is none.
func lineSearch(f func(x, grad []float64) float64, x, dir []float64, value, slope, t float64, next, grad []float64) (step, after float64) {
	lo, hi := 0.0, math.Inf(1)
	best := 0.0
	for range 50 {
		for i := range x {
			next[i] = x[i] + t*dir[i]
		}
		after = f(next, grad)
		switch {
		case !(after <= value+1e-4*t*slope):
			hi = t
		case kernel.Dot64(grad, dir) < 0.9*slope:
			lo, best = t, t
		default:
			return t, after
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
	if best == 0 {
		return 0, value
	}
	for i := range x {
		next[i] = x[i] + best*dir[i]
	}
	return best, f(next, grad)
}
