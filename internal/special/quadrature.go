package special

import (
	"math"
	"sync"

	"credence/internal/kernel"
)

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
	s, sign, smaller := a+b, 1.0, y
	if x <= 0.5 {
		sign, smaller = -1, x
	}
	return tailIntegral(l, s*x*y, func(t float64) float64 {
		return -l*t - s*(log1pmx(smaller*math.Expm1(sign*t))+smaller*expm1mx(sign*t))
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
	nodes, weights := legendre32()
	sum, h := 0.0, end/2
	for i, u := range nodes {
		sum += h * weights[i] * math.Exp(f(h-h*u))
		sum += h * weights[i] * math.Exp(f(h+h*u))
	}
	return sum
}

// legendre32 returns the positive nodes of 32-point Gauss–Legendre quadrature on [−1, 1] and their
// weights.
var legendre32 = sync.OnceValues(func() (nodes, weights []float64) { return legendre(32) })

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

// Rule is an n-point Gauss–Legendre rule, n even and at most kernel.PanelPoints, that
// integrates a function known at its nodes over a whole stretch, from every node to
// the stretch's end, or against a power.
//
// Points k < n/2 are the positive nodes in decreasing order, and point n/2 + k
// mirrors point k.
type Rule struct {
	nodes, weights []float64 // the positive nodes and their weights, [n/2]
	basis          []float64 // [n, n]: degree m, point k: see PowerWeights

	// Of a panel, whose points are the rule's and more of weight zero up to whole vectors: see Panel.
	points, weightsOf []float64 // [padded] on [−1, 1]
	integrals         []float64 // [n, padded]: row l, column k: the integral from point k to 1 of the function that is 1 at point l and 0 at others
}

// NewRule returns the rule with n points, n even.
func NewRule(n int) *Rule {
	h := n / 2
	padded := (n + kernel.PanelLanes - 1) / kernel.PanelLanes * kernel.PanelLanes
	r := &Rule{
		basis: make([]float64, n*n), integrals: make([]float64, n*padded),
		points: make([]float64, padded), weightsOf: make([]float64, padded),
	}
	r.nodes, r.weights = legendre(n)
	for k := range padded {
		r.points[k] = r.At(min(k, n-1), 0, 1)
		if k < n {
			r.weightsOf[k] = r.weights[k%h]
		}
	}
	// p[k*(n+1)+m] is P_m at point k.
	p := make([]float64, n*(n+1))
	for k := range n {
		at := p[k*(n+1) : (k+1)*(n+1)]
		z := r.points[k]
		at[0], at[1] = 1, z
		for m := 2; m <= n; m++ {
			at[m] = (float64(2*m-1)*z*at[m-1] - float64(m-1)*at[m-2]) / float64(m)
		}
		for m := range n {
			r.basis[m*n+k] = float64(2*m+1) / 2 * r.weights[k%h] * at[m]
		}
	}
	// A function is Σ c_m P_m with c_m = Σ_l basis_ml f_l, and
	//
	//	∫_z^1 P_m = (P_{m−1}(z) − P_{m+1}(z)) / (2m+1),   ∫_z^1 P_0 = 1 − z.
	c, column := make([]float64, n), make([]float64, n)
	for k := range n {
		at := p[k*(n+1) : (k+1)*(n+1)]
		c[0] = 1 - at[1]
		for m := 1; m < n; m++ {
			c[m] = (at[m-1] - at[m+1]) / float64(2*m+1)
		}
		clear(column)
		kernel.AddRows64(column, c, r.basis, n)
		for l, v := range column {
			r.integrals[l*padded+k] = v
		}
	}
	return r
}

// Len returns the number of points.
func (r *Rule) Len() int { return 2 * len(r.nodes) }

// At returns point k of the stretch mid ± half.
func (r *Rule) At(k int, mid, half float64) float64 {
	if h := len(r.nodes); k >= h {
		return mid - half*r.nodes[k-h]
	}
	return mid + half*r.nodes[k]
}

// Panel sets points and weights, which have room for kernel.PanelPoints, to those of the stretch mid ± half, and returns their number and
// the integrals of [kernel.PanelBelow], to be multiplied by half: from each point to the end of the stretch, exact for polynomials of a
// degree below n. The weights of points beyond the rule's are zero.
func (r *Rule) Panel(points, weights []float64, mid, half float64) (n int, integrals []float64) {
	points, weights = points[:len(r.points)], weights[:len(r.points)]
	for k, z := range r.points {
		points[k], weights[k] = mid+half*z, half*r.weightsOf[k]
	}
	return len(r.points), r.integrals
}

// RuleScratch is the memory that [Rule.PowerWeights] needs.
const RuleScratch = kernel.PanelPoints

// PowerWeights sets dst [n] to the weights with which
//
//	∫₀¹ xᵃ⁻¹ g(x) dx = Σ_k dst_k g(x_k),   x_k = At(k, ½, ½),
//
// exactly if g is a polynomial of a degree below n, for any a > 0; scratch has RuleScratch values. They come
// from the moments of the Legendre polynomials on [0, 1],
//
//	∫₀¹ xᵃ⁻¹ P_m(2x−1) dx = (a−1)(a−2)…(a−m) / (a(a+1)…(a+m)).
func (r *Rule) PowerWeights(dst, scratch []float64, a float64) {
	n := r.Len()
	moments := scratch[:n]
	moments[0] = 1 / a
	for m := 1; m < n; m++ {
		moments[m] = moments[m-1] * (a - float64(m)) / (a + float64(m))
	}
	clear(dst[:n])
	kernel.AddRows64(dst[:n], moments, r.basis, n)
}
