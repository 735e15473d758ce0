package train

import (
	"slices"
	"testing"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
)

// fittedTransform returns the transform of dataset.Fit for a few items with the
// given feature blocks.
func fittedTransform(t *testing.T, parts ...dataset.Feature) *dataset.Transform {
	t.Helper()
	ds := tensors(4, parts...)
	tr, err := dataset.Fit(ds, []int{0, 1, 2, 3}, dataset.TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func image(shape ...int) dataset.Feature {
	return dataset.Feature{Name: "x", Kind: dataset.Tensor, Shape: shape}
}

// TestImageDefaults: the options chosen for images, from few small ones to many
// large ones.
func TestImageDefaults(t *testing.T) {
	for _, c := range []struct {
		items           int
		shape           []int
		width           int // of the last stage
		rate            float64
		epochs, patient int
		shift, networks int
	}{
		{200, []int{3, 32, 32}, 64, 0.005, 60, 30, 2, 5},
		{500, []int{3, 32, 32}, 64, 0.005, 40, 20, 2, 5},
		{2000, []int{3, 32, 32}, 64, 0.007, 20, 10, 2, 5},
		{8000, []int{3, 32, 32}, 96, 0.01, 20, 10, 2, 5},
		{60000, []int{3, 32, 32}, 96, 0.01, 10, 5, 2, 5},
		{500, []int{3, 12, 40}, 64, 0.005, 40, 20, 0, 5},
		{5000, []int{3, 224, 224}, 96, 0.01, 20, 10, 14, 5},
		{60000, []int{3, 224, 224}, 96, 0.01, 10, 5, 14, 1},
	} {
		tr := fittedTransform(t, image(c.shape...))
		o, err := Options{}.complete(c.items, head.Traits{}, tr)
		if err != nil {
			t.Fatal(err)
		}
		if o.Network != "cnn2d" || o.Schedule != "cosine" || o.Widths[2] != c.width || o.Rate != c.rate || o.Epochs != c.epochs ||
			o.Patience != c.patient || o.Augment != (Augment{Shift: c.shift}) || o.Ensemble != c.networks {
			t.Errorf("%d images %v: %s, widths %v, %s rate %v, %d epochs, patience %d, %+v, %d networks, want %+v", c.items, c.shape,
				o.Network, o.Widths, o.Schedule, o.Rate, o.Epochs, o.Patience, o.Augment, o.Ensemble, c)
		}
		again, err := o.complete(c.items, head.Traits{}, tr)
		if err != nil || again.Rate != o.Rate || again.Epochs != o.Epochs || again.Augment != o.Augment {
			t.Errorf("complete options change: %+v, then %+v, %v", o, again, err)
		}
	}
}

// TestImageChoices: given options override the defaults.
func TestImageChoices(t *testing.T) {
	tr := fittedTransform(t, image(3, 32, 32))
	o, err := Options{Augment: Augment{Shift: -1}, Schedule: "constant", Rate: 0.002, Epochs: 7, Patience: -1, Widths: []int{8}}.complete(500, head.Traits{}, tr)
	if err != nil {
		t.Fatal(err)
	}
	if !o.Augment.none() || newAugmenter(o.Augment, tr, 1, 0) != nil || o.Schedule != "constant" || o.Rate != 0.002 || o.Epochs != 7 || o.Patience != -1 || len(o.Widths) != 1 {
		t.Errorf("given options were changed: %+v", o)
	}
	if again, err := o.complete(500, head.Traits{}, tr); err != nil || !again.Augment.none() {
		t.Errorf("no augmentation became %+v, %v", again.Augment, err)
	}
	for _, name := range []string{"resnet", "lenet5", "mlp"} {
		o, err := Options{Network: name, Augment: Augment{Shift: -1}}.complete(500, head.Traits{}, tr)
		if err != nil || o.Rate != 1e-3 || o.Schedule != "constant" || o.Epochs != 500 || o.Augment != (Augment{}) {
			t.Errorf("%s: rate %v, %s, %d epochs, %+v, %v", name, o.Rate, o.Schedule, o.Epochs, o.Augment, err)
		}
	}
}

// TestImageWarning: there is a warning that the last epoch is the best one where more
// epochs would help, and none where the learning rate has decayed.
func TestImageWarning(t *testing.T) {
	// The class is the brightness: every epoch is better than the one before.
	ds := tensors(60, image(3, 8, 8))
	rows := ds.Rows.(*dataset.Memory)
	clear(ds.Counts)
	for j := range ds.Len() {
		c := j % 3
		ds.Counts[3*j+c] = 3
		for k := range rows.W {
			rows.Values[j*rows.W+k] += float32(c - 1)
		}
	}
	for schedule, want := range map[string]bool{"": false, "constant": true} {
		res := fitted(t, ds, Options{Epochs: 6, Ensemble: 2, Rate: 1e-4, Schedule: schedule})
		got := slices.ContainsFunc(res.Model.Provenance.Warnings, func(w evaluate.Message) bool { return w.Kind == StillImproving })
		if got != want {
			t.Errorf("schedule %q: warnings %q", schedule, res.Model.Provenance.Warnings)
		}
	}
}
