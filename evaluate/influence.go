package evaluate

import "math"

// influence is an estimate with the influence of each item on it: value − truth ≈ Σ_j psi_j, in which the psi of
// different units are independent, so that its variance is Σ_u (Σ_{j∈u} psi_j)².
type influence struct {
	value float64
	psi   []float64 // [n], scaled so that the variance is unbiased where the estimate is a mean
	size  float64   // number of units that its denominator amounts to
}

// quantile returns about the 97.5% quantile of Student's distribution with size − 1 degrees of freedom, by Fisher's expansion
// in their inverse: that of the normal distribution is too small where few units decide, as for a rare class. It
// is within 0.2% from 5 degrees of freedom on.
func (a influence) quantile() float64 {
	const z = normal975
	x := 1 / max(1, a.size-1)
	return z * (1 + x*((z*z+1)/4+x*((5*z*z*z*z+16*z*z+3)/96+x*(3*z*z*z*z*z*z+19*z*z*z*z+17*z*z-15)/384)))
}

// unknownInfluence is an estimate that cannot be computed.
var unknownInfluence = influence{value: math.NaN()}

// minus returns the difference of two estimates on the same items.
func (a influence) minus(b influence) influence {
	if a.psi == nil || b.psi == nil {
		return unknownInfluence
	}
	psi := make([]float64, len(a.psi))
	for j := range psi {
		psi[j] = a.psi[j] - b.psi[j]
	}
	return influence{value: a.value - b.value, psi: psi, size: min(a.size, b.size)}
}

// log returns the logarithm of an estimate.
func (a influence) log() influence {
	if a.psi == nil || !(a.value > 0) {
		return unknownInfluence
	}
	psi := make([]float64, len(a.psi))
	for j := range psi {
		psi[j] = a.psi[j] / a.value
	}
	return influence{value: math.Log(a.value), psi: psi, size: a.size}
}

// decided is a set of n items with a reference, of which scores of decisions are computed.
type decided struct {
	score []float64 // [n] predicted probability of the positive class
	ref   []float64 // [n] reference, from 0 to 1
	unit  []int     // [n]
	units int
}

// sums returns the sums of x over the items of each unit.
func (d *decided) sums(x func(j int) float64) []float64 {
	s := make([]float64, d.units)
	for j, u := range d.unit {
		s[u] += x(j)
	}
	return s
}

// size returns the number of equal units that weights amount to (Kish 1965): (Σ_u w_u)² / Σ_u w_u².
func (d *decided) size(weight func(j int) float64) float64 {
	total, squares := 0.0, 0.0
	for _, w := range d.sums(weight) {
		total += w
		squares += w * w
	}
	return total * total / squares
}

// unbiased returns √(n/(n−1)): what deviations from a mean of n are multiplied by. It is NaN for n ≤ 1.
func unbiased(n float64) float64 {
	if !(n > 1+1e-9) {
		return math.NaN()
	}
	return math.Sqrt(n / (n - 1))
}

// ratio returns Σ_j a_j / Σ_j b_j.
func (d *decided) ratio(of func(j int) (a, b float64)) influence {
	n := len(d.ref)
	top, bottom := 0.0, 0.0
	for j := range n {
		a, b := of(j)
		top += a
		bottom += b
	}
	if bottom == 0 {
		return unknownInfluence
	}
	e := influence{value: top / bottom, psi: make([]float64, n), size: d.size(func(j int) float64 { _, b := of(j); return b })}
	scale := unbiased(e.size) / bottom
	for j := range n {
		a, b := of(j)
		e.psi[j] = scale * (a - e.value*b)
	}
	return e
}

// se returns the standard error, NaN if it is unknown.
func (d *decided) se(e influence) float64 {
	if e.psi == nil || d.units < 2 {
		return math.NaN()
	}
	squares := 0.0
	for _, x := range d.sums(func(j int) float64 { return e.psi[j] }) {
		squares += x * x
	}
	return math.Sqrt(squares)
}

// plain returns an estimate with a symmetric interval.
func (d *decided) plain(e influence) IntervalEstimate {
	se := d.se(e)
	half := e.quantile() * se
	return IntervalEstimate{Estimate{Number(e.value), Number(se)}, Number(e.value - half), Number(e.value + half)}
}

// share returns an estimate of a probability with its Wilson interval for the number of independent trials that have the
// same standard error or, where that is 0 because all are equal, for the number of units.
func (d *decided) share(e influence) IntervalEstimate {
	x := d.plain(e)
	if !x.SE.Known() {
		return x
	}
	n := e.size
	if x.SE > 0 && e.value > 0 && e.value < 1 {
		n = e.value * (1 - e.value) / float64(x.SE*x.SE)
	}
	lo, hi := wilson(e.value, n, e.quantile())
	x.Lo, x.Hi = Number(lo), Number(hi)
	return x
}

// positive returns an estimate of a quantity above 0, given its logarithm, whose interval is symmetric.
func (d *decided) positive(log influence) IntervalEstimate {
	x := d.plain(log)
	exp := func(x Number) Number { return Number(math.Exp(float64(x))) }
	return IntervalEstimate{Estimate{exp(x.Value), exp(x.Value) * x.SE}, exp(x.Lo), exp(x.Hi)}
}
