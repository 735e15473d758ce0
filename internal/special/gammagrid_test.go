package special

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/kernel"
	"credence/internal/oracle"
)

// TestGammaGrid compares distribution functions and densities of windows with the oracle's incomplete gamma function, next to the ends of
// intervals too, and the sum of the densities with 1: the trapezoidal rule.
func TestGammaGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	g := NewGammaGrid()
	for n := range 400 {
		root := math.Exp(6*r.Float64() - 2.6)
		switch n % 4 {
		case 0:
			root = 0.25 * float64(n/4%130)
		case 1:
			root = math.Nextafter(0.25*float64(1+n/4%127), 0)
		}
		root = min(max(root, 0.01), gridMost-1e-9)
		a := root * root
		log, _ := math.Lgamma(a)
		v := []kernel.GridVariable{{A: a, LogGamma: log}}
		lo, hi := max(root-3.2, 0), root+3.7
		slope, offset, ok := g.Window(v, []float64{root}, lo, hi)
		if !ok {
			t.Fatalf("root %v: no window", root)
		}
		cdf, pdf := make([]float64, len(slope)), make([]float64, len(slope))
		kernel.GridGammas(cdf, pdf, slope, offset, g.Table(), v)
		sum := 0.0
		for k, f := range cdf {
			s := math.Exp(slope[k] / 2)
			lower, _ := oracle.Quick.IncGamma(a, oracle.Quick.New(s*s))
			if want, _ := lower.Float64(); !(math.Abs(f-want) <= 2e-10) {
				t.Errorf("P(√G ≤ %v), G of parameter %v: %v, want %v", s, a, f, want)
			}
			if want := math.Exp(a*slope[k] + offset[k] - log); !(math.Abs(pdf[k]-want) <= 1e-11*want+1e-100) {
				t.Errorf("density at %v, parameter %v: %v, want %v", s, a, pdf[k], want)
			}
			sum += pdf[k]
		}
		if first := math.Exp(slope[0] / 2); first > lo+1e-9 && lo > g.s[0] {
			t.Errorf("root %v: the first point is %v, not below %v", root, first, lo)
		}
		if last := math.Exp(slope[len(slope)-1] / 2); last < hi {
			t.Errorf("root %v: the last point is %v, below %v", root, last, hi)
		}
		if root > 4 && !(math.Abs(sum-1) <= 1e-8) { // where no mass is below the first point, nor above the last
			t.Errorf("root %v: densities sum to %v", root, sum)
		}
	}
	for _, c := range []struct{ root, lo, hi float64 }{{gridMost, 30, 34}, {40, 38, 42}, {math.NaN(), 1, 2}, {5, 1, 40}} {
		if _, _, ok := g.Window(make([]kernel.GridVariable, 1), []float64{c.root}, c.lo, c.hi); ok {
			t.Errorf("root %v: a window from %v to %v", c.root, c.lo, c.hi)
		}
	}
}

func BenchmarkGammaGridInterval(b *testing.B) {
	g := NewGammaGrid()
	for b.Loop() {
		_, mid, half := gridInterval(7.3)
		g.ready[16].Store(false)
		g.tabulate(16, mid, half)
	}
}
