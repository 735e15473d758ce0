package train

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/dataset"
	"credence/internal/rng"
	"credence/internal/special"
	"credence/model"
)

// fiveRaters draws n items with three votes each by five raters, whose biases are drawn from N(0, 1). Item i has the logit
// z_i = x_i + N(0, 0.6²), rater r votes for the second class with probability σ(z_i + b_r). It returns the data, and of each item the
// mean of σ(z_i + b) over these raters and over their population.
func fiveRaters(seed uint64, n int) (ds *dataset.Dataset, these, all []float64) {
	r := rand.New(rng.New(seed, "five raters"))
	biases := make([]float64, 5)
	for k := range biases {
		biases[k] = r.NormFloat64()
	}
	ds = &dataset.Dataset{Classes: []string{"no", "yes"}, Raters: []string{"a", "b", "c", "d", "e"},
		Features: []dataset.Feature{{Name: "x", Kind: dataset.Numeric}, {Name: "y", Kind: dataset.Numeric}}}
	rows := &dataset.Memory{N: n, W: 2}
	for j := range n {
		x := r.NormFloat64()
		z := x + 0.6*r.NormFloat64()
		rows.Values = append(rows.Values, float32(x), float32(r.NormFloat64()))
		counts := make([]float32, 2)
		for _, k := range r.Perm(5)[:3] {
			class := 0
			if r.Float64() < special.Sigmoid(z+biases[k]) {
				class = 1
			}
			counts[class]++
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(k), Class: int32(class)})
		}
		ds.Items, ds.Counts = append(ds.Items, strconv.Itoa(j)), append(ds.Counts, counts...)
		mean, whole, weight := 0.0, 0.0, 0.0
		for _, b := range biases {
			mean += special.Sigmoid(z+b) / 5
		}
		for b := -5.0; b <= 5; b += 0.1 {
			w := math.Exp(-b * b / 2)
			whole, weight = whole+w*special.Sigmoid(z+b), weight+w
		}
		these, all = append(these, mean), append(all, whole/weight)
	}
	ds.Rows = rows
	return ds, these, all
}

// populationCoverage returns the shares of new items whose 75% and 95% intervals contain the mean of these raters, and of their
// population.
func populationCoverage(t *testing.T, seed uint64, o Options) (these, all [2]float64, found *calibrate.Raters) {
	t.Helper()
	const items, judged = 1500, 500
	ds, mean, whole := fiveRaters(seed, items)
	var learn, test []int
	for j := range items {
		if j < items-judged {
			learn = append(learn, j)
		} else {
			test = append(test, j)
		}
	}
	res, err := Fit(t.Context(), ds.Select(learn), o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := res.Model.Predict(t.Context(), ds.Select(test), model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range got {
		for l, level := range []float64{0.75, 0.95} {
			in := got[k].Reported().Class(1).Interval(0, level)
			if j := test[k]; mean[j] >= in.Lo && mean[j] <= in.Hi {
				these[l] += 1. / judged
			}
			if j := test[k]; whole[j] >= in.Lo && whole[j] <= in.Hi {
				all[l] += 1. / judged
			}
		}
	}
	return these, all, res.Model.Calibration.Raters
}

// TestPopulation: intervals for these raters contain their mean, those for raters like these also the mean of the population, as
// often as they claim. Seeds 1 to 4, whose means over 16 seeds are 74.5/95.7 for these raters and 69.0/93.3 for their population,
// and with like-these 79.8/97.2 for it; a seed deviates by about 9 and 3 points.
func TestPopulation(t *testing.T) {
	if testing.Short() {
		t.Skip("eight fits")
	}
	const seeds = 4
	var mean, narrow, wide float64 // at 75% and 95% together
	for seed := range uint64(seeds) {
		o := Options{Seed: seed + 1, Raters: "off", NoReferences: true}
		these, all, r := populationCoverage(t, seed+1, o)
		mean, narrow = mean+(these[0]+these[1])/seeds, narrow+(all[0]+all[1])/seeds
		if r.Population != calibrate.These || !(r.Effective > 4.9 && r.Effective <= 5) || !(r.Spread > 0) {
			t.Errorf("seed %d: %+v", seed+1, r)
		}
		o.Population = calibrate.LikeThese
		_, all, r = populationCoverage(t, seed+1, o)
		wide += (all[0] + all[1]) / seeds
		if r.Population != calibrate.LikeThese {
			t.Errorf("seed %d: %+v", seed+1, r)
		}
	}
	if mean < 1.60 || mean > 1.80 || narrow > 1.60 || wide < 1.63 || wide > 1.85 {
		t.Errorf("coverage at 75%% and 95%% together: %.2f of these raters' mean, %.2f of their population's, %.2f by like-these", mean, narrow, wide)
	}
}

// TestPopulationWithout: like-these needs calibrated intervals, and makes no difference for votes without names or many raters.
func TestPopulationWithout(t *testing.T) {
	ds, _, _ := fiveRaters(1, 200)
	o := Options{Seed: 1, Epochs: 2, Ensemble: 1, Trees: "off", NoReferences: true, Population: calibrate.LikeThese, Calibrate: "off"}
	if _, err := Fit(t.Context(), ds, o); err == nil || !strings.Contains(err.Error(), `population "like-these": expected calibrated intervals`) {
		t.Errorf("calibrate off: %v", err)
	}
	o.Calibrate, o.Population = "auto", "all"
	if _, err := Fit(t.Context(), ds, o); err == nil || !strings.Contains(err.Error(), "population") {
		t.Errorf("an unknown population: %v", err)
	}
	ds.Ratings, ds.Raters = nil, nil
	var scales []float64
	for _, p := range []string{"", calibrate.LikeThese} {
		o.Population = p
		res, err := Fit(t.Context(), ds, o)
		if err != nil {
			t.Fatal(err)
		}
		c := res.Model.Calibration
		if scales = append(scales, c.Scale); c.Raters == nil || c.Raters.Effective != 0 || c.Raters.Spread != 0 {
			t.Errorf("votes without names: %+v", c.Raters)
		}
	}
	if scales[0] != scales[1] {
		t.Errorf("votes without names: scales %v", scales)
	}
}
