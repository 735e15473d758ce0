package special

import (
	"math"
	"testing"
)

// TestLogGammaNodes: quantiles against the closed forms of shape 1, exponential, and the limits of small and large
// shapes; slopes against differences; and a level of each class per node.
func TestLogGammaNodes(t *testing.T) {
	x, slope := make([]float64, SimplexNodes), make([]float64, SimplexNodes)
	up, down, other := make([]float64, SimplexNodes), make([]float64, SimplexNodes), make([]float64, SimplexNodes)
	LogGammaNodes(0, x, slope)
	for j, got := range x {
		if want := math.Log(-math.Log1p(-(float64(j) + 0.5) / SimplexNodes)); !(math.Abs(got-want) <= 1e-11) {
			t.Errorf("shape 1, level %d: %v, want %v", j, got, want)
		}
	}
	for _, logA := range []float64{-9, -5.3, -2.2, 0.7, 3.1, 8.8, 12.4, 15} {
		const h = 1e-5
		LogGammaNodes(logA, x, slope)
		LogGammaNodes(logA+h, up, other)
		LogGammaNodes(logA-h, down, other)
		a := math.Exp(logA)
		for j, s := range slope {
			if want := (up[j] - down[j]) / (2 * h); !(math.Abs(s-want) <= 1e-6*max(1, math.Abs(want))) {
				t.Errorf("log α %v, level %d: slope %v, want %v", logA, j, s, want)
			}
			if j > 0 && x[j] <= x[j-1] {
				t.Errorf("log α %v: quantile %d is not above the one before", logA, j)
			}
			if q := (float64(j) + 0.5) / SimplexNodes; logA < 9 && logA > -6 {
				want := logGammaQuantile(a, q)
				if scale := (1 + math.Sqrt(a)) / a; !(math.Abs(x[j]-want) <= 3e-3*scale) {
					t.Errorf("log α %v, level %d: quantile %v, want %v", logA, j, x[j], want)
				}
			}
		}
	}
	for i := range 20 {
		seen := map[int]bool{}
		for s := range SimplexNodes {
			seen[SimplexLevel(i, s)] = true
		}
		if len(seen) != SimplexNodes {
			t.Errorf("class %d: %d levels, want %d", i, len(seen), SimplexNodes)
		}
	}
}
