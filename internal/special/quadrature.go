package special

import "math"

// quadratureRatio returns I_x(a, b) divided by xᵃyᵇ/B(a, b), for large a and b
// and x at or below the mean; l = ay − bx ≥ 0.
//
// On the logit scale, with t the distance below the logit of x,
//
//	ratio = ∫₀^∞ exp(−l t − s ρ(t)) dt,   s = a+b,
//	ρ(t) = ln(1 + x(e⁻ᵗ−1)) + x t = ln(1 + y(eᵗ−1)) − y t,
//
// where ρ(t) ≈ xyt²/2 is convex and its leading terms never cancel when written
// with whichever of x, y is smaller.
func quadratureRatio(a, b, x, y, l float64) float64 {
	s := a + b
	if x <= 0.5 {
		return tailIntegral(l, s*x*y, func(t float64) float64 {
			return -l*t - s*(log1pmx(x*math.Expm1(-t))+x*expm1mx(-t))
		})
	}
	return tailIntegral(l, s*x*y, func(t float64) float64 {
		return -l*t - s*(log1pmx(y*math.Expm1(t))+y*expm1mx(t))
	})
}

// tailIntegral returns ∫₀^∞ exp(f(t)) dt for a concave f close to −lt − vt²/2,
// l ≥ 0: 32-point Gauss–Legendre up to where the integrand is below 1e-17,
// which is exact to rounding.
func tailIntegral(l, v float64, f func(float64) float64) float64 {
	const drop = 40
	end := 2 * drop / (l + math.Sqrt(l*l+2*v*drop))
	for f(end) > -drop {
		end *= 1.05
	}
	sum, h := 0.0, end/2
	for i, u := range legendreNodes {
		sum += h * legendreWeights[i] * math.Exp(f(h-h*u))
		sum += h * legendreWeights[i] * math.Exp(f(h+h*u))
	}
	return sum
}

// The positive nodes of 32-point Gauss–Legendre quadrature on [−1, 1] and their
// weights.
var legendreNodes, legendreWeights = legendre(32)

// legendre returns the positive roots of P_n, n even, in decreasing order, and
// their weights, by Newton's method from Tricomi's approximation.
func legendre(n int) (nodes, weights []float64) {
	nodes, weights = make([]float64, n/2), make([]float64, n/2)
	for i := range nodes {
		z := math.Cos(math.Pi * (float64(i) + 0.75) / (float64(n) + 0.5))
		var dp float64
		for range 10 {
			p0, p1 := 1.0, z
			for k := 2; k <= n; k++ {
				p0, p1 = p1, (float64(2*k-1)*z*p1-float64(k-1)*p0)/float64(k)
			}
			dp = float64(n) * (z*p1 - p0) / (z*z - 1)
			z -= p1 / dp
		}
		nodes[i] = z
		weights[i] = 2 / ((1 - z*z) * dp * dp)
	}
	return nodes, weights
}
