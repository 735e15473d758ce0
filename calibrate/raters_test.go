package calibrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
)

// TestOneFactor: factors are found from many pairs, with their signs; from few pairs without any covariance none is large.
// Before factors were kept near a common one, one of six could have a square of 30 where residuals have squares of 0.2.
func TestOneFactor(t *testing.T) {
	draw := func(seed uint64, lambda []float64, each int) []float64 {
		r := rand.New(rng.New(seed, "one factor"))
		n := len(lambda)
		products, pairs, noise := make([]float64, n*n), make([]float64, n*n), make([]float64, n)
		for k := range n {
			noise[k] = 0.2
		}
		for a := range n {
			for b := range a {
				sum := 0.0
				for range each {
					sum += lambda[a]*lambda[b] + 0.2*r.NormFloat64()
				}
				for _, at := range []int{a*n + b, b*n + a} {
					products[at], pairs[at] = sum, float64(each)
				}
			}
		}
		found, ok := oneFactor(products, pairs, noise)
		if !ok {
			t.Fatal("expected factors, found none")
		}
		return found
	}
	want := []float64{0.3, 0.3, 0.2, -0.3, 0.3}
	for k, x := range draw(1, want, 20_000) {
		if math.Abs(x-want[k]) > 0.03 {
			t.Errorf("factor %d is %v, want %v", k, x, want[k])
		}
	}
	largest := 0.0
	for seed := range uint64(200) {
		for _, x := range draw(seed, make([]float64, 6), 40) {
			largest = max(largest, x*x)
		}
	}
	if largest > 0.2 {
		t.Errorf("without covariances, a factor has the square %v", largest)
	}
	if _, ok := oneFactor(make([]float64, 9), make([]float64, 9), []float64{1, 1, 1}); ok {
		t.Error("raters without a shared item: expected no factors")
	}
}

// TestRatersCheck: a population that is unknown, or numbers that cannot be, are refused.
func TestRatersCheck(t *testing.T) {
	for _, r := range []Raters{{Population: "all"}, {}, {Population: These, Effective: -1}, {Population: LikeThese, Spread: math.NaN()}} {
		if (&Calibration{Scale: 1, Raters: &r}).Check() == nil {
			t.Errorf("%+v: expected an error", r)
		}
	}
	if err := (&Calibration{Scale: 1, Raters: &Raters{Population: LikeThese, Effective: 5, Spread: 0.1}}).Check(); err != nil {
		t.Error(err)
	}
}
