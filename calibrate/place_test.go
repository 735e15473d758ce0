package calibrate

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/internal/rng"
	"credence/mixture"
)

// placeSample returns held-out items at x ~ N(0, I₂) with p ~ Beta(μα₀, (1−μ)α₀), μ = σ(x₁), α₀ = 4 exp(slope x₂), whose
// predictions have the right mean and α₀ = 4.
func placeSample(n int, slope float64, seed uint64) *HeldOut {
	h := NewHeldOut(2, 5)
	for j := range n {
		r := rand.New(rng.New(seed, "place", uint64(j)))
		x := []float32{float32(r.NormFloat64()), float32(r.NormFloat64())}
		mu := 1 / (1 + math.Exp(-float64(x[0])))
		total := 4 * math.Exp(slope*float64(x[1]))
		p := beta(mu*total, (1-mu)*total).Sample(nil, r)[0]
		votes := make([]float32, 2)
		for range 4 {
			if r.Float64() < p {
				votes[0]++
			} else {
				votes[1]++
			}
		}
		h.Add(beta(4*mu, 4*(1-mu)), votes, Item{Inputs: x}, j%5)
	}
	return h
}

func beta(a, b float64) *mixture.Dirichlet {
	d, err := mixture.NewDirichlet([]float64{1}, [][]float64{{a, b}})
	if err != nil {
		panic(err)
	}
	return d
}

// TestPlace compares the factors with the true ratios of variances, (4+1)/(α₀+1), along the feature that moves them.
func TestPlace(t *testing.T) {
	c, err := placeSample(4000, 0.6, 1).Calibration(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Place == nil || c.Place.Gain < 10 {
		t.Fatalf("place: expected one with a gain above 10 nats, found %+v", c.Place)
	}
	variance := func(x2 float32) float64 {
		d, err := c.Calibrated(beta(2, 2), Item{Inputs: []float32{0, x2}})
		if err != nil {
			t.Fatal(err)
		}
		return d.Variance(nil)[0] / beta(2, 2).Variance(nil)[0]
	}
	for _, x2 := range []float32{-1, 0, 1} {
		want := 5 / (4*math.Exp(0.6*float64(x2)) + 1)
		if got := variance(x2); math.Abs(math.Log(got/want)) > 0.2 {
			t.Errorf("x2 = %v: expected about %.2f of the variance, found %.2f", x2, want, got)
		}
	}
	if c, err := placeSample(4000, 0.6, 1).Without(0, nil); err != nil || c.Place == nil || c.Place.Slopes[1] > -0.2 {
		t.Errorf("without a fold: expected a slope below −0.2, found %+v, %v", c.Place, err)
	}
}

// TestPlaceNull has predictions that are right everywhere: what is fitted by chance stays small on average over samples.
func TestPlaceNull(t *testing.T) {
	square, n := 0.0, 0
	for seed := range uint64(8) {
		c, err := placeSample(1500, 0, seed).Calibration(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range [][]float32{{0, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}} {
			n++
			if c.Place != nil {
				e := math.Log(c.Place.factor(beta(2, 2), x))
				square += e * e
			}
		}
	}
	if rms := math.Sqrt(square / float64(n)); rms > 0.15 {
		t.Errorf("expected factors near 1, found a root mean square of %.3f of their logarithms", rms)
	}
}

func TestConcentration(t *testing.T) {
	// With one component, C is the logarithm of α₀, and with several networks its mean.
	near := func(got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("expected %v, found %v", want, got)
		}
	}
	near(concentration(beta(1, 2), 1), math.Log(3))
	two, err := mixture.NewDirichlet([]float64{0.2, 0.3, 0.5}, [][]float64{{1, 2}, {1, 2}, {3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	near(concentration(two, 2), (math.Log(3)+math.Log(7))/2)
	near(concentration(beta(1e15, 1e15), 1), maxLogConcentration)
}

func TestPlaceCheck(t *testing.T) {
	good := func() *Calibration {
		return &Calibration{Scale: 1, Place: &Place{Members: 1, Center: []float64{0}, Spread: []float64{1}, Level: []float64{0, 0},
			Slopes: []float64{0, 0}, Posterior: make([]float64, 4), Residual: 1}}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(p *Place){
		"members":   func(p *Place) { p.Members = 0 },
		"sizes":     func(p *Place) { p.Slopes = nil },
		"posterior": func(p *Place) { p.Posterior = p.Posterior[:3] },
		"infinite":  func(p *Place) { p.Shift = math.Inf(1) },
	} {
		c := good()
		change(c.Place)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), "place: expected") {
			t.Errorf("%s: expected an error about the place, found %v", name, err)
		}
	}
	if _, err := good().Calibrated(beta(1, 1), Item{}); err == nil {
		t.Error("expected an error for an item without network inputs")
	}
}

func TestSymmetric(t *testing.T) {
	s := newSymmetric(3)
	for _, x := range [][]float64{{1, 2, 3}, {0, 1, -1}, {2, 0, 1}, {1, 1, 1}} {
		s.add(2, x)
	}
	inverse := s.inverse()
	for i := range 3 {
		for j := range 3 {
			want := 0.0
			if i == j {
				want = 1
			}
			if got := dot(s.a[i*3:i*3+3], inverse[j*3:j*3+3]); math.Abs(got-want) > 1e-12 {
				t.Errorf("%d, %d: expected %v, found %v", i, j, want, got)
			}
		}
	}
}
