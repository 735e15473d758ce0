package special

import (
	"math"
	"testing"
)

// TestLogitWeights: moments of p, and of the votes that windows are made for, under Beta distributions from
// the widest to the narrowest. The exact ones are ratios of rising factorials.
func TestLogitWeights(t *testing.T) {
	buffer := make([]float64, 1<<16)
	parameters := []float64{1e-8, 1e-3, 0.05, 0.3, 1, 2.5, 8, 31, 400, 2e4, 3e5, 4e8}
	for _, a := range parameters {
		for _, b := range parameters {
			for _, s := range [][2]float64{{0, 0}, {1, 0}, {0, 1}, {2, 1}, {0, 3}, {5, 5}, {12, 0}, {30, 31}} {
				w := NewLogitWindow(a, b, math.Log(a/b), s[0], s[1], math.Log1p(max(s[0], s[1])))
				weights := w.Weights(buffer)
				got := 0.0
				for i, x := range weights[1 : len(weights)-1] {
					got += x * math.Exp(s[1]*w.Grid.LogP[w.Lo+i]+s[0]*w.Grid.LogQ[w.Lo+i])
				}
				if s[1] == 0 {
					got += weights[0]
				}
				if s[0] == 0 {
					got += weights[len(weights)-1]
				}
				want := math.Exp(LogRising(a, s[1]) + LogRising(b, s[0]) - LogRising(a+b, s[0]+s[1]))
				m := s[0] + s[1]
				tolerance := 4e-5
				if a > 1e5 && b > 1e5 {
					tolerance += m * m / (1 << 19)
				}
				if !(math.Abs(got/want-1) <= tolerance) {
					t.Errorf("a %g, b %g, votes %v: %g, want %g, off by %.1e of it (%d nodes of level %d)",
						a, b, s, got, want, got/want-1, len(weights), w.Level)
				}
			}
		}
	}
}

// TestSumOthers: sums without one number keep the digits that the total less that number has lost, and have the same bits one by
// one.
func TestSumOthers(t *testing.T) {
	for _, x := range [][]float64{{1e7, 1e-3}, {1e-3, 1e7, 2e-3, 5}, {0.1, 0.2, 0.3, 0.4, 0.5, 1e15, 0.7}} {
		got := make([]float64, len(x))
		SumOthers(got, x)
		for i := range x {
			want := 0.0
			for j, v := range x {
				if j != i {
					want += v
				}
			}
			if math.Abs(got[i]-want) > 1e-15*want || got[i] != SumExcept(x, i) {
				t.Errorf("%v without number %d: %v, one by one %v, want %v", x, i, got[i], SumExcept(x, i), want)
			}
		}
	}
}
