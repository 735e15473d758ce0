package mixture

import (
	"math"
	"sort"
)

// far returns the logit, beyond the last node, of the point that has the mass q beyond it; upper selects the end at
// which x is 1. A component falls there like e^{at}, where a is one of its parameters. The logarithm of Σ tail e^{at} is
// convex, so that Newton's method from t = 0 approaches the point from one side.
func (t *quantileTable) far(q float64, upper bool) (z float64, ok bool) {
	logQ, at := math.Log(q), 0.0
	for range 50 {
		mass, slope := 0.0, 0.0
		for i := range t.terms {
			c := &t.terms[i]
			a, m := c.A, c.below
			if upper {
				a, m = c.B, c.above
			}
			if m > 0 {
				m *= math.Exp(a * at)
				mass += m
				slope += a * m
			}
		}
		if !(mass > 0) {
			return 0, false
		}
		step := (math.Log(mass) - logQ) * mass / slope
		at -= step
		if math.Abs(step) < 1e-9 {
			return at - tableEnd, true
		}
	}
	return 0, false
}

// quantile returns the logit of the point with the mass q below and qc above it, if the table provides it. A nil
// table provides none.
func (t *quantileTable) quantile(q, qc float64) (z float64, ok bool) {
	if t == nil || min(q, qc) < t.grade.quantile {
		return 0, false
	}
	if q > qc {
		q = t.total - qc
	}
	switch n := len(t.nodes); {
	case q <= t.mass[0]:
		return t.far(q, false)
	case q >= t.mass[n-1]:
		z, ok = t.far(t.total-q, true)
		return -z, ok
	}
	i := sort.SearchFloat64s(t.mass, q) - 1 // mass[i] < q ≤ mass[i+1]
	if t.step[i] == 0 {
		return 0, false
	}
	c := t.polynomial(i)
	want, whole := q-t.mass[i], t.mass[i+1]-t.mass[i]
	at := want / whole
	for range 8 {
		d := c.density(at)
		if !(d > 0) {
			return 0, false
		}
		step := (want - c.integral(at)) / d
		at = min(max(at+step, 0), 1)
		if math.Abs(step) < 1e-7 { // the next one would be below 1e-13
			return t.nodes[i] + at*t.step[i], true
		}
	}
	return 0, false
}

// tails returns the mass below and above the logit z.
func (t *quantileTable) tails(z float64) (lower, upper float64) {
	n := len(t.nodes)
	switch {
	case z <= t.nodes[0]:
		return t.mass[0], t.total
	case z >= t.nodes[n-1]:
		return t.mass[n-1], t.total - t.mass[n-1]
	}
	i := sort.SearchFloat64s(t.nodes, z) - 1
	lower = t.mass[i]
	if h := t.step[i]; h > 0 {
		c := t.polynomial(i)
		lower = min(max(lower+c.integral((z-t.nodes[i])/h), lower), t.mass[i+1])
	}
	return lower, t.total - lower
}

// cellPolynomial is the density in a cell, with t from 0 to 1 along it: the coefficients of h f(t).
type cellPolynomial [8]float64

// polynomial returns the polynomial of cell i.
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
