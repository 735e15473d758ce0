package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
	"credence/mixture"
)

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

// TestLeak: a feature that is a noisy copy of the item's own votes is found and named.
func TestLeak(t *testing.T) {
	if testing.Short() {
		t.Skip("it fits several ensembles")
	}
	ds := simulated(1200, 2, 3)
	rows := ds.Rows.(*dataset.Memory)
	wide := &dataset.Memory{N: rows.N, W: rows.W + 1}
	r := rand.New(rng.New(3, "leak"))
	for i := range rows.N {
		wide.Values = append(wide.Values, rows.Values[i*rows.W:(i+1)*rows.W]...)
		share := ds.CountsOf(i)[0] / float32(ds.VotesOf(i))
		wide.Values = append(wide.Values, share+0.3*float32(r.NormFloat64()))
	}
	ds.Rows = wide
	ds.Features = append(slices.Clone(ds.Features), dataset.Feature{Name: "score", Kind: dataset.Numeric})
	res := fitted(t, ds, Options{Seed: 1, NoReferences: true})
	c := res.Model.Calibration
	text := ""
	for _, w := range res.Model.Provenance.Warnings {
		text += w.String() + "\n"
	}
	if !c.Leak || c.Scale != 1 || !strings.Contains(text, `without column "score"`) {
		t.Errorf("calibration %+v, warnings\n%s", c, text)
	}
	if c := fitted(t, simulated(1200, 2, 3), Options{Seed: 1, NoReferences: true}).Model.Calibration; c.Leak {
		t.Errorf("without the column: %+v", c)
	}
}

// TestDuplicates: items with equal features are held out together, and it is reported.
func TestDuplicates(t *testing.T) {
	ds := simulated(60, 3, 1)
	rows := ds.Rows.(*dataset.Memory)
	copy(rows.Values[rows.W:2*rows.W], rows.Values[:rows.W])
	o := quick()
	f, err := choose(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	if f.fold[0] != f.fold[1] || len(f.warnings) != 1 || f.warnings[0].Kind != Duplicates {
		t.Errorf("folds %v, warnings %v", f.fold[:3], f.warnings)
	}
}
