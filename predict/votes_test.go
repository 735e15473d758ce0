package predict

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/dataset"
	"credence/head"
	"credence/model"
	"credence/nn"
)

// threeItems has votes on the second and the third item.
func threeItems() *dataset.Dataset {
	return &dataset.Dataset{
		Items: []string{"a", "b", "c"}, Classes: []string{"no", "maybe", "yes"}, Counts: []float32{0, 0, 0, 2, 1, 0, 0, 0, 3},
		Features: []dataset.Feature{{Name: "age", Kind: dataset.Numeric}},
		Rows:     &dataset.Memory{N: 3, W: 1, Values: []float32{40, 50, 60}},
	}
}

// newModel returns a model of one random network.
func newModel(t *testing.T, method head.Method, outputs int) *model.Model {
	t.Helper()
	ds := threeItems()
	tr, err := dataset.Fit(ds, []int{0, 1, 2}, dataset.TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(&nn.Dense{Out: outputs}, model.InputShape(tr), nn.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &model.Model{Classes: ds.Classes, Method: method, Transform: tr, Members: []*nn.Network{net}}
}

func predictions(t *testing.T, m *model.Model, ds *dataset.Dataset, v *Votes) []Prediction {
	t.Helper()
	list, err := New(m, Options{Votes: v}).Dataset(context.Background(), ds)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestVotes: votes are matched by the names of items and classes, whatever their order, and change nothing else.
func TestVotes(t *testing.T) {
	m, ds := newModel(t, head.Mixture{Components: 2, Limit: 20}, 8), threeItems()
	m.Calibration = &calibrate.Calibration{Scale: 1.5, Resolution: 0.01} // which comes before votes
	prior := predictions(t, m, ds, nil)
	cast := &dataset.Dataset{Items: []string{"c", "x", "b"}, Classes: []string{"yes", "never", "no", "maybe"},
		Counts: []float32{3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 1}}
	v, err := MatchVotes(m, cast)
	if err != nil {
		t.Fatal(err)
	}
	p := New(m, Options{Votes: v})
	after, err := p.Dataset(context.Background(), ds)
	if err != nil {
		t.Fatal(err)
	}
	for j := range prior {
		c := ds.CountsOf(j)
		want, err := prior[j].Dist.Update([]float64{float64(c[0]), float64(c[1]), float64(c[2])})
		if err != nil {
			t.Fatal(err)
		}
		for i, mu := range after[j].Mean {
			if w := want.Mean(nil)[i]; math.Abs(mu-w) > 1e-14 {
				t.Errorf("item %d, class %d: mean %v, expected %v", j, i, mu, w)
			}
		}
	}
	if d := p.Diagnostics(); d.Unused != 1 || d.Items != 3 || d.Failed != 0 {
		t.Errorf("%+v: expected one item with votes that was not predicted", d)
	}
	if n := v.Cast("c"); n != 3 {
		t.Errorf("%v votes on c, expected 3", n)
	}
	cast.Counts[1] = 1
	if _, err := MatchVotes(m, cast); err == nil || !strings.Contains(err.Error(), `found "never"`) {
		t.Errorf("a vote for an unknown class: %v", err)
	}
}

// TestVotesNeedDistribution: a method without distributions cannot take votes into account.
func TestVotesNeedDistribution(t *testing.T) {
	m, ds := newModel(t, head.Softmax{}, 3), threeItems()
	v, err := MatchVotes(m, ds)
	if err != nil {
		t.Fatal(err)
	}
	list := predictions(t, m, ds, v)
	if list[0].Err != nil || !errors.Is(list[1].Err, head.ErrNoDistribution) {
		t.Errorf("%v, %v", list[0].Err, list[1].Err)
	}
}

// TestFields: names are unique among columns, records and outputs, and every field has a value of its kind.
func TestFields(t *testing.T) {
	columns := map[string]bool{}
	outputs := map[int]bool{}
	for i := range fields {
		f := &fields[i]
		values := 0
		for _, has := range []bool{f.number != nil, f.truth != nil, f.text != nil, f.list != nil} {
			if has {
				values++
			}
		}
		if isColumn := f.column != nil || f.means; isColumn != (values == 1) || values > 1 {
			t.Errorf("%s: %d ways to get the value of a column", f.Name, values)
		}
		if f.record != nil && f.numbers == nil && f.number == nil {
			t.Errorf("%s: a record has no value of it", f.Name)
		}
		if f.column != nil {
			if columns[f.Name] && f.Name != "predicted" {
				t.Errorf("%s occurs twice", f.Name)
			}
			columns[f.Name] = true
		}
		if f.output > 0 && outputs[f.output] {
			t.Errorf("%s: place %d among outputs is taken", f.Name, f.output)
		}
		outputs[f.output] = true
	}
	if names := recordFields(func(*Field) bool { return true }); !slices.Contains(names, "interval") || len(names) != 24 {
		t.Errorf("fields of records: %q", names)
	}
}
