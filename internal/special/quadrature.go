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

// Rule is an n-point Gauss–Legendre rule, n even, that integrates a function
// known at its nodes over a whole stretch, from every node to the stretch's end,
// or against a power.
//
// Points k < n/2 are the positive nodes in decreasing order, and point n/2 + k
// mirrors point k.
type Rule struct {
	nodes, weights []float64 // the positive nodes and their weights, [n/2]
	even, odd      []float64 // [ld, ld]: column k, row l: see Above
	ld             int       // n/2, rounded up to whole vectors; what is behind n/2 is zero
	basis          []float64 // [n, n]: degree m, point k: see PowerWeights
}

// NewRule returns the rule with n points, n even.
func NewRule(n int) *Rule {
	h := n / 2
	ld := (h + 3) / 4 * 4
	r := &Rule{even: make([]float64, ld*ld), odd: make([]float64, ld*ld), ld: ld, basis: make([]float64, n*n)}
	r.nodes, r.weights = legendre(n)
	// p[k*(n+1)+m] is P_m at point k.
	p := make([]float64, n*(n+1))
	for k := range n {
		at := p[k*(n+1) : (k+1)*(n+1)]
		z := r.At(k, 0, 1)
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
	for k := range h {
		at := p[k*(n+1) : (k+1)*(n+1)]
		for l := range h {
			r.even[l*ld+k] = 2 * r.basis[l] * (1 - at[1])
			for m := 1; m < n; m++ {
				c := 2 * r.basis[m*n+l] * (at[m-1] - at[m+1]) / float64(2*m+1)
				if m%2 == 0 {
					r.even[l*ld+k] += c
				} else {
					r.odd[l*ld+k] += c
				}
			}
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

// Weight returns the weight of point k of a stretch of the given half-length.
func (r *Rule) Weight(k int, half float64) float64 { return half * r.weights[k%len(r.nodes)] }

// Above sets dst[k] to the integral from point k to the end of a stretch of the
// given half-length, plus beyond, and returns that over the whole stretch. It is
// exact for polynomials of a degree below n. f and dst
// have n values, scratch has RuleScratch, and they may not overlap.
//
// The function is taken apart into its even part e and its odd part o, which
// halves the work: with E and O their integrals from a positive node to the end,
// the whole is E + O there and ∫e − E + O at the mirrored node.
func (r *Rule) Above(dst, f, scratch []float64, half, beyond float64) float64 {
	h := len(r.nodes)
	up, down := f[:h], f[h:2*h]
	e, o, evens, odds := scratch[:r.ld], scratch[r.ld:2*r.ld], scratch[2*r.ld:3*r.ld], scratch[3*r.ld:4*r.ld]
	clear(scratch[:4*r.ld])
	whole := 0.0
	for l, w := range r.weights {
		a, b := up[l], down[l]
		e[l], o[l] = half*0.5*(a+b), half*0.5*(a-b)
		whole += 2 * w * e[l]
	}
	kernel.AddRows64(evens, e, r.even, r.ld)
	kernel.AddRows64(odds, o, r.odd, r.ld)
	above, below := dst[:h], dst[h:2*h]
	for k := range above {
		E, O := evens[k], odds[k]
		above[k] = beyond + (E + O)
		below[k] = beyond + (whole - E + O)
	}
	return beyond + whole
}

// maxHalf bounds half the number of points of a rule.
const maxHalf = 24

// RuleScratch is the memory that [Rule.Above] needs.
const RuleScratch = 4 * maxHalf

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
