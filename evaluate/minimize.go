package evaluate

import "math"

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
		slope := dot(dir, grad)
		if !(slope < 0) {
			return value
		}
		t := 1.0
		if it == 0 {
			t = 1 / max(1, math.Sqrt(dot(grad, grad)))
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
		if c := dot(s, y); c > 1e-12*dot(y, y) {
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
		a[i] = dot(steps[i], dir) / curvature[i]
		axpy(-a[i], turns[i], dir)
	}
	scale := curvature[k-1] / dot(turns[k-1], turns[k-1])
	for i := range dir {
		dir[i] *= scale
	}
	for i := range k {
		axpy(a[i]-dot(turns[i], dir)/curvature[i], steps[i], dir)
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
		case dot(grad, dir) < 0.9*slope:
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

// dot returns Σ a_i b_i, in four sums that a processor can run side by side.
func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// axpy adds a·x to y.
func axpy(a float64, x, y []float64) {
	y = y[:len(x)]
	for len(x) >= 4 && len(y) >= 4 {
		y[0] += a * x[0]
		y[1] += a * x[1]
		y[2] += a * x[2]
		y[3] += a * x[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		y[i] += a * v
	}
}
