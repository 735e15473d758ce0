package dataset

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWatch(t *testing.T) {
	ds := mixed()
	tr, err := Fit(ds, []int{0, 1, 2, 3, 4, 5, 6}, TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := func(tr *Transform, change func(row []float32)) string {
		t.Helper()
		own := mixed()
		m := own.Rows.(*Memory)
		for i := range m.N {
			change(m.Values[i*m.W : (i+1)*m.W])
		}
		w := tr.NewWatch()
		if err := w.Add(own, nil); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, err := range w.Warnings() {
			b.WriteString(err.Error() + "\n")
		}
		return b.String()
	}
	text, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	var read, old Transform
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &old); err != nil {
		t.Fatal(err)
	}
	for i := range old.features { // a model from before ranges were kept
		old.features[i].Min, old.features[i].Max = nil, nil
	}
	for _, c := range []struct {
		name   string
		of     *Transform
		change func(row []float32)
		want   string // all of it, or its beginning
	}{
		{"as in training", &read, func([]float32) {}, ""},
		{"a little outside", &read, func(x []float32) { x[0] += 3 }, ""},
		{"other units", &read, func(x []float32) { x[0] *= 1000 }, "values far outside the training range, where predictions are unreliable: " +
			"age (6 of 7 items, 1000 to 9000; in training 1 to 9); are the units the same?\n"},
		{"a constant", &read, func(x []float32) { x[1] = 70 }, "values far outside"},
		{"an image of bytes", &read, func(x []float32) { x[6], x[7] = x[6]*255, x[7]*255 }, "values far outside"},
		{"no values", &read, func(x []float32) { x[0], x[3] = nan, nan }, "no item has a value in age, site: predictions are made without it\n"},
		{"a gap", &read, func(x []float32) {
			if x[0] == 7 {
				x[1] = nan
			}
		}, "missing values in columns without missing values in training, treated as the mean or as no level: one (1 of 7)\n"},
		{"without a range", &old, func(x []float32) { x[0] *= 1000 }, "values far outside the training range, where predictions are unreliable: " +
			"age (6 of 7 items, 1000 to 9000); are the units the same?\n"},
	} {
		if got := seen(c.of, c.change); got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
