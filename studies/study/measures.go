package study

import (
	"math"
	"slices"

	"credence/evaluate"
	"credence/internal/simulation"
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

// summarize returns an unknown summary if a value is unknown.
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
	z := 2 / math.Sqrt(simulation.PaperVariance)
	return 1 - 2*phi(-z)*phi(z)
}
