package mixture

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/internal/special"
)

// TestConcentrate: weights and component means are unchanged, and the variance is the wanted one unless parameters
// would have to grow more than fourfold.
func TestConcentrate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	reached := 0
	for range 20000 { // rounding keeps Newton steps from ending in one of some thousand
		n, d := 1+r.IntN(20), 2+r.IntN(3)
		weights, alpha := make([]float64, n), make([][]float64, n)
		for k := range alpha {
			weights[k] = r.ExpFloat64()
			for range d {
				alpha[k] = append(alpha[k], math.Exp(2*r.NormFloat64()))
			}
		}
		special.Normalize(weights)
		m, err := NewDirichlet(weights, alpha)
		if err != nil {
			t.Fatal(err)
		}
		ratio := 0.05 + 0.95*r.Float64()
		c, err := m.Concentrate(ratio)
		if err != nil {
			t.Fatal(err)
		}
		factor := c.alpha[0] / m.alpha[0]
		for k := range alpha {
			for i := range d {
				if got := c.row(k)[i] / m.row(k)[i]; math.Abs(got-factor) > 1e-12*factor || got < 1 || got > maxConcentration+1e-12 {
					t.Fatalf("parameter %d of component %d is %v times as large, the first %v", i, k, got, factor)
				}
			}
		}
		got := special.Sum(c.Variance(nil)) / special.Sum(m.Variance(nil))
		switch {
		case factor < maxConcentration-1e-9:
			reached++
			if math.Abs(got-ratio) > 1e-9 {
				t.Errorf("variance times %v, want %v", got, ratio)
			}
		case got < ratio-1e-9:
			t.Errorf("variance times %v, less than %v", got, ratio)
		}
	}
	if reached < 3000 {
		t.Errorf("the ratio was reached %d times in 20000", reached)
	}
	for _, bad := range []float64{0, -1, 1.5, math.NaN()} {
		m, _ := NewDirichlet([]float64{1}, [][]float64{{1, 2}})
		if _, err := m.Concentrate(bad); err == nil {
			t.Errorf("ratio %v is accepted", bad)
		}
	}
}

// TestMix: the moments of a mixture are those of its distributions.
func TestMix(t *testing.T) {
	a, _ := NewDirichlet([]float64{0.4, 0.6}, [][]float64{{1, 2}, {3, 1}})
	b, _ := NewDirichlet([]float64{1}, [][]float64{{2, 5}})
	m, err := Mix([]float64{0.25, 0.75}, []*Dirichlet{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.25*a.Mean(nil)[0] + 0.75*b.Mean(nil)[0]; m.K() != 3 || math.Abs(m.Mean(nil)[0]-want) > 1e-15 {
		t.Errorf("%d components, mean %v, want %v", m.K(), m.Mean(nil)[0], want)
	}
}

// TestRescaler: narrowing by both means, one after the other, has the variance of both, whatever was asked for before; all of the
// ratio is reached where means may move.
func TestRescaler(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		m := drawDist(r, 2+r.IntN(9))
		s := NewRescaler(m)
		for _, ratio := range []float64{0.9, 0.3, 0.6} {
			for _, moves := range []float64{0, 0.5, 1} {
				got, err := s.Narrow(ratio, moves)
				if err != nil {
					t.Fatal(err)
				}
				want, err := m.Concentrate(ratio)
				if err != nil {
					t.Fatal(err)
				}
				before := special.Sum(m.Variance(nil))
				rest := math.Pow(ratio*before/special.Sum(want.Variance(nil)), moves)
				if rest < 1-1e-9 {
					if want, err = want.Rescale(rest); err != nil {
						t.Fatal(err)
					}
				}
				for k := range want.weights {
					for i, a := range want.row(k) {
						if g := got.row(k)[i]; !(math.Abs(g-a) <= 1e-9*a) {
							t.Fatalf("ratio %v, moves %v, component %d, class %d: parameter %v, want %v", ratio, moves, k, i, g, a)
						}
					}
				}
			}
		}
	}
	// A mixture of results is that of Mix; a Rescaler can be used again.
	var again Rescaler
	for range 200 {
		m := drawDist(r, 2+r.IntN(9))
		again.Set(m)
		weights, ratios, moves := []float64{0.2, 0.5, 0.3}, []float64{0.9, 1, 0.3}, []float64{0, 0.3, 1}
		got, err := again.Mix(weights, ratios, moves)
		if err != nil {
			t.Fatal(err)
		}
		var dists []*Dirichlet
		for i := range ratios {
			dist, err := NewRescaler(m).Narrow(ratios[i], moves[i])
			if err != nil {
				t.Fatal(err)
			}
			dists = append(dists, dist)
		}
		want, err := Mix(weights, dists)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.weights, want.weights) || !slices.Equal(got.alpha, want.alpha) {
			t.Fatalf("%v and %v, want %v and %v", got.weights, got.alpha, want.weights, want.alpha)
		}
	}
	tiny := mustDirichlet(t, []float64{1e-323, 1}, [][]float64{{1, 2}, {3, 4}})
	if got, err := NewRescaler(tiny).Mix([]float64{0.1, 0.9}, []float64{0.5, 0.7}, []float64{0, 0}); err != nil || got.K() != 3 {
		t.Errorf("%v, %v: expected three components, one without weight left out", got, err)
	}
	if _, err := NewRescaler(tiny).Mix([]float64{0.1, 0.8}, []float64{0.5, 0.7}, []float64{0, 0}); err == nil {
		t.Error("weights that do not sum to one were accepted")
	}
	if _, err := NewRescaler(tiny).Mix([]float64{0.1, 0.9}, []float64{0.5, 1.2}, []float64{0, 0}); err == nil {
		t.Error("a ratio above 1 was accepted")
	}
	if _, err := NewRescaler(drawDist(r, 3)).Narrow(1.1, 1); err == nil {
		t.Error("a ratio above 1 was accepted")
	}
}
