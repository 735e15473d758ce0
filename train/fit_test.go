package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/model"
)

// simulated returns n items with two numeric features and a categorical one, on
// which the probability of the second of two classes depends, and m votes each.
func simulated(n, m int, seed uint64) *dataset.Dataset {
	r := rand.New(rng.New(seed, "train.test"))
	ds := &dataset.Dataset{
		Classes: []string{"no", "yes"},
		Counts:  make([]float32, 2*n),
		Features: []dataset.Feature{
			{Name: "x", Kind: dataset.Numeric}, {Name: "y", Kind: dataset.Numeric},
			{Name: "site", Kind: dataset.Categorical, Levels: []string{"a", "b", "c", "d", "e", "f"}},
		},
	}
	rows := &dataset.Memory{N: n, W: 3}
	for j := range n {
		ds.Items = append(ds.Items, fmt.Sprintf("item %d", j))
		x, y, site := r.NormFloat64(), 100+10*r.NormFloat64(), r.IntN(6)
		rows.Values = append(rows.Values, float32(x), float32(y), float32(site))
		p := 1 / (1 + math.Exp(-2*x+float64(site)/2-r.NormFloat64()/2))
		for range m {
			if r.Float64() < p {
				ds.Counts[2*j+1]++
			} else {
				ds.Counts[2*j]++
			}
		}
	}
	ds.Rows = rows
	return ds
}

// quick are options for a fit that takes a few hundredths of a second.
func quick() Options { return Options{Widths: []int{8}, Epochs: 12, Ensemble: 2, Seed: 1} }

// bare are those of a fit without reference models, which take as long again.
func bare() Options {
	o := quick()
	o.NoReferences = true
	return o
}

func fitted(t testing.TB, ds *dataset.Dataset, o Options) *Result {
	t.Helper()
	res, err := Fit(context.Background(), ds, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// encoded returns the bytes of a model file.
func encoded(t testing.TB, m *model.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What Complete chooses is what a fit records.
func TestComplete(t *testing.T) {
	for _, o := range []Options{quick(), {Epochs: 1, Ensemble: 1, Dropout: -1, Optimizer: "sgd"}} {
		ds := simulated(60, 3, 1)
		chosen, err := Complete(ds, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(chosen)
		if err != nil {
			t.Fatal(err)
		}
		if want := fitted(t, ds, o).Model.Provenance.Config; !bytes.Equal(got, want) {
			t.Errorf("chosen\n%s\nthe fit used\n%s", got, want)
		}
	}
	for _, c := range []struct {
		votes int
		o     Options
		want  string
	}{
		{1, Options{}, "second vote"},
		{2, Options{Network: "lenet5"}, "lenet5 expects features with 2 spatial dimensions"},
		{2, Options{Ensemble: -1}, "ensemble -1: expected between 1 and 1000"},
	} {
		if _, err := Complete(simulated(60, c.votes, 1), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// TestFitLearns: the defaults learn from the features of 200 rows. The margin
// against the constant Dirichlet is about 0.1 per vote; seeds are fixed.
func TestFitLearns(t *testing.T) {
	ds := simulated(220, 4, 1)
	copy(ds.CountsOf(3), []float32{0, 0}) // items without votes are left out
	o := Options{Epochs: 60}
	res := fitted(t, ds, o)
	p := res.Model.Provenance
	if s := p.Scores; !(s.NLLPerVote < s.ConstantPerVote-0.05) || s.Items != 219 || s.Votes != 4*219 {
		t.Errorf("scores %+v", s)
	}
	if p.Split != (model.Split{Items: 220, Unvoted: 1, Votes: 4 * 219, Folds: 5}) {
		t.Errorf("split %+v", p.Split)
	}
	if len(res.Model.Members) != 5 || len(p.Runs) != 5 {
		t.Fatalf("%d members, %d runs", len(res.Model.Members), len(p.Runs))
	}
	for j, q := range res.OutOfFold {
		if (q == nil) != (j == 3) {
			t.Errorf("item %d: out-of-fold prediction %v", j, q)
		}
	}
	for _, r := range p.Runs {
		if r.Epoch < 1 || r.Reason == "" || len(r.History) == 0 || r.Items+r.Held != 219 {
			t.Errorf("run %+v", r)
		}
	}
	got, err := res.Model.Predict(context.Background(), ds, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := 15 // five networks of three components, and three scales if the scale is uncertain
	if res.Model.Calibration.ScaleSE > 0 {
		want *= 3
	}
	if k := got[0].Dist.K(); k != want {
		t.Errorf("%d components, want %d", k, want)
	}
}

// TestFitThreads: a fit gives the same bytes on one thread and on several.
func TestFitThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	ds := simulated(150, 3, 2)
	o := quick()
	o.Ensemble = 3
	var want []byte
	for _, threads := range []int{1, 2, 3} {
		runtime.GOMAXPROCS(threads)
		got := encoded(t, fitted(t, ds, o).Model)
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d threads give another model than one", threads)
		}
	}
}

// TestFitUncached: inputs that do not fit into memory, and votes from another
// file, give the same model.
func TestFitUncached(t *testing.T) {
	ds := simulated(100, 2, 3)
	ds.Votes = dataset.Interpretation{File: "one.csv", Form: dataset.Long, LabelColumn: "label"}
	o := quick()
	want := encoded(t, fitted(t, ds, o).Model)
	o.Memory = 100
	ds.Votes.File = "/home/someone/two.csv"
	if got := encoded(t, fitted(t, ds, o).Model); !bytes.Equal(got, want) {
		t.Error("reading inputs anew in each epoch gives another model")
	}
}

// TestFitSingle: one network on few items is trained again on all of them, for
// the median number of epochs; on more items it holds out a share.
func TestFitSingle(t *testing.T) {
	o := quick()
	o.Ensemble = 1
	res := fitted(t, simulated(120, 3, 4), o)
	runs := res.Model.Provenance.Runs
	if len(runs) != 6 || runs[5].Name != "refit" || runs[5].Items != 120 || len(res.Model.Members) != 1 {
		t.Errorf("%d members, runs %+v", len(res.Model.Members), runs)
	}
	if len(runs[5].History) != runs[5].Epoch {
		t.Errorf("refit: epoch %d of %d", runs[5].Epoch, len(runs[5].History))
	}
	for j, p := range res.OutOfFold {
		if p == nil {
			t.Errorf("item %d has no out-of-fold prediction", j)
		}
	}
	o.Epochs = 2
	res = fitted(t, simulated(RefitItems, 2, 5), o)
	if s := res.Model.Provenance.Split; s.HeldOut != RefitItems/5 || s.Folds != 0 {
		t.Errorf("split %+v", s)
	}
	o.Patience = -1
	res = fitted(t, simulated(60, 2, 5), o)
	if r := res.Model.Provenance.Runs[0]; r.Items != 60 || r.Epoch != 2 {
		t.Errorf("without early stopping: %+v", r)
	}
}

// TestFitHeld: given items are held out by every network.
func TestFitHeld(t *testing.T) {
	o := quick()
	o.Held = []int{5, 6, 7, 8, 9, 50}
	res := fitted(t, simulated(60, 3, 6), o)
	want := []int{6} // two networks of three components
	if res.Model.Calibration.ScaleSE > 0 {
		want = []int{12, 18} // and two or three scales, by the votes of other items
	}
	for j, p := range res.OutOfFold {
		held := j >= 5 && j < 10 || j == 50
		if (p != nil) != held {
			t.Errorf("item %d: predicted out of fold %v, want %v", j, p != nil, held)
		}
		if held && !slices.Contains(want, p.Dist.K()) {
			t.Errorf("item %d: %d components, want those of both networks", j, p.Dist.K())
		}
	}
}

// TestFitGroups: items of a group are held out together, and fewer groups than
// folds make fewer folds.
func TestFitGroups(t *testing.T) {
	ds := simulated(90, 3, 7)
	for i := range ds.Items {
		ds.Groups = append(ds.Groups, fmt.Sprint(i%30))
	}
	f, err := newFitting(t.Context(), ds, quick())
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.fold {
		if f.fold[i] != f.fold[i%30] {
			t.Errorf("group %d is parted", i%30)
		}
	}
	for i := range ds.Groups {
		ds.Groups[i] = fmt.Sprint(i % 3)
	}
	if res := fitted(t, ds, quick()); res.Model.Provenance.Split.Folds != 3 {
		t.Errorf("three groups: %+v", res.Model.Provenance.Split)
	}
	for i := range ds.Groups {
		ds.Groups[i] = "all"
	}
	if _, err := Fit(context.Background(), ds, quick()); err == nil || !strings.Contains(err.Error(), "too few for 2 folds") {
		t.Errorf("one group: %v", err)
	}
}

// TestFitRefuses: errors for bad data and options suggest what to do.
func TestFitRefuses(t *testing.T) {
	one := simulated(50, 1, 8)
	good := simulated(50, 2, 8)
	few := good.Select([]int{1, 2, 3})
	for _, c := range []struct {
		ds   *dataset.Dataset
		edit func(o *Options)
		want string
	}{
		{one, func(*Options) {}, "collect a second vote"},
		{few, func(*Options) {}, "expected at least 4 items with votes to train on, found 3"},
		{good, func(o *Options) { o.Network = "alexnet" }, `"alexnet"`},
		{good, func(o *Options) { o.Network = "lenet5" }, "lenet5 expects features with 2 spatial dimensions"},
		{good, func(o *Options) { o.Network = "[{type: dense, outt: 3}]" }, `has no key "outt"`},
		{good, func(o *Options) { o.Network = "[{type: dense, out: 3}]" }, "found 3"},
		{good, func(o *Options) { o.Optimizer = "lion" }, `optimizer "lion"`},
		{good, func(o *Options) { o.Schedule = "linear" }, `schedule "linear"`},
		{good, func(o *Options) { o.Dropout = 1 }, "dropout 1"},
		{good, func(o *Options) { o.Head = head.Mixture{Components: -1} }, "components: expected at least 1, found -1"},
		{good, func(o *Options) { o.Head = head.Mixture{Limit: 30} }, "limit: expected at most 20, found 30"},
		{good, func(o *Options) { o.HeldOut = 0.7 }, "held-out share 0.7"},
		{good, func(o *Options) { o.Held = []int{50} }, "held-out item 50: expected 0 to 49"},
		{good, func(o *Options) { o.ClassWeights = []float64{1} }, `expected a weight for each of the classes ["no" "yes"], found 1`},
		{good, func(o *Options) { o.ItemWeights = make([]float64, 50) }, "all items have weight 0"},
		{good, func(o *Options) { o.Ensemble = -2 }, "ensemble -2"},
	} {
		o := quick()
		c.edit(&o)
		if _, err := Fit(context.Background(), c.ds, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	o := quick()
	o.Force = true
	if res := fitted(t, one, o); !strings.Contains(fmt.Sprint(res.Model.Provenance.Warnings), "intervals mean nothing") {
		t.Errorf("one vote an item: warnings %q", res.Model.Provenance.Warnings)
	}
	if _, err := Fit(context.Background(), one, quick()); !errors.Is(err, dataset.ErrOneVote) {
		t.Errorf("one vote an item: %v", err)
	}
}

// TestFitWeights: class weights shift the means, and void the intervals with a
// warning; equal weights change nothing.
func TestFitWeights(t *testing.T) {
	ds := simulated(150, 3, 9)
	mean := func(res *Result) float64 {
		got, err := res.Model.Predict(context.Background(), ds, model.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, p := range got {
			sum += p.Mean[1] / 150
		}
		return sum
	}
	plain := mean(fitted(t, ds, quick()))
	o := quick()
	o.ItemWeights = make([]float64, 150)
	for i := range o.ItemWeights {
		o.ItemWeights[i] = 2
	}
	if got := mean(fitted(t, ds, o)); math.Abs(got-plain) > 1e-3 {
		t.Errorf("equal weights: mean %v, want %v", got, plain)
	}
	o = quick()
	o.ClassWeights = []float64{1, 6}
	res := fitted(t, ds, o)
	if got := mean(res); got < plain+0.03 {
		t.Errorf("class weights: mean %v, want well above %v", got, plain)
	}
	if !strings.Contains(fmt.Sprint(res.Model.Provenance.Warnings), "class weights void") {
		t.Errorf("warnings %q", res.Model.Provenance.Warnings)
	}
}

// TestFitAfterEpoch: the last snapshot that is kept holds the weights of the
// model, and every item is held out by one network.
func TestFitAfterEpoch(t *testing.T) {
	o := quick()
	var mu sync.Mutex
	seen := map[[2]int][]float32{}
	held := map[int]int{}
	o.AfterEpoch = func(s Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		if s.Epoch == 1 {
			for _, j := range s.Held {
				held[j]++
			}
		}
		seen[[2]int{s.Index, s.Epoch}] = slices.Clone(s.Values)
	}
	o.Ensemble = 5
	res := fitted(t, simulated(60, 2, 5), o)
	for i, r := range res.Model.Provenance.Runs {
		if got := seen[[2]int{i, r.Epoch}]; r.Epoch > 0 && !slices.Equal(got, res.Model.Members[i].Values) {
			t.Errorf("%s: the weights after epoch %d are not those of the model", r.Name, r.Epoch)
		}
		if seen[[2]int{i, len(r.History)}] == nil {
			t.Errorf("%s: epoch %d was not shown", r.Name, len(r.History))
		}
	}
	for j := range 60 {
		if held[j] != 1 {
			t.Errorf("item %d was held out %d times", j, held[j])
		}
	}
}

// Of a million items 100,000 are held out, by all networks, and inputs are not stored
// twice.
func TestManyItems(t *testing.T) {
	if testing.Short() {
		t.Skip("a million items")
	}
	n := manyItems
	ds := &dataset.Dataset{Classes: []string{"a", "b"}, Items: make([]string, n), Counts: make([]float32, 2*n),
		Features: []dataset.Feature{{Name: "x"}}}
	rows := &dataset.Memory{N: n, W: 1, Values: make([]float32, n)}
	ds.Rows = rows
	for i := range n {
		ds.Counts[2*i+i%2], rows.Values[i] = 2, float32(i%7)
	}
	for _, ensemble := range []int{1, 3} {
		f, err := newFitting(t.Context(), ds, Options{Ensemble: ensemble})
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		for _, part := range f.fold {
			if part == 0 {
				held++
			}
		}
		if held != heldItems || f.folds != 0 || f.o.Batch != largeBatch {
			t.Errorf("%d networks: %d items are held out in %d folds, batches of %d", ensemble, held, f.folds, f.o.Batch)
		}
		if f.in.cached != nil {
			t.Error("inputs are kept beside features in memory")
		}
	}
}
