package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/calibrate"
	"credence/head"
	"credence/internal/rng"
	"credence/mixture"
)

// heldOut draws n items with the given number of votes each, whose probability has the distribution Beta(a, b), and
// predictions Beta(s·a, s·b).
func heldOut(t testing.TB, n, votes int, a, b, s float64, seed uint64) *calibrate.HeldOut {
	t.Helper()
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{a, b}})
	if err != nil {
		t.Fatal(err)
	}
	heldOutputs, err := mixture.NewDirichlet([]float64{1}, [][]float64{{s * a, s * b}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rng.New(seed, "calibrate"))
	h := calibrate.NewHeldOut(2, 4)
	for j := range n {
		p := dist.Sample(nil, r)
		counts := make([]float32, 2)
		for range votes {
			class := 0
			if r.Float64() >= p[0] {
				class = 1
			}
			counts[class]++
		}
		h.Add(heldOutputs, counts, j%4)
	}
	return h
}

// TestCalibration: distributions are scaled to the spread of the votes, whatever the predictions. Over 20
// draws each the mean ratio is off by four standard errors with probability below 1e-4.
func TestCalibration(t *testing.T) {
	for _, s := range []float64{0.5, 1, 3} {
		want := 7.0 / (6*s + 1) // Var Beta(a, b) over Var Beta(sa, sb) is inverted: (6s+1)/7
		want = 1 / want
		sum, se := 0.0, 0.0
		const draws = 20
		for seed := range uint64(draws) {
			c, err := heldOut(t, 800, 3, 2, 4, s, seed).Calibration(1)
			if err != nil {
				t.Fatal(err)
			}
			sum += c.Ratio / draws
			se += c.RatioSE / draws
			if !(math.Abs(c.Scale-c.Ratio) < 0.05+c.RatioSE) || c.Items != 800 || len(c.Classes) != 2 {
				t.Errorf("%+v", c)
			}
		}
		if math.Abs(sum-want) > 4*se/math.Sqrt(draws) {
			t.Errorf("answers with %v times the parameters: ratio %v ± %v, want %v", s, sum, se/math.Sqrt(draws), want)
		}
	}
}

// TestCalibrationFew: distributions are unchanged if the calibration cannot be determined.
func TestCalibrationFew(t *testing.T) {
	for _, h := range []*calibrate.HeldOut{calibrate.NewHeldOut(2, 2), heldOut(t, 1, 3, 2, 2, 1, 1), heldOut(t, 50, 1, 2, 2, 1, 1)} {
		if c, err := h.Calibration(1); err != nil || c.Items != 0 || c.Scale != 1 {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// TestWithin: the ratio of several networks together is that of their mixture, for any predictions.
func TestWithin(t *testing.T) {
	r := rand.New(rng.New(2, "spread"))
	w, one, several := &calibrate.Within{}, 0.0, 0.0
	squared, together := 0.0, 0.0
	for range 50 {
		p := []float64{r.Float64(), 0, 0}
		p[1] = (1 - p[0]) * r.Float64()
		p[2] = 1 - p[0] - p[1]
		var decoded []head.Decoded
		var alpha [][]float64
		for range 3 {
			a := []float64{0.3 + 5*r.Float64(), 0.3 + 5*r.Float64(), 0.3 + 5*r.Float64()}
			dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{a})
			if err != nil {
				t.Fatal(err)
			}
			alpha = append(alpha, a)
			decoded = append(decoded, head.NewDecoded(dist))
		}
		w.Add(decoded)
		dist, err := mixture.NewDirichlet([]float64{1. / 3, 1. / 3, 1. / 3}, alpha)
		if err != nil {
			t.Fatal(err)
		}
		for i, mu := range dist.Mean(nil) {
			together += (p[i] - mu) * (p[i] - mu)
			several += dist.Variance(nil)[i]
			for _, a := range decoded {
				squared += (p[i] - a.Mean[i]) * (p[i] - a.Mean[i]) / 3
				one += a.Variance[i] / 3
			}
		}
	}
	got := (squared/one+1)*w.Share() - 1
	if want := together / several; math.Abs(got-want) > 1e-12 {
		t.Errorf("ratio %v, want %v", got, want)
	}
}

// TestCrossStop: for each part, the outputs are kept of the pass at which the other parts were best.
func TestCrossStop(t *testing.T) {
	c := &crossStop{width: 1, fold: []int{0, 1, 2, 3, 4}, kept: make([]float32, 5)}
	for pass, losses := range [][]float64{{1, 1, 1, 1, 1}, {0, 9, 0, 0, 0}, {0.9, 0.9, 0.9, 0.9, 0.9}} {
		c.losses, c.outputs = losses, []float32{float32(pass), float32(pass), float32(pass), float32(pass), float32(pass)}
		c.end()
	}
	// Only without item 1 is the second pass the best.
	if want := []float32{2, 1, 2, 2, 2}; !slices.Equal(c.kept, want) {
		t.Errorf("kept %v, want %v", c.kept, want)
	}
}

// TestFitCalibrates: a fit records its calibration, its held-out predictions are calibrated, and "off" leaves
// them unchanged.
func TestFitCalibrates(t *testing.T) {
	ds := simulated(220, 4, 1)
	o := Options{Epochs: 40, Seed: 1}
	on := fitted(t, ds, o)
	c := on.Model.Calibration
	if c == nil || c.Items != 220 || !(c.RatioSE > 0) || c.Resolution != mixture.DefaultResolution(880) {
		t.Fatalf("calibration %+v", c)
	}
	o.Calibrate, o.Resolution = "off", -1
	off := fitted(t, ds, o)
	if got := off.Model.Calibration; got.Scale != 1 || got.Resolution != 0 || got.Items != 0 {
		t.Errorf("off: %+v", got)
	}
	for j, a := range on.OutOfFold {
		b := off.OutOfFold[j]
		if a.Resolution != c.Resolution || b.Resolution != 0 {
			t.Fatalf("item %d: resolutions %v and %v", j, a.Resolution, b.Resolution)
		}
		ratio := (a.Variance[0] + a.Variance[1]) / (b.Variance[0] + b.Variance[1])
		if math.Abs(a.Mean[0]-b.Mean[0]) > 1e-9 || !(ratio >= 0.09) || math.Abs(ratio-1) < 1e-9 {
			t.Errorf("item %d: mean %v and %v, ratio of variances %v", j, a.Mean[0], b.Mean[0], ratio)
		}
	}
	o.Resolution = 0.05
	if got := fitted(t, ds, o).Model.Calibration.Resolution; got != 0.05 {
		t.Errorf("resolution %v", got)
	}
	o.Resolution = 0.2
	if _, err := Complete(ds, o); err == nil {
		t.Error("a resolution of 0.2 is taken")
	}
	o.Resolution, o.Calibrate = 0, "perhaps"
	if _, err := Complete(ds, o); err == nil {
		t.Error("calibrate perhaps is taken")
	}
}

// TestCalibrationLikely: distributions are scaled no farther than the likelihood of the votes allows. Votes
// that disagree more often than under any distribution have pairs with a negative spread.
func TestCalibrationLikely(t *testing.T) {
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{4, 4}})
	if err != nil {
		t.Fatal(err)
	}
	h := calibrate.NewHeldOut(2, 2)
	for j := range 200 {
		counts := []float32{1, 1}
		if j%10 < 4 { // some agree, and would be unlikely if p were one half for all
			counts = []float32{float32(2 * (j % 2)), float32(2 - 2*(j%2))}
		}
		if j%50 == 0 {
			counts = []float32{30, 0}
		}
		h.Add(dist, counts, j%2)
	}
	c, err := h.Calibration(1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.all()
	if err != nil {
		t.Fatal(err)
	}
	if h.trust >= 1 || !(math.Abs(c.Scale-1) < math.Abs(d.Scale()-1)) || c.Ratio != d.Ratio {
		t.Errorf("trust %v, scale %v, by pairs alone %v: %+v", h.trust, c.Scale, d.Scale(), c)
	}
	raw, scaled := 0.0, 0.0
	reported, err := dist.Rescale(h.trusted(d.Ratio))
	if err != nil {
		t.Fatal(err)
	}
	for k := range h.votes {
		a, _ := dist.LogVotes(h.votes[k])
		b, _ := reported.LogVotes(h.votes[k])
		raw, scaled = raw-a, scaled-b
	}
	if scaled > raw+1e-9 {
		t.Errorf("loss %v, as the networks give it %v", scaled, raw)
	}
}
