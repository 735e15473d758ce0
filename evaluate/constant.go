package evaluate

import (
	"maps"
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/special"
)

// constant predicts the same class probabilities for every item, and treats
// votes as independent.
type constant struct {
	Probabilities []float64 `json:"probabilities"`
}

// fitConstant returns the class frequencies of the votes. Half a vote is added
// to every class, so that no class has probability zero.
func fitConstant(votes Votes) constant {
	p := make([]float64, votes.Classes)
	for k, c := range votes.Counts {
		p[k%votes.Classes] += c
	}
	total := sum(p) + halfVote*float64(len(p))
	for i := range p {
		p[i] = (p[i] + halfVote) / total
	}
	return constant{p}
}

// halfVote is the number of votes added to every class when a constant is fitted:
// Jeffreys' prior for class frequencies.
const halfVote = 0.5

// losses returns the loss of every item's votes, −Σ_i S_i ln p_i.
func (c constant) losses(votes Votes) []float64 {
	return lossesOf(votes, func(_ int, s []float64) float64 { return independentLoss(c.Probabilities, s) })
}

// constantDirichlet predicts the same Dirichlet distribution for every item. It
// uses no features, but models that votes on an item tend to agree.
type constantDirichlet struct {
	Alpha []float64 `json:"alpha"`
	// Identified is false if no item had two votes: then only the mean is fitted,
	// and the concentration Σα is arbitrary.
	Identified bool `json:"identified"`
}

// fitConstantDirichlet maximizes the Dirichlet-multinomial likelihood
//
//	Σ_j ln B(α + S_j)/B(α) + ½ Σ_i ln(α_i/α₀)
//
// over α. The second term, half a vote for every class as in fitConstant, keeps
// the likelihood of a class without votes finite.
func fitConstantDirichlet(votes Votes) constantDirichlet {
	d := votes.Classes
	// The likelihood is a sum over single counts, which have few distinct values:
	// the counts of all classes together, and those of each class.
	totals, counts := newHistogram(votes.Len(), votes.Total), make([]histogram, d)
	for i := range counts {
		counts[i] = newHistogram(votes.Len(), func(j int) float64 { return votes.Item(j)[i] })
	}
	x := make([]float64, d)
	for i, p := range fitConstant(votes).Probabilities {
		x[i] = math.Log(2 * p)
	}
	alphaOf := func(x []float64) []float64 {
		alpha := make([]float64, d)
		for i, l := range x {
			alpha[i] = math.Exp(min(max(l, -logAlphaLimit), logAlphaLimit))
		}
		return alpha
	}
	x = minimize(func(x []float64) (loss float64, grad []float64) {
		alpha, grad := alphaOf(x), make([]float64, d)
		a0 := sum(alpha)
		common := float64(d) * halfVote / a0
		for _, m := range totals.values {
			loss += totals.times[m] * special.LogRising(a0, m)
			common += totals.times[m] * special.DigammaDiff(a0, m)
		}
		for i, c := range counts {
			for _, s := range c.values {
				loss -= c.times[s] * special.LogRising(alpha[i], s)
				grad[i] -= c.times[s] * special.DigammaDiff(alpha[i], s)
			}
		}
		for i, a := range alpha {
			loss -= halfVote * math.Log(a/a0)
			grad[i] = a * (grad[i] - halfVote/a + common)
			if math.Abs(x[i]) > logAlphaLimit {
				grad[i] = 0
			}
		}
		return loss, grad
	}, x, 1e-12, 500)
	return constantDirichlet{alphaOf(x), slices.Max(append(totals.values, 0)) >= 2}
}

// histogram counts how many times each value occurs.
type histogram struct {
	times  map[float64]float64
	values []float64 // in increasing order
}

func newHistogram(n int, value func(j int) float64) histogram {
	times := map[float64]float64{}
	for j := range n {
		times[value(j)]++
	}
	return histogram{times, slices.Sorted(maps.Keys(times))}
}

// logAlphaLimit bounds |ln α|: without disagreement the likelihood increases as
// α → 0, without over-dispersion as α → ∞.
const logAlphaLimit = 20

// losses returns the joint loss of every item's votes, −ln B(α + S)/B(α).
func (c constantDirichlet) losses(votes Votes) []float64 {
	return lossesOf(votes, func(_ int, s []float64) float64 { return dirichletLoss(sum(c.Alpha), 1, c.Alpha, s) })
}

// dirichletLoss returns −ln B(α + s)/B(α), α being scale·a with the sum a0.
func dirichletLoss(a0, scale float64, a, s []float64) float64 {
	l := special.LogRising(a0, sum(s))
	for i, n := range s {
		if n > 0 {
			l -= special.LogRising(max(scale*a[i], 1e-300), n)
		}
	}
	return l
}

// objective returns the value and the gradient of a smooth function.
type objective func(x []float64) (value float64, grad []float64)

// change holds the changes of x and of the gradient in a step, and their product, which is positive.
type change struct {
	x, grad   []float64
	curvature float64
}

// minimize finds a minimum of a smooth function by the limited-memory BFGS
// method (Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.4) with
// a line search for the weak Wolfe conditions by bisection (Lewis and Overton
// 2013). It starts at x, and stops when two steps in a row gain less than
// tolerance·max(1, |f|).
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

// descent returns minus the inverse Hessian, as approximated from the last
// changes, times the gradient.
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

// lineSearch returns a point x + t·dir that meets the weak Wolfe conditions, with
// its value and gradient; nil if there is none.
func lineSearch(f objective, x, dir []float64, value, slope, t float64) (best []float64, low float64, grad []float64) {
	lo, hi := 0.0, math.Inf(1)
	for range 50 {
		next := along(x, t, dir)
		v, g := f(next)
		if v <= value+1e-4*t*slope {
			best, low, grad, lo = next, v, g, t
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
	return best, low, grad
}

// along returns x + t·dir.
func along(x []float64, t float64, dir []float64) []float64 {
	y := slices.Clone(x)
	kernel.Axpy64(t, dir, y)
	return y
}
