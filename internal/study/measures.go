package study

import (
	"math"
	"slices"

	"credence/evaluate"
	"credence/mixture"
)

// correlation returns Pearson's, NaN if either is constant.
func correlation(a, b []float64) float64 {
	ma, mb := mean(a), mean(b)
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	return ab / math.Sqrt(aa*bb)
}

// sdError returns the mean absolute difference of the standard deviations that
// belong to two lists of variances.
func sdError(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Abs(math.Sqrt(a[i]) - math.Sqrt(b[i]))
	}
	return sum / float64(len(a))
}

// constantError returns the smallest mean absolute error of the standard
// deviation that one number for all can have: that of the median.
func constantError(variance []float64) float64 {
	sd := make([]float64, len(variance))
	for i, v := range variance {
		sd[i] = math.Sqrt(v)
	}
	slices.Sort(sd)
	middle := sd[len(sd)/2]
	sum := 0.0
	for _, s := range sd {
		sum += math.Abs(s - middle)
	}
	return sum / float64(len(sd))
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// summary is a mean over seeds. SE is the standard deviation between seeds over
// the root of their number, not a number if there is one seed.
type summary struct {
	Mean evaluate.Number `json:"mean"`
	SE   evaluate.Number `json:"se"`
}

// summarize leaves a value that is not known unknown.
func summarize(x []float64) summary {
	m := mean(x)
	ss := 0.0
	for _, v := range x {
		ss += (v - m) * (v - m)
	}
	n := float64(len(x))
	return summary{evaluate.Number(m), evaluate.Number(math.Sqrt(ss / (n - 1) / n))}
}

// bayesRate is how often the best guess of a label is right in the paper's
// design. A guess is wrong if an item lies on the other side of one axis, but
// not of both:
//
//	1 − 2Φ(−2/√.7)Φ(2/√.7).
func bayesRate() float64 {
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	z := 2 / math.Sqrt(paperVariance)
	return 1 - 2*phi(-z)*phi(z)
}

// placed tells where a probability lies in its predicted distribution, for the
// intervals of every level at once: its two tails, and those of the limits of
// resolution.
type placed struct {
	below, above float64 // P(≤ p) and P(> p)
	low, high    float64 // mass below ρ, and within ρ̄ of 1
	p, q         float64 // the probability and 1 − p
	rho, rhoC    float64
}

// placeOf finds the place of p in m, q being 1 − p with all its digits: next to a
// pole at 1 a p that has been rounded to 1 would lie outside of every interval.
// Without a resolution the limits are 0.
func placeOf(m *mixture.Beta, p, q float64, r *evaluate.Resolution) placed {
	at := placed{p: p, q: q}
	mirror := m.Reflect()
	if p < q {
		at.below, at.above = m.CDF(p), m.Survival(p)
	} else {
		at.below, at.above = mirror.Survival(q), mirror.CDF(q)
	}
	if r != nil {
		at.rho, at.rhoC = r.Low[0], r.High[0]
		at.low, at.high = m.CDF(at.rho), mirror.CDF(at.rhoC)
	}
	return at
}

// covered reports whether the two-sided interval of a level holds p: as it is,
// and after [evaluate.Resolution.Apply]. An end lies below ρ where the mass below
// ρ exceeds the tail beyond that end, so no end need be found.
func (at placed) covered(level float64) (plain, ruled bool) {
	tail := (1 - level) / 2
	lower, upper := at.below >= tail, at.above >= tail
	plain = lower && upper
	switch {
	case at.low > tail: // the lower end becomes 0
		lower = true
	case at.high > 1-tail: // both ends lie next to 1
		lower = at.q <= at.rhoC
	}
	switch {
	case at.high > tail:
		upper = true
	case at.low > 1-tail:
		upper = at.p <= at.rho
	}
	return plain, lower && upper
}
