package mixture

import (
	"math"
	"testing"
)

// TestOrderedAverage: p̄ at a p against the sum over raters, and the distribution for raters without bias, which is
// that of p.
func TestOrderedAverage(t *testing.T) {
	weights, biases, logs := []float64{3, 1, 2}, []float64{-0.4, 1.1, 0.05}, []float64{0.3, -0.5, 0}
	guesses, taste := []float64{0, 0.1, 0.3}, []float64{0.2, 0.3, 0.1, 0.4, 0.7, 0.1, 0.1, 0.1, 0.25, 0.25, 0.25, 0.25}
	a, err := NewOrderedAverage(4, weights, biases, logs, taste, guesses)
	if err != nil || !a.Ordered() {
		t.Fatal(err)
	}
	logits := []float64{-2.3, -0.2, 1.7}
	got := make([]float64, 4)
	a.AtLogits(got, logits)
	sum := 0.0
	for i, x := range got {
		want := 0.0
		for r, w := range weights {
			below := func(k int) float64 {
				switch k {
				case -1:
					return 0
				case 3:
					return 1
				}
				return 1 / (1 + math.Exp(biases[r]-math.Exp(logs[r])*logits[k]))
			}
			want += w / 6 * ((1-guesses[r])*(below(i)-below(i-1)) + guesses[r]*taste[4*r+i])
		}
		if !(math.Abs(x-want) <= 5e-5) {
			t.Errorf("class %d: %v, want %v", i, x, want)
		}
		sum += x
	}
	if !(math.Abs(sum-1) <= 1e-12) {
		t.Errorf("sum %v", sum)
	}
	zero := make([]float64, 3)
	neutral, err := NewOrderedAverage(4, weights, zero, zero, taste, zero)
	if err != nil {
		t.Fatal(err)
	}
	dist, err := NewDirichlet([]float64{0.4, 0.6}, [][]float64{{0.5, 2, 3, 1}, {6, 2, 1, 0.2}})
	if err != nil {
		t.Fatal(err)
	}
	after := neutral.Dist(dist)
	for k := range dist.K() {
		_, x := after.Component(k)
		_, y := dist.Component(k)
		for i := range x {
			if !(math.Abs(x[i]/y[i]-1) <= 2e-3) {
				t.Errorf("component %d: α %v, want %v", k, x, y)
			}
		}
	}
	if _, err := NewOrderedAverage(4, weights, biases[:2], logs, taste, guesses); err == nil {
		t.Error("no error for two biases of three raters")
	}
}
