package monitor_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/dataset"
	"credence/internal/special"
	"credence/model"
	"credence/monitor"
	"credence/train"
)

// TestPlain: distributions to monitor are those of the networks at the ratio itself, times the factor of the place of an item,
// without the allowances; everything else of the model is kept.
func TestPlain(t *testing.T) {
	fit, err := train.Fit(t.Context(), visits(200, 0, 0, 1), train.Options{Ensemble: 2, Widths: []int{8}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, items := fit.Model, visits(20, 0, 0, 2)
	m.Ordered = true
	in, err := m.Transform.Over(items)
	if err != nil {
		t.Fatal(err)
	}
	width := m.Transform.Plain()
	place := &calibrate.Place{Members: 2, Center: make([]float64, width), Spread: make([]float64, width), Level: make([]float64, width+1),
		Residual: 1, Slopes: make([]float64, width+1), Shift: .05, Posterior: make([]float64, (width+1)*(width+1))}
	for i := range width {
		place.Spread[i] = 1
	}
	place.Slopes[0] = .3
	for i := range place.Posterior {
		place.Posterior[i] = .2
	}
	predict := func(m *model.Model, c *calibrate.Calibration) []float64 {
		t.Helper()
		m.Calibration = c
		decoded, err := m.Predict(t.Context(), items, model.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sums := make([]float64, len(decoded))
		for j := range decoded {
			sums[j] = special.Sum(decoded[j].Dist.Variance(nil))
		}
		return sums
	}
	raw := predict(m, nil)
	const ratio, trust = 1.2, .9
	for name, p := range map[string]*calibrate.Place{"one scale": nil, "by place": place} {
		c := &calibrate.Calibration{Scale: 1.6, ScaleSE: .3, Shape: calibrate.Concentrate, Resolution: .01, Ratio: ratio, RatioSE: .3, Items: 50,
			Network: 1.3, Trust: trust, Place: p}
		m.Calibration = c
		got := predict(monitor.Plain(m), monitor.Plain(m).Calibration)
		row := make([]float32, in.Width())
		for j := range got {
			if err := in.ReadRow(j, row); err != nil {
				t.Fatal(err)
			}
			want := 1 + trust*(ratio-1)
			if p != nil {
				want *= math.Exp(.3*min(max(float64(row[0]), -3), 3) + .05)
			}
			if !(math.Abs(got[j]/raw[j]-want) < 1e-6) {
				t.Errorf("%s, item %d: expected %v times the variance, found %v", name, j, want, got[j]/raw[j])
			}
		}
		if c.Place != p || p != nil && p.Posterior[0] != .2 {
			t.Errorf("%s: the model's own calibration was changed", name)
		}
	}
	plain := reflect.ValueOf(monitor.Plain(m)).Elem()
	for i, field := range reflect.VisibleFields(plain.Type()) {
		if field.IsExported() && field.Name != "Calibration" && !reflect.DeepEqual(plain.Field(i).Interface(), reflect.ValueOf(m).Elem().Field(i).Interface()) {
			t.Errorf("field %s: expected that of the model, found %v", field.Name, plain.Field(i))
		}
	}
}

// TestJudges: votes of machines are features, and no evidence, in a file with those of people and one by one.
func TestJudges(t *testing.T) {
	read := func(from, to int, o dataset.LoadOptions) *dataset.Dataset {
		t.Helper()
		var text strings.Builder
		text.WriteString("item,rater,label,kind\n")
		for i := from; i < to; i++ {
			for k, rater := range []string{"ann", "bob", "gpt"} {
				fmt.Fprintf(&text, "q%d,%s,%s,%s\n", i, rater, []string{"bad", "good"}[(i*i%11+k*i%3)%2], []string{"human", "human", "machine"}[k])
			}
		}
		path := filepath.Join(t.TempDir(), "votes.csv")
		if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		o.Votes = []string{path}
		ds, err := dataset.Load(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return ds
	}
	fit, err := train.Fit(t.Context(), read(0, 60, dataset.LoadOptions{}), train.Options{Epochs: 3, Ensemble: 2, Widths: []int{4}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := fit.Model
	o := dataset.LoadOptions{}
	o.FeatureOptions.Schema, o.VotesOptions.Schema, o.VotesOptions.Classes = m.Transform.Schema(), m.Transform.Schema(), m.Classes
	later := read(60, 80, o)
	votes, err := monitor.Votes(m, later)
	if err != nil {
		t.Fatal(err)
	}
	w, err := monitor.New(m, monitor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddItems(t.Context(), m, monitor.Later{Data: later}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddVotes(t.Context(), votes); err != nil {
		t.Fatal(err)
	}
	before := w.Report(1000)
	if before.Votes != 40 || len(before.Raters) != 2 {
		t.Errorf("expected 40 votes of two people, found %d of %d raters", before.Votes, len(before.Raters))
	}
	for i := 60; i < 80; i++ {
		if err := w.Add(monitor.Vote{Item: fmt.Sprint("q", i), Rater: "gpt", Class: i % 2}); err != nil {
			t.Fatal(err)
		}
	}
	if after := w.Report(1000); !reflect.DeepEqual(after, before) {
		t.Errorf("votes of a judge: expected evidence %v from 40 votes, found %v from %d", before.Evidence, after.Evidence, after.Votes)
	}
}
