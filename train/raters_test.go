package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/model"
)

// rated draws items with one vote per rater, each with a bias.
func rated(n int, leans []float64, seed uint64) *dataset.Dataset {
	ds := simulated(n, 1, seed)
	r := rand.New(rng.New(seed, "raters.test"))
	clear(ds.Counts)
	for k := range leans {
		ds.Raters = append(ds.Raters, string(rune('A'+k)))
	}
	rows := ds.Rows.(*dataset.Memory)
	for j := range n {
		z := 2*float64(rows.Values[3*j]) - float64(rows.Values[3*j+2])/2 + r.NormFloat64()
		for k, b := range leans {
			v := int32(0)
			if r.Float64() < 1/(1+math.Exp(-z-b)) {
				v = 1
			}
			ds.Counts[2*j+int(v)]++
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(k), Class: v})
		}
	}
	return ds
}

// TestRatersAuto: three raters with different thresholds are modelled; the model is the same on one core
// and several, after saving and loading, and weighs votes by rater.
func TestRatersAuto(t *testing.T) {
	ds := rated(300, []float64{-1.5, 0, 1.5}, 1)
	o := quick()
	o.Epochs = 25
	res := fitted(t, ds, o)
	p := res.Model.Provenance.Raters
	if p == nil || !p.Known || !(p.Gain > 2*p.GainSE) {
		t.Fatalf("raters are not known: %+v", p)
	}
	c := res.Model.RaterModel
	if !(c.Bias[0] < -0.8 && c.Bias[2] > 0.8 && math.Abs(c.Bias[1]) < 0.5) || !(c.BiasSE[0] > 0.02 && c.BiasSE[0] < 0.6) {
		t.Errorf("leans %v ± %v, want about -1.5, 0, 1.5", c.Bias, c.BiasSE)
	}
	sum := 0.0
	for r, b := range c.Bias {
		sum += c.Votes[r] * b
	}
	if math.Abs(sum) > 1e-3*float64(len(ds.Ratings)) {
		t.Errorf("leans by votes sum to %v, want 0", sum)
	}
	was := runtime.GOMAXPROCS(1)
	again := fitted(t, ds, o)
	runtime.GOMAXPROCS(was)
	text := encoded(t, res.Model)
	if !bytes.Equal(text, encoded(t, again.Model)) {
		t.Error("another number of cores gives another model")
	}
	loaded, err := model.Decode(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	few := ds.Select([]int{0, 1, 2})
	before, err := res.Model.Predict(context.Background(), few, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := loaded.Predict(context.Background(), few, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for j := range decoded {
		a, b := before[j].Reported().Class(1).Interval(0, 0.9), decoded[j].Reported().Class(1).Interval(0, 0.9)
		if before[j].Mean[1] != decoded[j].Mean[1] || a != b || before[j].Average == nil {
			t.Errorf("item %d: %v %v, after loading %v %v", j, before[j].Mean, a, decoded[j].Mean, b)
		}
	}
	// A vote for the second class is more informative from a rater with a bias for the first.
	var means [3]float64
	for r := range means {
		after, err := decoded[0].AfterRatings(loaded.RaterModel, []head.Rating{{Rater: int32(r), Class: 1}})
		if err != nil {
			t.Fatal(err)
		}
		means[r] = after.Mean[1]
	}
	if !(means[0] > means[1] && means[1] > means[2]) {
		t.Errorf("means after a vote by each rater are %v, want them to fall", means)
	}
}

// TestRatersAlike: where raters do not differ, the model is that of a fit without them, bit for bit.
func TestRatersAlike(t *testing.T) {
	ds := rated(200, []float64{0, 0, 0}, 2)
	o := quick()
	auto := fitted(t, ds, o)
	if p := auto.Model.Provenance.Raters; p == nil || p.Known || auto.Model.RaterModel != nil {
		t.Fatalf("raters are known: %+v", p)
	}
	o.Raters = "off"
	off := fitted(t, ds, o)
	for i, m := range off.Model.Members {
		for k, x := range m.Values {
			if auto.Model.Members[i].Values[k] != x {
				t.Fatal("another model than without raters")
			}
		}
	}
}

// TestRatersDeclined: data whose raters are not modelled, and the reasons reported.
func TestRatersDeclined(t *testing.T) {
	cases := []struct {
		name, auto, on string
		change         func(ds *dataset.Dataset)
	}{
		{"no names", "", "no raters' names", func(ds *dataset.Dataset) { ds.Raters, ds.Ratings = nil, nil }},
		{"one rater", "one rater only", "one rater only", func(ds *dataset.Dataset) {
			ds.Raters = ds.Raters[:1]
			for k := range ds.Ratings {
				ds.Ratings[k].Rater = 0
			}
		}},
		{"few votes", "fewer than 30", "", func(ds *dataset.Dataset) {
			for range 40 {
				ds.Raters = append(ds.Raters, "another")
			}
			for k := range ds.Ratings {
				ds.Ratings[k].Rater = int32(k % len(ds.Raters))
			}
		}},
		{"raters apart", "2 groups that share no item", "", func(ds *dataset.Dataset) {
			for k := range ds.Ratings {
				ds.Ratings[k].Rater = ds.Ratings[k].Item / 100
			}
		}},
		{"unnamed votes", "carry no rater's name", "", func(ds *dataset.Dataset) { ds.Ratings = ds.Ratings[1:] }},
		{"fractions", "whole votes", "whole votes", func(ds *dataset.Dataset) { ds.Counts[0] += 0.5 }},
		{"too many votes", "more than the 200", "more than the 200", func(ds *dataset.Dataset) { ds.Counts[0] += 300 }},
	}
	for _, c := range cases {
		ds := rated(200, []float64{-1, 0, 1}, 3)
		c.change(ds)
		o := bare()
		o.Epochs = 2
		res := fitted(t, ds, o)
		p := res.Model.Provenance.Raters
		switch {
		case c.auto == "" && p != nil, c.auto != "" && (p == nil || p.Known || !strings.Contains(p.Reason.String(), c.auto)):
			t.Errorf("%s: %+v, want %q", c.name, p, c.auto)
		}
		o.Raters = "on"
		asked, err := Fit(context.Background(), ds, o)
		if err == nil && !strings.Contains(fmt.Sprint(asked.Model.Provenance.Warnings), c.auto) {
			t.Errorf("%s, asked for: warnings %q, want %q", c.name, asked.Model.Provenance.Warnings, c.auto)
		}
		switch {
		case c.on == "" && err != nil, c.on != "" && (!errors.Is(err, ErrRaters) || !strings.Contains(err.Error(), c.on)):
			t.Errorf("%s, asked for: %v, want %q", c.name, err, c.on)
		}
	}
	o := bare()
	o.Head, o.Raters = head.Softmax{}, "on"
	if _, err := Fit(context.Background(), rated(50, []float64{0, 1}, 4), o); !errors.Is(err, ErrRaters) {
		t.Errorf("softmax: %v", err)
	}
	o = bare()
	o.Raters = "maybe"
	if _, err := Fit(context.Background(), rated(50, []float64{0, 1}, 4), o); err == nil {
		t.Error(`raters "maybe": no error`)
	}
}

// TestRatersConstant: a rater who always votes for one class has a bias or guesses, and nothing overflows; also
// with three classes.
func TestRatersConstant(t *testing.T) {
	for _, classes := range []int{2, 3} {
		ds := rated(200, []float64{0, 0, 0}, 5)
		if classes == 3 {
			ds.Classes = append(ds.Classes, "maybe")
			ds.Counts = make([]float32, 3*ds.Len())
		}
		clear(ds.Counts)
		for k := range ds.Ratings {
			r := &ds.Ratings[k]
			if r.Rater == 0 {
				r.Class = 1
			} else if classes == 3 && k%7 == 0 {
				r.Class = 2
			}
			ds.Counts[int(r.Item)*classes+int(r.Class)]++
		}
		o := quick()
		o.Raters = "on"
		res := fitted(t, ds, o)
		c := res.Model.RaterModel
		if err := c.Check(classes, 3); err != nil {
			t.Fatal(err)
		}
		if classes == 2 && !(c.Bias[0] > 0.5 || c.Guess[0] > 0.2) || classes == 3 && !(c.Guess[0] > c.Guess[1]) {
			t.Errorf("%d classes: leans %v, guesses %v of a rater who always says the same", classes, c.Bias, c.Guess)
		}
	}
}

// TestRatersResume: a run with raters that is stopped repeatedly ends with the same bytes.
func TestRatersResume(t *testing.T) {
	ds := rated(120, []float64{-2, 0, 2}, 6)
	o := quick()
	o.Memory, o.Epochs = 1, 6
	want := encoded(t, fitted(t, ds, o).Model)
	o.Checkpoint, o.Resume = t.TempDir(), true
	m, stops := interrupted(t, ds, o, 700)
	if stops < 3 {
		t.Errorf("stopped %d times only", stops)
	}
	if !bytes.Equal(encoded(t, m), want) {
		t.Error("another model than that of a run that was not stopped")
	}
}

// TestRatersMillion: as many raters cost memory in proportion, and a batch no more time.
func TestRatersMillion(t *testing.T) {
	ds := rated(60, []float64{-1, 0, 1}, 7)
	for len(ds.Raters) < 1_000_000 {
		ds.Raters = append(ds.Raters, "nobody")
	}
	for k := range ds.Ratings {
		ds.Ratings[k].Rater = int32(k * 5000)
	}
	o := bare()
	o.Epochs, o.Ensemble, o.Raters = 2, 2, "on"
	res := fitted(t, ds, o)
	if n := len(res.Model.RaterModel.Bias); n != 1_000_000 {
		t.Errorf("%d raters", n)
	}
	o.Raters = ""
	if p := fitted(t, ds, o).Model.Provenance.Raters; p == nil || p.Known {
		t.Errorf("a million raters with a vote each: %+v", p)
	}
}
