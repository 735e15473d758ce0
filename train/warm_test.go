package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"credence/dataset"
	"credence/head"
)

// first returns the first n items of ds.
func first(ds *dataset.Dataset, n int) *dataset.Dataset {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return ds.Select(at)
}

// heldBy trains and returns the items that each network held out.
func heldBy(t *testing.T, ds *dataset.Dataset, o Options) (*Result, map[int][]string) {
	t.Helper()
	held := map[int][]string{}
	var mu sync.Mutex
	o.AfterEpoch = func(s Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		held[s.Index] = nil
		for _, j := range s.Held {
			held[s.Index] = append(held[s.Index], ds.Items[j])
		}
	}
	return fitted(t, ds, o), held
}

// Training continues from a model: its networks hold out the items they held out before, so that
// scores on held-out votes are valid, and the changes are recorded.
func TestFrom(t *testing.T) {
	all := simulated(300, 4, 1)
	old := first(all, 150)
	base, before := heldBy(t, old, Options{Epochs: 30, Ensemble: 5, Seed: 3, NoReferences: true})
	o := Options{From: &WarmStart{Model: base.Model, Data: old}, Seed: 3, NoReferences: true}
	res, after := heldBy(t, all, o)
	for i := range 5 {
		for _, id := range before[i] {
			if !slices.Contains(after[i], id) {
				t.Fatalf("network %d held out %s, and does so no more", i, id)
			}
		}
		if n := len(after[i]) - len(before[i]); n < 25 || n > 35 {
			t.Errorf("network %d holds out %d of 150 new items", i, n)
		}
	}
	c := res.Model.Provenance.From
	if c == nil || !c.Known || c.NewItems != 150 || c.GoneItems != 0 || c.AddedVotes != 600 || c.RemovedVotes != 0 || c.Items != 300 || c.Votes != 1200 {
		t.Fatalf("%+v", c)
	}
	// 600 further votes help: both numbers are means over the same items.
	if !(c.After < c.Before) {
		t.Errorf("%.4f nats per vote before, %.4f after", c.Before, c.After)
	}
	if hash, err := base.Model.Hash(); err != nil || c.Model != hash || res.Options.FromModel != hash || c.Data != base.Model.Provenance.Data {
		t.Errorf("%+v, model %s %v", c, hash, err)
	}
	if res.Options.Epochs != 10 || res.Options.Rate >= base.Options.Rate {
		t.Errorf("%d epochs at %g", res.Options.Epochs, res.Options.Rate)
	}
	cores := runtime.GOMAXPROCS(1)
	again := fitted(t, all, Options{From: o.From, Seed: 3, NoReferences: true})
	runtime.GOMAXPROCS(cores)
	if !bytes.Equal(encoded(t, again.Model), encoded(t, res.Model)) {
		t.Error("the same start does not give the same model")
	}
	// A chain: what the second holds out follows from the first.
	third, held := heldBy(t, all, Options{From: &WarmStart{Model: res.Model, Data: all, Before: o.From}, Seed: 9, NoReferences: true})
	for i := range 5 {
		if !slices.Equal(held[i], after[i]) {
			t.Errorf("network %d holds out other items in the third fit", i)
		}
	}
	if c := third.Model.Provenance.From; c.NewItems != 0 || c.AddedVotes != 0 {
		t.Errorf("%+v", c)
	}
}

// A single network is chosen by folds that start from random weights, and only new items can
// show how good it was before.
func TestFromSingle(t *testing.T) {
	all := simulated(200, 3, 2)
	old := first(all, 150)
	base := fitted(t, old, Options{Epochs: 6, Ensemble: 1, NoReferences: true})
	res := fitted(t, all, Options{From: &WarmStart{Model: base.Model, Data: old}, NoReferences: true})
	if c := res.Model.Provenance.From; c.NewItems != 50 || c.Items != 50 || c.Before == 0 {
		t.Errorf("%+v", c)
	}
	blind := fitted(t, all, Options{From: &WarmStart{Model: base.Model}, NoReferences: true})
	if c := blind.Model.Provenance.From; c.Known || !strings.Contains(fmt.Sprint(blind.Model.Provenance.Warnings), "are not at hand") {
		t.Errorf("%+v, %q", c, blind.Model.Provenance.Warnings)
	}
}

func TestFromResumed(t *testing.T) {
	all := simulated(200, 3, 2)
	old := first(all, 150)
	base := fitted(t, old, Options{Epochs: 6, Ensemble: 2, NoReferences: true})
	o := Options{From: &WarmStart{Model: base.Model, Data: old}, Epochs: 8, NoReferences: true}
	want := encoded(t, fitted(t, all, o).Model)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	o.Checkpoint = t.TempDir()
	o.Progress = func(e Event) {
		if e.Epoch == 3 {
			stop()
		}
	}
	if _, err := Fit(ctx, all, o); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	o.Progress, o.Resume = nil, true
	if got := encoded(t, fitted(t, all, o).Model); !bytes.Equal(got, want) {
		t.Error("a resumed fit gives another model")
	}
}

func TestFromRefused(t *testing.T) {
	old := simulated(100, 3, 2)
	base := fitted(t, old, Options{Epochs: 2, Ensemble: 2, NoReferences: true})
	from := &WarmStart{Model: base.Model, Data: old}
	other := func(change func(ds *dataset.Dataset)) *dataset.Dataset {
		ds := *old
		ds.Features = slices.Clone(old.Features)
		change(&ds)
		return &ds
	}
	for _, c := range []struct {
		ds   *dataset.Dataset
		o    Options
		want string
	}{
		{other(func(ds *dataset.Dataset) { ds.Classes = []string{"no", "maybe"} }), Options{},
			`the model to start from has no classes "maybe", only no, yes: other classes need a new model`},
		{other(func(ds *dataset.Dataset) { ds.Classes = []string{"yes", "no"} }), Options{}, `expected the classes of the model to start from, ["no" "yes"] in this order, found ["yes" "no"]`},
		{other(func(ds *dataset.Dataset) { ds.Features[1].Name = "z" }), Options{}, `the features differ from those of the model to start from: feature "y" is missing: the model was trained with it`},
		{other(func(ds *dataset.Dataset) {
			ds.Features[1].Kind = dataset.Categorical
			ds.Features[1].Levels = []string{"u"}
		}), Options{}, `feature "y": expected numeric as in training, found categorical`},
		{other(func(ds *dataset.Dataset) {
			ds.Features = append(ds.Features, dataset.Feature{Name: "new", Kind: dataset.Numeric})
			ds.Rows = &dataset.Memory{N: 100, W: 4, Values: make([]float32, 400)}
		}), Options{}, `the features differ from those of the model to start from, which has no "new"`},
		{old, Options{Network: "lenet5"}, `training options: network "lenet5", but the model to start from has "mlp"`},
		{old, Options{Widths: []int{8}}, `training options: widths [8], but the model to start from has [64 64]`},
		{old, Options{Ensemble: 3}, `training options: ensemble 3, but the model to start from has 2`},
		{old, Options{Head: head.Softmax{}}, `training options: method {"kind":"softmax"`},
	} {
		c.o.From, c.o.NoReferences = from, true
		if _, err := Fit(context.Background(), c.ds, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
