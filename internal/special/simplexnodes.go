package special

import (
	"math"
	"sync"
)

// A rule for expectations over Dirichlet distributions of any function of the whole vector. The vector is
// one of independent Gamma variables over their sum; node s has the quantiles of class i at the level
// (j+½)/S, j = [SimplexLevel](i, s), so that every class takes each level once (a lattice rule with the
// generator 1, g, g², …). Quantiles are smooth functions of α, and so is the sum over nodes, whose derivative
// is that of the nodes.

// SimplexNodes is the number S of nodes, a prime.
const SimplexNodes = 67

// simplexGenerator is a primitive root of SimplexNodes: its powers take all classes through different orders.
const simplexGenerator = 12

// SimplexLevel returns the level of node s, from 0 to S−1, in the coordinate of class i.
func SimplexLevel(i, s int) int {
	g := 1
	for range i % (SimplexNodes - 1) {
		g = g * simplexGenerator % SimplexNodes
	}
	return (s*g + 31*i) % SimplexNodes // the offset keeps node 0 off the diagonal
}

// The table of quantiles: rows for log α from gammaLow, gammaRows of them in steps of gammaStep.
const (
	gammaLow  = -6.0
	gammaStep = 0.25
	gammaRows = 73
)

// gammaTable holds y = (log G − log α)·h(α), h = α/(1+√α), which is bounded: as α grows it becomes the quantile of
// the normal distribution, and as α vanishes the logarithm of the level.
var gammaTable = sync.OnceValue(func() *[gammaRows][SimplexNodes]float64 {
	t := new([gammaRows][SimplexNodes]float64)
	for r := range t {
		a := math.Exp(gammaLow + gammaStep*float64(r))
		h := a / (1 + math.Sqrt(a))
		for j := range t[r] {
			t[r][j] = (logGammaQuantile(a, (float64(j)+0.5)/SimplexNodes) - math.Log(a)) * h
		}
	}
	return t
})

// LogGammaNodes fills x with the logarithms of the quantiles of a Gamma variable of shape e^logA at the levels of the
// nodes, and slope with their derivatives with respect to logA; both have S values. Beyond the table,
// 0.0025 to 160,000, the scaled quantile is that of its last row.
func LogGammaNodes(logA float64, x, slope []float64) {
	t := gammaTable()
	at := (logA - gammaLow) / gammaStep
	inside := 1.0
	if !(at > 1) {
		at, inside = 1, 0
	} else if at > gammaRows-3 {
		at, inside = gammaRows-3, 0
	}
	r := min(int(at), gammaRows-3)
	f := at - float64(r)
	// Catmull–Rom weights of rows r−1 … r+2, and their derivatives.
	w := [4]float64{f * (-0.5 + f*(1-0.5*f)), 1 + f*f*(-2.5+1.5*f), f * (0.5 + f*(2-1.5*f)), f * f * (-0.5 + 0.5*f)}
	v := [4]float64{-0.5 + f*(2-1.5*f), f * (-5 + 4.5*f), 0.5 + f*(4-4.5*f), f * (-1 + 1.5*f)}
	root := math.Exp(logA / 2)
	back := (1 + root) / (root * root) // 1/h
	bend := 1 - 0.5*root/(1+root)      // d log h/d log α
	inside *= back / gammaStep
	t0, t1, t2, t3 := &t[r-1], &t[r], &t[r+1], &t[r+2]
	for j := range SimplexNodes {
		y := w[0]*t0[j] + w[1]*t1[j] + w[2]*t2[j] + w[3]*t3[j]
		d := v[0]*t0[j] + v[1]*t1[j] + v[2]*t2[j] + v[3]*t3[j]
		x[j] = logA + y*back
		slope[j] = 1 + d*inside - y*bend*back
	}
}

// logGammaQuantile returns log x with P(a, x) = q, by Newton's method on the logarithm of the lower tail.
func logGammaQuantile(a, q float64) float64 {
	lga, _ := math.Lgamma(a)
	// Wilson and Hilferty (1931), or the power at the origin.
	z := math.Sqrt2 * math.Erfinv(2*q-1)
	c := 1 - 1/(9*a) + z/(3*math.Sqrt(a))
	lg1, _ := math.Lgamma(a + 1)
	u := (math.Log(q) + lg1) / a
	if c > 0.3 {
		u = math.Log(a) + 3*math.Log(c)
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	for range 100 {
		lower := lowerGamma(a, math.Exp(u), u, lga)
		if lower < q {
			lo = u
		} else {
			hi = u
		}
		density := math.Exp(a*u - math.Exp(u) - lga) // of log x
		step := (q - lower) / density
		if lower > 0 {
			step = math.Log(q/lower) * lower / density
		}
		next := u + min(max(step, -2), 2)
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
			if math.IsInf(lo, -1) {
				next = u - 2
			} else if math.IsInf(hi, 1) {
				next = u + 2
			}
		}
		if math.Abs(next-u) < 1e-13*(1+math.Abs(u)) {
			return next
		}
		u = next
	}
	return u
}

// lowerGamma returns P(a, x): the series below a + 1, above it the continued fraction of the upper tail
// (Abramowitz and Stegun 1964, 6.5.29 and 6.5.31).
func lowerGamma(a, x, logX, lga float64) float64 {
	front := math.Exp(a*logX - x - lga)
	if x < a+1 {
		sum, term := 1/a, 1/a
		for n := 1; n < 100_000 && term > sum*1e-17; n++ {
			term *= x / (a + float64(n))
			sum += term
		}
		return front * sum
	}
	const tiny = 1e-300
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	f := d
	for n := 1; n < 100_000; n++ {
		an := -float64(n) * (float64(n) - a)
		b += 2
		d = an*d + b
		if math.Abs(d) < tiny {
			d = tiny
		}
		c = b + an/c
		if math.Abs(c) < tiny {
			c = tiny
		}
		d = 1 / d
		f *= d * c
		if math.Abs(d*c-1) < 1e-16 {
			break
		}
	}
	return 1 - front*f
}
