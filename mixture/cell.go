package mixture

import "credence/internal/kernel"

// cellPolynomial is the density in a cell, with t from 0 to 1 along it: the coefficients of h f(t).
type cellPolynomial [2 * kernel.BetaDerivatives]float64

// polynomial returns the polynomial of cell i.
func (t *quantileTable) polynomial(i int) (c cellPolynomial) {
	h := t.step[i]
	left, r := t.at(i), t.at(i+1)
	scale := h // h^{d+1}/d!
	for d := range r {
		c[d] = scale * left[d]
		r[d] *= scale
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
		s = s*t + c[d]*cellIntegral[d]
	}
	return s * t
}

// cellIntegral are the factors of an integral, 1/(d+1).
var cellIntegral = [...]float64{1, 1. / 2, 1. / 3, 1. / 4, 1. / 5, 1. / 6, 1. / 7, 1. / 8, 1. / 9, 1. / 10, 1. / 11}
