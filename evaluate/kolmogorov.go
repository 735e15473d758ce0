package evaluate

import (
	"cmp"
	"math"
	"slices"
)

// kolmogorovSmirnov returns sup|ECDF − u| of a sample u from [0, 1], and the
// p-value of its being uniform. The sample is sorted in place.
//
// With n observations the p-value is 1 − K((√n + 0.12 + 0.11/√n) D), K being
// Kolmogorov's limiting distribution (Stephens 1970). From n = 10 on it is within
// 0.001 of the exact one where that is below 0.1, within 0.023 elsewhere.
func kolmogorovSmirnov(u []float64) (d, p float64) {
	n := float64(len(u))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(u)
	for i, x := range u {
		d = max(d, x-float64(i)/n, float64(i+1)/n-x)
	}
	root := math.Sqrt(n)
	return d, kolmogorovTail((root + 0.12 + 0.11/root) * d)
}

// kolmogorovTail returns 2 Σ_{k≥1} (−1)^{k−1} e^{−2k²x²} or, for small x, one
// minus √(2π)/x Σ_{k≥1} e^{−(2k−1)²π²/(8x²)}, which then converges faster.
func kolmogorovTail(x float64) float64 {
	if x <= 0 {
		return 1
	}
	if x < 1 {
		s := 0.0
		for k := 1.0; k < 20; k += 2 {
			s += math.Exp(-k * k * math.Pi * math.Pi / (8 * x * x))
		}
		return min(1, 1-math.Sqrt(2*math.Pi)/x*s)
	}
	s, sign := 0.0, 1.0
	for k := 1.0; k < 20; k++ {
		s += sign * math.Exp(-2*k*k*x*x)
		sign = -sign
	}
	return 2 * s
}

// holm adjusts p-values for their number (Holm 1979): sorted increasingly, the
// k-th of n is multiplied by n − k + 1, and none is smaller than the one before.
// Those that are NaN are left out.
func holm(p []float64) []float64 {
	adjusted := slices.Clone(p)
	var order []int
	for i, x := range p {
		if !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	last := 0.0
	for k, i := range order {
		last = max(last, min(1, p[i]*float64(len(order)-k)))
		adjusted[i] = last
	}
	return adjusted
}

// twoSidedNormal returns the chance that a standard normal variable is further
// from zero than z.
func twoSidedNormal(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// normal975 is the 97.5% quantile of the standard normal distribution.
const normal975 = 1.959963984540054
