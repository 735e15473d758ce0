package special

import "math"

// Sum returns Σ x, added in order.
func Sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// SumExcept returns the sum of all x_j, j ≠ i. The total less x_i would lose nine digits at x = (1e7, 1e-3).
func SumExcept(x []float64, i int) float64 {
	s := 0.0
	for j, v := range x {
		if j != i {
			s += v
		}
	}
	return s
}

// Normalize divides x by its sum.
func Normalize(x []float64) {
	s := Sum(x)
	for i := range x {
		x[i] /= s
	}
}

// Sigmoid returns 1/(1 + exp(−x)) without overflow.
func Sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// Softplus returns log(1 + exp x) without overflow; log Sigmoid(x) = −Softplus(−x).
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
