package kernel

import "math"

// CellMasses sets mass[i] to the integral of a function from node i to node i+1, of [n+1] nodes that are step[i] apart: that of the
// polynomial of degree 11 that has the function's values and derivatives f [BetaDerivatives, stride] at both,
//
//	h/2 (f₀+f₁) + 5h²/44 (f₀′−f₁′) + h³/66 (f₀″+f₁″) + h⁴/792 (f₀‴−f₁‴) + h⁵/15840 (f₀⁗+f₁⁗) + h⁶/665280 (f₀⁽⁵⁾−f₁⁽⁵⁾),
//
// or to 0 if that is negative. It returns the smallest of these integrals if one is negative, else 0. The stride is more than n, f has room for
// another block, and mass and step have room for whole blocks; step behind its end is set.
func CellMasses(mass, f []float64, stride int, step []float64) (least float64) {
	n := len(step)
	whole := WholeBlocks(n)
	sameLen(n, len(mass), len(mass))
	if stride <= n || len(f) != BetaDerivatives*stride || cap(f) < len(f)+BetaLanes || cap(mass) < whole || cap(step) < whole {
		panic("kernel: CellMasses: slices without room for whole blocks")
	}
	if n == 0 {
		return 0
	}
	clear(step[n:whole])
	return active.cellMasses(mass[:whole], f, stride, step[:whole])
}

func cellMassesGeneric(mass, f []float64, stride int, step []float64) (least float64) {
	f = f[:cap(f)]
	row := func(d int) []float64 { return f[d*stride:][:len(step)+1] }
	f0, f1, f2, f3, f4, f5 := row(0), row(1), row(2), row(3), row(4), row(5)
	for i, h := range step {
		m := h * (0.5*(f0[i]+f0[i+1]) + h*((5./44)*(f1[i]-f1[i+1])+h*((1./66)*(f2[i]+f2[i+1])+
			h*((1./792)*(f3[i]-f3[i+1])+h*((1./15840)*(f4[i]+f4[i+1])+h*(1./665280)*(f5[i]-f5[i+1]))))))
		least = min(least, m)
		mass[i] = max(m, 0)
	}
	return least
}

// BetaCells are the polynomials of [CellMasses] in eight cells, one in each lane.
type BetaCells struct {
	Left, Right [BetaDerivatives]BetaPoints // the function and its derivatives at the ends of a cell
	Length      BetaPoints
	At          BetaPoints // points in the cells as shares of them, or masses below points
	Whole       BetaPoints // masses of the cells

	_ [4 * BetaDerivatives]BetaPoints // working memory of assembly
}

// Integrals sets dst to the integral from the left end of each cell to the point At, from 0 to 1.
func (c *BetaCells) Integrals(dst *BetaPoints) { active.cellIntegrals(dst, c) }

// Roots sets dst to the point, from 0 to 1, up to which the integral is At, from 0 to Whole, or to NaN where the
// polynomial is not positive: Newton's method, with the middle of what is left where that leads out of it, until a step is below
// 1e-7, so that the next one would be below 1e-13. Lanes do not depend on one another.
func (c *BetaCells) Roots(dst *BetaPoints) { active.cellRoots(dst, c) }

// cellSteps is the largest number of steps of Roots, cellStep the size of the last.
const cellSteps, cellStep = 40, 1e-7

// cellPolynomial is the density in a cell, with t from 0 to 1 along it: the coefficients of h f(t).
type cellPolynomial [2 * BetaDerivatives]float64

// polynomial returns the polynomial of a lane.
func (cells *BetaCells) polynomial(lane int) (c cellPolynomial) {
	var r [BetaDerivatives]float64
	h := cells.Length[lane]
	scale := h // h^{d+1}/d!
	for d := range r {
		c[d] = scale * cells.Left[d][lane]
		r[d] = scale * cells.Right[d][lane]
		scale *= h / float64(d+1)
	}
	// What the Taylor polynomial of the left end leaves at the right end, in powers of u = t − 1, divided by
	// t⁶ = 1 + 6u + 15u² + 20u³ + 15u⁴ + 6u⁵ + …
	r[0] -= c[0] + c[1] + c[2] + c[3] + c[4] + c[5]
	r[1] -= c[1] + 2*c[2] + 3*c[3] + 4*c[4] + 5*c[5]
	r[2] -= c[2] + 3*c[3] + 6*c[4] + 10*c[5]
	r[3] -= c[3] + 4*c[4] + 10*c[5]
	r[4] -= c[4] + 5*c[5]
	r[5] -= c[5]
	r[1] -= 6 * r[0]
	r[2] -= 6*r[1] + 15*r[0]
	r[3] -= 6*r[2] + 15*r[1] + 20*r[0]
	r[4] -= 6*r[3] + 15*r[2] + 20*r[1] + 15*r[0]
	r[5] -= 6*r[4] + 15*r[3] + 20*r[2] + 15*r[1] + 6*r[0]
	c[6] = r[0] - r[1] + r[2] - r[3] + r[4] - r[5]
	c[7] = r[1] - 2*r[2] + 3*r[3] - 4*r[4] + 5*r[5]
	c[8] = r[2] - 3*r[3] + 6*r[4] - 10*r[5]
	c[9] = r[3] - 4*r[4] + 10*r[5]
	c[10] = r[4] - 5*r[5]
	c[11] = r[5]
	return c
}

// density returns h f(t).
func (c *cellPolynomial) density(t float64) float64 {
	s := c[11]
	for d := 10; d >= 0; d-- {
		s = s*t + c[d]
	}
	return s
}

// integral returns the mass between 0 and t.
func (c *cellPolynomial) integral(t float64) float64 {
	s := c[11] * (1. / 12)
	for d := 10; d >= 0; d-- {
		s = s*t + c[d]*(1/float64(d+1))
	}
	return s * t
}

func cellIntegralsGeneric(dst *BetaPoints, cells *BetaCells) {
	for lane := range dst {
		c := cells.polynomial(lane)
		dst[lane] = c.integral(cells.At[lane])
	}
}

func cellRootsGeneric(dst *BetaPoints, cells *BetaCells) {
	for lane := range dst {
		c := cells.polynomial(lane)
		dst[lane] = c.root(cells.At[lane], cells.Whole[lane])
	}
}

// root returns the root of one lane.
func (c *cellPolynomial) root(want, whole float64) float64 {
	at, lo, hi := want/whole, 0.0, 1.0
	for range cellSteps {
		d, left := c.density(at), want-c.integral(at)
		if !(d > 0) {
			break
		}
		if left > 0 {
			lo = at
		} else {
			hi = at
		}
		step := left / d
		next := at + step
		if math.Abs(step) < cellStep {
			return min(max(next, 0), 1)
		}
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		at = next
	}
	return math.NaN()
}
