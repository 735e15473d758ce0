package monitor_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
	"credence/model"
	"credence/monitor"
	"credence/train"
)

// visits returns items with a number and a site, with three votes each whose log odds are x + bias, and at site b more by
// siteB.
func visits(n int, bias, siteB float64, seed uint64) *dataset.Dataset {
	rows := &dataset.Memory{N: n, W: 2}
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Rows: rows,
		Features: []dataset.Feature{{Name: "x"}, {Name: "site", Kind: dataset.Categorical, Levels: []string{"a", "b"}}}}
	r := rand.New(rng.New(seed, "visits"))
	for i := range n {
		x, site := r.NormFloat64(), i%2
		p := 1 / (1 + math.Exp(-x-bias-siteB*float64(site)))
		yes := float32(0)
		for range 3 {
			if r.Float64() < p {
				yes++
			}
		}
		ds.Items = append(ds.Items, fmt.Sprint(seed, "-", i))
		rows.Values = append(rows.Values, float32(x), float32(site))
		ds.Counts = append(ds.Counts, 3-yes, yes)
	}
	return ds
}

// TestRecalibrate: without a change nothing is offered; a shift is found and repaired, by level if asked; the file is
// read back with the same predictions, and has a version that earlier programs refuse.
func TestRecalibrate(t *testing.T) {
	fit, err := train.Fit(t.Context(), visits(600, 0, 0, 1), train.Options{Ensemble: 1, Widths: []int{8}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := fit.Model
	if _, err := monitor.Recalibrate(t.Context(), m, monitor.Later{Data: visits(200, 0, 0, 2)}, ""); !errors.Is(err, monitor.ErrNoGain) {
		t.Errorf("without a change: expected no gain, found %v", err)
	}
	if _, err := monitor.Recalibrate(t.Context(), m, monitor.Later{Data: visits(20, 1, 0, 2)}, ""); err == nil || !strings.Contains(err.Error(), "at least 30 items") {
		t.Errorf("few items: expected an error, found %v", err)
	}
	if _, err := monitor.Recalibrate(t.Context(), m, monitor.Later{Data: visits(100, 1, 0, 2)}, "x"); err == nil || !strings.Contains(err.Error(), "categorical feature") {
		t.Errorf("by a number: expected an error, found %v", err)
	}
	all, err := monitor.Recalibrate(t.Context(), m, monitor.Later{Data: visits(300, 1, 0, 3)}, "")
	if err != nil {
		t.Fatal(err)
	}
	if r := all.Recalibration; !(r.Shift[1] > .6 && r.Shift[1] < 1.4 && r.Gain > 2*r.GainSE) || r.Votes != 900 || r.From == "" {
		t.Errorf("expected a shift near 1, found %+v", r)
	}
	by, err := monitor.Recalibrate(t.Context(), m, monitor.Later{Data: visits(300, 0, 1.5, 4)}, "site")
	if err != nil {
		t.Fatal(err)
	}
	if r := by.Recalibration; !(r.Shifts[1][1]-r.Shifts[0][1] > .8) {
		t.Errorf("expected site b to be shifted, found %+v", r)
	}
	var file bytes.Buffer
	if err := by.Encode(&file); err != nil {
		t.Fatal(err)
	}
	back, err := model.Decode(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	items := visits(10, 0, 0, 5)
	want, err := by.Predict(t.Context(), items, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := back.Predict(t.Context(), items, model.PredictOptions{MeansOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := m.Predict(t.Context(), items, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for j := range want {
		if got[j].Mean[1] != want[j].Mean[1] || j%2 == 1 && !(want[j].Mean[1] > plain[j].Mean[1]) {
			t.Errorf("item %d: expected %v, found %v; before %v", j, want[j].Mean, got[j].Mean, plain[j].Mean)
		}
	}
	var old bytes.Buffer
	if err := m.Encode(&old); err != nil || bytes.Contains(old.Bytes(), []byte(`recalibration`)) {
		t.Errorf("a model without an adjustment is written as before: %v", err)
	}
	if !bytes.Contains(file.Bytes(), []byte(`"recalibration"`)) {
		t.Error("expected the adjustment in the file")
	}
	again, err := monitor.Recalibrate(t.Context(), all, monitor.Later{Data: visits(300, 2, 0, 6)}, "")
	if err != nil {
		t.Fatal(err)
	}
	if x := again.Recalibration.Shift[1]; !(x > 1.4 && x < 2.6) {
		t.Errorf("a second adjustment: expected a total shift near 2, found %v", x)
	}
}
