package study

import (
	"math"
	"testing"
)

func TestCorrelation(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{2, 4, 6}, 1},
		{[]float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		{[]float64{1, 2, 3, 4}, []float64{1, -1, -1, 1}, 0},
		// By hand: Sxy = 3, Sxx = 2, Syy = 14/3 · … = 6: 3/√12.
		{[]float64{0, 1, 2}, []float64{0, 0, 3}, 3 / math.Sqrt(12)},
	} {
		if got := correlation(c.a, c.b); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("correlation of %v and %v = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if got := correlation([]float64{1, 1}, []float64{1, 2}); !math.IsNaN(got) {
		t.Errorf("correlation with a constant = %v", got)
	}
}

func TestErrorsOfSD(t *testing.T) {
	if got := sdError([]float64{1, 4, 9}, []float64{4, 4, 1}); got != 1 {
		t.Errorf("sdError = %v, want (1 + 0 + 2)/3", got)
	}
	if got := constantError([]float64{0, 1, 16}); got != 4.0/3 {
		t.Errorf("constantError = %v, want (1 + 0 + 3)/3", got)
	}
}

func TestSummarize(t *testing.T) {
	s := summarize([]float64{1, 2, 3, 4})
	if s.Mean != 2.5 || math.Abs(float64(s.SE)-math.Sqrt(5.0/3/4)) > 1e-15 {
		t.Errorf("%+v, want 2.5 and √(5/12)", s)
	}
	if s := summarize([]float64{7}); s.Mean != 7 || s.SE.Known() {
		t.Errorf("%+v: one seed has no standard error", s)
	}
}

// TestBayesRate: the rate that the design is known to have, to four digits.
func TestBayesRate(t *testing.T) {
	if got := bayesRate(); math.Abs(got-0.9833) > 5e-5 {
		t.Errorf("Bayes rate %v, want 0.9833", got)
	}
}
