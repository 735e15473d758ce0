package train

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
	"credence/model"
)

// sites returns items of three sites, the last of which has few, with four votes each. p is drawn from [0.4, 0.6] at the
// first site, and is 0 or 1 at the others.
func sites(n int) *dataset.Dataset {
	ds := &dataset.Dataset{Classes: []string{"well", "ill"}, Features: []dataset.Feature{
		{Name: "x", Kind: dataset.Numeric}, {Name: "site", Kind: dataset.Categorical, Levels: []string{"north", "south", "west"}}}}
	rows := &dataset.Memory{N: n, W: 2}
	for j := range n {
		r := rand.New(rng.New(1, "sites", uint64(j)))
		site, p := j%2, 0.4+0.2*r.Float64()
		if j%60 == 1 {
			site = 2
		}
		if site > 0 {
			p = math.Round(r.Float64())
		}
		counts := make([]float32, 2)
		for range 4 {
			if r.Float64() < p {
				counts[0]++
			} else {
				counts[1]++
			}
		}
		rows.Values = append(rows.Values, float32(r.NormFloat64()), float32(site))
		ds.Items, ds.Counts = append(ds.Items, strconv.Itoa(j)), append(ds.Counts, counts...)
	}
	ds.Rows = rows
	return ds
}

// TestGroupCalibration: groups are in the saved model with what was found about them; an unknown site has the scale of
// all items, and so has one with too few votes, which is said.
func TestGroupCalibration(t *testing.T) {
	ctx := context.Background()
	ds := sites(600)
	res, err := Fit(ctx, ds, Options{Seed: 1, Epochs: 2, Ensemble: 2, NoReferences: true, GroupCalibration: "site", Trees: "off", Transform: dataset.TransformOptions{Scores: "off"}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.credence")
	if err := res.Model.Save(path); err != nil {
		t.Fatal(err)
	}
	m, err := model.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	g := m.Calibration.Groups
	if g == nil || !g.Differ() || g.Feature != "site" || !g.Levels[2].TooFew || !(g.Levels[0].Factor < g.Levels[1].Factor) {
		t.Fatalf("groups: %+v", g)
	}
	warned := false
	for _, w := range m.Provenance.Warnings {
		warned = warned || strings.Contains(w.String(), "too few votes to calibrate intervals by site for west")
	}
	if !warned {
		t.Errorf("warnings: %v", m.Provenance.Warnings)
	}
	variances := func(ds *dataset.Dataset) (list []float64) {
		got, err := m.Predict(ctx, ds, model.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got {
			list = append(list, a.Dist.Variance(nil)[0])
		}
		return list
	}
	renamed := sites(8)
	renamed.Features[1].Levels = []string{"east", "south", "west"} // east is unknown
	by, unknown := variances(sites(8)), variances(renamed)
	m.Calibration.Groups = nil
	plain, unknownPlain := variances(sites(8)), variances(renamed)
	if by[0] == plain[0] || unknown[0] != unknownPlain[0] || by[1] != plain[1] {
		t.Errorf("variances by site %v, without %v; of an unknown site %v, without %v", by[:2], plain[:2], unknown[0], unknownPlain[0])
	}
}

func TestGroupCalibrationErrors(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{GroupCalibration: "Site"}, `expected the name of a categorical feature ("site"), found "Site"`},
		{Options{GroupCalibration: "x"}, `expected the name of a categorical feature ("site"), found "x"`},
		{Options{GroupCalibration: "site", Calibrate: "off"}, "expected calibrated intervals"},
	} {
		c.o.Epochs, c.o.NoReferences = 1, true
		if _, err := Fit(context.Background(), sites(40), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: expected %q", err, c.want)
		}
	}
}
