package export

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
)

// TestNewtonSteps checks that newtonSteps suffice for any number of components with α within its limits, e⁻²⁰ to e²⁰, and
// for scales far beyond those in use: further steps change t by less than 1e-9 of it.
func TestNewtonSteps(t *testing.T) {
	r := rand.New(rng.New(5, "newton"))
	for range 20000 {
		variance, total := make([]float64, 1+r.IntN(50)), make([]float64, 50)
		sum := 0.0
		for i := range variance {
			variance[i], total[i] = math.Exp(-20*r.Float64()), math.Exp(20*(2*r.Float64()-1))
			sum += variance[i]
		}
		u := r.Float64()
		want := 0.95 * sum * math.Exp(-20*u*u)
		x, at := 0.0, 0.0
		for n := range 100 {
			f, slope := 0.0, 0.0
			for i, v := range variance {
				q := 1 / (x*total[i] + 1)
				f += v * q
				slope += v * q * q * total[i]
			}
			if n == newtonSteps {
				at = x
			}
			x += f * (f - want) / (want * slope)
		}
		if !(math.Abs(at-x) <= 1e-9*x) {
			t.Errorf("%d components: t is %v after %d steps, %v in the end", len(variance), at, newtonSteps, x)
		}
	}
}
