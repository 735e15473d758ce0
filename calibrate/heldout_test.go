package calibrate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"credence/head"
	"credence/internal/rng"
	"credence/mixture"
)

// heldOut draws n items with the given number of votes each, whose probability has the distribution Beta(a, b), and
// predictions Beta(s·a, s·b).
func heldOut(t testing.TB, n, votes int, a, b, s float64, seed uint64) *HeldOut {
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
	h := NewHeldOut(2, 4)
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
		h.Add(heldOutputs, counts, Item{}, j%4)
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
			c, err := heldOut(t, 800, 3, 2, 4, s, seed).Calibration(nil)
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
			t.Errorf("predictions with %v times the parameters: ratio %v ± %v, want %v", s, sum, se/math.Sqrt(draws), want)
		}
	}
}

// TestCalibrationFew: distributions are unchanged if the calibration cannot be determined.
func TestCalibrationFew(t *testing.T) {
	for _, h := range []*HeldOut{NewHeldOut(2, 2), heldOut(t, 1, 3, 2, 2, 1, 1), heldOut(t, 50, 1, 2, 2, 1, 1)} {
		if c, err := h.Calibration(nil); err != nil || c.Items != 0 || c.Scale != 1 {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// TestWithin: the ratio of several networks together is that of their mixture, for any predictions.
func TestWithin(t *testing.T) {
	r := rand.New(rng.New(2, "spread"))
	w, one, several := &Within{}, 0.0, 0.0
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

// TestCalibrationLikely: distributions are scaled no farther than the likelihood of the votes allows. Votes
// that disagree more often than under any distribution have pairs with a negative spread.
func TestCalibrationLikely(t *testing.T) {
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{4, 4}})
	if err != nil {
		t.Fatal(err)
	}
	h := NewHeldOut(2, 2)
	for j := range 200 {
		counts := []float32{1, 1}
		if j%10 < 4 { // some agree, and would be unlikely if p were one half for all
			counts = []float32{float32(2 * (j % 2)), float32(2 - 2*(j%2))}
		}
		if j%50 == 0 {
			counts = []float32{30, 0}
		}
		h.Add(dist, counts, Item{}, j%2)
	}
	c, err := h.Calibration(nil)
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
	reported, err := narrowed(dist, h.trusted(d.Ratio), d.SE)
	if err != nil {
		t.Fatal(err)
	}
	for k := range h.votes {
		a, _ := dist.LogVotes(h.votes[k])
		b, _ := reported.LogVotes(h.votes[k])
		raw, scaled = raw-a, scaled-b
	}
	if scaled > raw+guardNats+1e-9 {
		t.Errorf("loss %v, as the networks give it %v", scaled, raw)
	}
}

// TestGuard: where networks are too narrow one by one, R ≥ 1, the likelihood limits nothing, however small the ratio
// of the ensemble is.
func TestGuard(t *testing.T) {
	h := heldOut(t, 2000, 3, 2, 4, 2, 1)
	c, err := h.Calibration(&Within{one: 6, between: 4})
	if err != nil {
		t.Fatal(err)
	}
	if want := (c.Network+1)*0.6 - 1; c.Network < 1.2 || c.Trust != 1 || math.Abs(c.Ratio-want) > 1e-12 || math.Abs(c.Scale-c.Ratio) > 0.05 {
		t.Errorf("%+v", c)
	}
}

// TestLeakRatio: votes that agree with predictions more than independent votes can are reported, and nothing is narrowed.
func TestLeakRatio(t *testing.T) {
	h := NewHeldOut(2, 2)
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{4, 4}})
	if err != nil {
		t.Fatal(err)
	}
	for j := range 400 { // predictions of one half for items on which the two votes always differ
		h.Add(dist, []float32{1, 1}, Item{}, j%2)
	}
	c, err := h.Calibration(nil)
	if err != nil || !c.Leak || c.Scale != 1 || c.ScaleSE != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestApply: an uncertain scale averages three scaled distributions, all of which keep the mean.
func TestApply(t *testing.T) {
	dist, err := mixture.NewDirichlet([]float64{0.3, 0.7}, [][]float64{{1, 5}, {4, 3}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Calibration{{Scale: 0.7}, {Scale: 0.7, Shape: Concentrate}, {Scale: 0.2, Shape: Concentrate}, {Scale: 1.4, Shape: Concentrate},
		{Scale: 0.6, ScaleSE: 0.3, Shape: Concentrate}} {
		a := head.NewDecoded(dist)
		c.Apply(&a, Item{})
		if a.Err != nil || math.Abs(a.Mean[0]-dist.Mean(nil)[0]) > 1e-12 {
			t.Fatalf("%+v: %v, mean %v", c, a.Err, a.Mean)
		}
		ratio := a.Variance[0] / dist.Variance(nil)[0]
		if c.ScaleSE == 0 && c.Scale != 0.7 && math.Abs(ratio-c.Scale) > 1e-6 || ratio < c.Scale-1e-6 || a.Dist.K() != dist.K() && c.ScaleSE == 0 {
			t.Errorf("%+v: ratio of variances %v", c, ratio)
		}
	}
	at := newScaleNodes(0.6, 0.3)
	scales, weights := at.scales, at.weights
	if mean := weights[0]*scales[0] + weights[1]*scales[1] + weights[2]*scales[2]; math.Abs(mean-0.6) > 1e-12 || scales[0] >= scales[1] {
		t.Errorf("scales %v, mean %v", scales, mean)
	}
	if at := newScaleNodes(0.2, 0.5); at.scales[0] != leastScale {
		t.Errorf("scales %v", at.scales)
	}
	if scales, _ := (&Calibration{Scale: leastScale, ScaleSE: 0.4, ScaleCenter: -0.2}).Scales(); len(scales) != 2 || scales[0] != leastScale || math.Abs(scales[1]-0.285) > 0.001 {
		t.Errorf("scales %v around a negative ratio", scales)
	}
	if scales, weights := (&Calibration{Scale: leastScale, ScaleSE: 0.4, ScaleCenter: -0.8}).Scales(); len(scales) != 1 || scales[0] != leastScale || weights[0] != 1 {
		t.Errorf("scales %v where all are at the limit", scales)
	}
}

// TestRatersRatio: with a rater model, a ratio from few held-out items is shrunk towards 1, one from many is
// not.
func TestRatersRatio(t *testing.T) {
	raterModel, err := head.RaterModelOf(head.Task{Classes: 2, Raters: 2}, [][]float32{{-9, -9}, nil, {1, 1}, {0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{2, 2}})
	if err != nil {
		t.Fatal(err)
	}
	trusted := func(items int) float64 {
		h := NewHeldOut(2, 2)
		for j := range items {
			votes := []head.Rating{{Rater: 0, Class: int32(j % 2)}, {Rater: 1, Class: int32(j % 2)}}
			if j%3 == 0 {
				votes[1].Class = 1 - votes[1].Class
			}
			if err := h.AddRated(raterModel, dist, votes, Item{}, j%2); err != nil {
				t.Fatal(err)
			}
		}
		d, err := h.all()
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(d.Ratio-5./3) > 0.01 { // (2·¼ − ¼)/3 of a variance of 1/20
			t.Fatalf("ratio %v", d.Ratio)
		}
		return h.trusted(d.Ratio)
	}
	if few, many := trusted(12), trusted(6000); !(few < 1.2 && many > 1.62) {
		t.Errorf("a ratio of 1.67 counts as %.2f by 12 items and as %.2f by 6,000", few, many)
	}
}

// TestFewRaters: with few raters who differ, the ratio is that of the squared error of their mean p̄, which pairs of
// distinct raters alone understate.
func TestFewRaters(t *testing.T) {
	flip := func(p float64, rater int) float64 {
		if rater == 4 {
			return 1 - p
		}
		return p
	}
	ratio, pairs, want := 0.0, 0.0, 0.0
	const draws = 8
	for seed := range uint64(draws) {
		r := rand.New(rng.New(seed, "few raters"))
		h, plain := NewHeldOut(2, 2), NewHeldOut(2, 2)
		squared, claimed := 0.0, 0.0
		for j := range 3000 {
			mean := 0.2 + 0.6*r.Float64() // of p; the prediction is the mean of p̄ given it
			truth, _ := mixture.NewDirichlet([]float64{1}, [][]float64{{4 * mean, 4 * (1 - mean)}})
			p := truth.Sample(nil, r)[0]
			mu := 0.2 + 0.6*mean
			dist, err := mixture.NewDirichlet([]float64{1}, [][]float64{{10 * mu, 10 * (1 - mu)}})
			if err != nil {
				t.Fatal(err)
			}
			counts, votes := make([]float32, 2), []head.Rating(nil)
			for _, rater := range r.Perm(5)[:3] {
				class := int32(0)
				if r.Float64() >= flip(p, rater) {
					class = 1
				}
				counts[class]++
				votes = append(votes, head.Rating{Rater: int32(rater), Class: class})
			}
			decoded := head.NewDecoded(dist)
			h.Add(dist, counts, Item{}, j%2)
			h.AddNamed(&decoded, votes)
			plain.Add(dist, counts, Item{}, j%2)
			e := 0.2 + 0.6*p - mu
			squared += 2 * e * e
			claimed += decoded.Variance[0] + decoded.Variance[1]
		}
		a, err := h.Calibration(nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := plain.Calibration(nil)
		if err != nil {
			t.Fatal(err)
		}
		ratio, pairs, want = ratio+a.Ratio/draws, pairs+b.Ratio/draws, want+squared/claimed/draws
	}
	if math.Abs(ratio-want) > 0.15*want || pairs > 0.7*want {
		t.Errorf("ratio %v, by pairs alone %v, want %v", ratio, pairs, want)
	}
	few := func(votes []int) bool { return NewRaters(These, votes).Few() }
	if !few([]int{1, 1, 1}) || few(slices.Repeat([]int{10}, 30)) || few(nil) {
		t.Error("numbers of raters")
	}
}
