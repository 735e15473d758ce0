package mixture

// cellPolynomial is the density in a cell, with t from 0 to 1 along it: the coefficients of h f(t).
type cellPolynomial [8]float64

// polynomial returns that of cell i.
func (t *quantileTable) polynomial(i int) (c cellPolynomial) {
	h := t.step[i]
	h2 := h * h
	s := [4]float64{h, h2, h2 * h / 2, h2 * h2 / 6}
	left, r := t.at(i), t.at(i+1)
	for d := range r {
		c[d] = s[d] * left[d]
		r[d] *= s[d]
	}
	// What the Taylor polynomial of the left end leaves at the right end, in powers of u = t − 1, divided by
	// t⁴ = 1 + 4u + 6u² + 4u³ + …
	r[0] -= c[0] + c[1] + c[2] + c[3]
	r[1] -= c[1] + 2*c[2] + 3*c[3]
	r[2] -= c[2] + 3*c[3]
	r[3] -= c[3]
	r[1] -= 4 * r[0]
	r[2] -= 4*r[1] + 6*r[0]
	r[3] -= 4*r[2] + 6*r[1] + 4*r[0]
	c[4] = r[0] - r[1] + r[2] - r[3]
	c[5] = r[1] - 2*r[2] + 3*r[3]
	c[6] = r[2] - 3*r[3]
	c[7] = r[3]
	return c
}

// density returns h f(t).
func (c *cellPolynomial) density(t float64) float64 {
	return c[0] + t*(c[1]+t*(c[2]+t*(c[3]+t*(c[4]+t*(c[5]+t*(c[6]+t*c[7]))))))
}

// integral returns the mass between 0 and t.
func (c *cellPolynomial) integral(t float64) float64 {
	return t * (c[0] + t*(c[1]*(1./2)+t*(c[2]*(1./3)+t*(c[3]*(1./4)+t*(c[4]*(1./5)+t*(c[5]*(1./6)+t*(c[6]*(1./7)+t*(c[7]*(1./8)))))))))
}
