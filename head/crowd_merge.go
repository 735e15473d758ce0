package head

import (
	"math"

	"credence/internal/special"
	"credence/mixture"
)

// merge returns the mixture with components merged until there are at most mostParts: again and again
// the lightest joins the one whose mean is nearest, and both become the Dirichlet distribution with
// their mean and the trace of their covariance. Class means and Σ_i Var p_i of the whole stay as they
// are, and no probability changes by more than the weight of the components that were lightest.
func merge(weights []float64, alpha [][]float64) (*mixture.Dirichlet, error) {
	n := 0
	for k, w := range weights {
		if w > 0 {
			weights[n], alpha[n] = w, alpha[k]
			n++
		}
	}
	weights, alpha = weights[:n], alpha[:n]
	for n > mostParts {
		light := 0
		for k, w := range weights[:n] {
			if w < weights[light] {
				light = k
			}
		}
		n--
		w, a := weights[light], alpha[light]
		weights[light], alpha[light] = weights[n], alpha[n]
		near, least := 0, math.Inf(1)
		for k := range n {
			if d := apart(a, alpha[k]); d < least {
				near, least = k, d
			}
		}
		alpha[near] = joined(w, a, weights[near], alpha[near])
		weights[near] += w
	}
	return mixture.NewDirichlet(weights[:n], alpha[:n])
}

// apart returns the squared distance between the means of two Dirichlet distributions.
func apart(a, b []float64) float64 {
	a0, b0, sum := special.Sum(a), special.Sum(b), 0.0
	for i := range a {
		e := a[i]/a0 - b[i]/b0
		sum += e * e
	}
	return sum
}

// joined returns the Dirichlet distribution with the mean and the trace of the covariance of two.
func joined(v float64, a []float64, w float64, b []float64) []float64 {
	a0, b0 := special.Sum(a), special.Sum(b)
	share := v / (v + w)
	mean := make([]float64, len(a))
	ga, gb, g := 1.0, 1.0, 1.0 // 1 − Σ mean²
	for i := range a {
		x, y := a[i]/a0, b[i]/b0
		mean[i] = share*x + (1-share)*y
		ga -= x * x
		gb -= y * y
		g -= mean[i] * mean[i]
	}
	trace := share*ga/(a0+1) + (1-share)*gb/(b0+1) + share*(1-share)*apart(a, b)
	whole := max(a0, b0)
	if trace > 0 && g > trace {
		whole = g/trace - 1
	}
	for i := range mean {
		mean[i] = min(max(mean[i]*whole, 1e-12), 1e12)
	}
	return mean
}
