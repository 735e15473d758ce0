package special

import (
	"fmt"
	"math"
	"testing"
)

// Values by Simpson's rule on the density, with 400,000 nodes.
func TestChiSquareTail(t *testing.T) {
	for _, c := range []struct {
		x    float64
		df   int
		want float64
	}{
		{2, 1, 0.1572992070502851}, {3, 2, 0.2231301601484298}, {5, 3, 0.1717971442967335},
		{10, 4, 0.0404276819945128}, {30, 11, 0.0015845952573}, {0, 5, 1},
	} {
		nearEffect(t, fmt.Sprintf("tail of %v with %d", c.x, c.df), ChiSquareTail(c.x, c.df), c.want, 1e-9)
	}
}

// Two estimates of variance one, two apart: Q = 2 with one degree of freedom, so τ² = 1.
func TestDerSimonianLaird(t *testing.T) {
	e := DerSimonianLaird([]float64{0, 2}, []float64{1, 1})
	nearEffect(t, "mean", e.Mean, 1, 1e-15)
	nearEffect(t, "tau²", e.Tau2, 1, 1e-15)
	nearEffect(t, "variance", e.Variance, 1, 1e-15)
	nearEffect(t, "p", e.P, 0.1572992070502851, 1e-12)
	// Closer than by chance: no variance between them, and the more precise one has more weight.
	e = DerSimonianLaird([]float64{1, 1.3}, []float64{0.25, 1})
	nearEffect(t, "tau² of near ones", e.Tau2, 0, 0)
	nearEffect(t, "mean of near ones", e.Mean, (4*1+1.3)/5, 1e-15)
}

func nearEffect(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: %v, expected %v", what, got, want)
	}
}
