package mixture

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/special"
)

// TestAverage: moments, quantiles and intervals of p̄ against draws of p, and what At and Inverse say of
// each other. With 20,000 draws a mean is off by 4 standard errors in one of 16,000 checks.
func TestAverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	two, err := NewAverage(2, []float64{3, 1, 2}, []float64{-1, 0.2, 1.4}, nil, []float64{0.01, 0.3, 0.002})
	if err != nil {
		t.Fatal(err)
	}
	three, err := NewAverage(3, []float64{1, 1}, nil, []float64{0.2, 0.3, 0.5, 0.6, 0.2, 0.2}, []float64{0.4, 0.05})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		average *AverageRater
		alpha   [][]float64
	}{
		{two, [][]float64{{0.5, 2}, {30, 4}}},
		{two, [][]float64{{0.02, 0.4}, {4e4, 5e4}}},
		{three, [][]float64{{1, 2, 3}, {0.4, 20, 7}}},
	} {
		dist, err := NewDirichlet([]float64{0.4, 0.6}, c.alpha)
		if err != nil {
			t.Fatal(err)
		}
		reported := Reported{Dist: dist, Resolution: 0.005, Average: c.average}
		means, variances := c.average.Moments(nil, nil, dist)
		sds := reported.SD(nil)
		const draws = 20_000
		for i := range dist.Classes() {
			class := reported.Class(i)
			in := class.Interval(TwoSided, 0.8)
			median, _ := class.QuantileBoth(0.5)
			mean, square, inside, below := 0.0, 0.0, 0.0, 0.0
			for range draws {
				p := dist.Sample(nil, r)
				x := c.average.At(i, p[i])
				mean += x / draws
				square += (x - means[i]) * (x - means[i]) / draws
				if x >= in.Lo-1e-12 && x <= in.Hi+1e-12 {
					inside += 1.0 / draws
				}
				if x <= median {
					below += 1.0 / draws
				}
				if back := c.average.Inverse(i, x); math.Abs(back-p[i]) > 1e-9 {
					t.Fatalf("At(%v) is %v, whose Inverse is %v", p[i], x, back)
				}
			}
			check := func(what string, got, want, se float64) {
				if !(math.Abs(got-want) <= 4*se+1e-9) {
					t.Errorf("alpha %v, class %d: %s %v, want %v ± %v", c.alpha, i, what, got, want, se)
				}
			}
			check("mean", means[i], mean, sds[i]/math.Sqrt(draws))
			check("variance", variances[i], square, 2*square/math.Sqrt(draws))
			check("median", class.CDF(median), 0.5, 1e-9)
			check("median of draws", below, 0.5, 0.5/math.Sqrt(draws))
			check("mass", class.CDF(in.Hi)-class.CDF(in.Lo), inside, 0.4/math.Sqrt(draws))
			if !(inside > 0.79) {
				t.Errorf("alpha %v, class %d: the 80%% interval %v holds %v", c.alpha, i, in, inside)
			}
			if m, _ := class.Moments(); math.Abs(m-means[i]) > 1e-12 {
				t.Errorf("class %d: mean %v, want %v", i, m, means[i])
			}
		}
	}
}

// TestAverageGroups: many raters are reduced to groups; p̄ is that of all of them to 1e-4.
func TestAverageGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 5000
	weights, biases, guesses := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		weights[i], biases[i], guesses[i] = float64(1+r.IntN(50)), 1.5*r.NormFloat64(), 0.1*r.Float64()
	}
	a, err := NewAverage(2, weights, biases, nil, guesses)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.odds) > averageGroups {
		t.Errorf("%d groups, want at most %d", len(a.odds), averageGroups)
	}
	for _, p := range []float64{0, 0.001, 0.2, 0.5, 0.97, 1} {
		want, whole := 0.0, special.Sum(weights)
		for i := range n {
			e := math.Exp(biases[i])
			want += weights[i] / whole * ((1-guesses[i])*p*e/(1-p+p*e) + guesses[i]/2)
		}
		if got := a.At(1, p); math.Abs(got-want) > 1e-4 {
			t.Errorf("p %v: %v, want %v", p, got, want)
		}
	}
	for _, bad := range [][]float64{{0, 0, 0}, {1, math.NaN(), 1}, {1, -1, 1}} {
		if _, err := NewAverage(2, bad, []float64{0, 0, 0}, nil, []float64{0, 0, 0}); err == nil {
			t.Errorf("weights %v: no error", bad)
		}
	}
}
