package train

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/model"
	"credence/nn"
)

// TestMethodsLearn: every method learns from the features of 300 items with one
// vote each, which the mixture does not accept. One probability for all has an
// accuracy of about .55; seeds are fixed.
func TestMethodsLearn(t *testing.T) {
	ds := simulated(300, 1, 1)
	copy(ds.CountsOf(3), []float32{0, 0}) // items without votes are left out
	for _, m := range head.Methods[1:] {
		res := fitted(t, ds, Options{Head: m, Epochs: 60, Ensemble: 2, Seed: 1})
		p := res.Model.Provenance
		if res.Model.Method.Name() != m.Name() || res.Model.Calibration != nil {
			t.Errorf("%v: method %+v, calibration %v", m, res.Model.Method, res.Model.Calibration)
		}
		if p.Scores.Accuracy < 0.65 || p.Scores.NLLPerVote != 0 {
			t.Errorf("%v: scores %+v", m, p.Scores)
		}
		if m.Name() != "qd" && !(p.Scores.MarginalPerVote < p.Scores.ConstantPerVote-0.03) {
			t.Errorf("%v: scores %+v", m, p.Scores)
		}
		known := 0
		for j, e := range res.OutOfFold {
			if e != nil && e.Dist != nil {
				t.Fatalf("%v: item %d has a distribution", m, j)
			}
			if e != nil {
				known++
			}
		}
		if known != p.Scores.Items || known < 100 || res.OutOfFold[3] != nil {
			t.Errorf("%v: %d estimates, scores %+v", m, known, p.Scores)
		}
		for _, r := range p.Runs {
			if r.Epoch < 1 {
				t.Errorf("%v: %s kept the weights of epoch %d", m, r.Name, r.Epoch)
			}
		}
		got, err := res.Model.Predict(context.Background(), ds, model.PredictOptions{})
		if err != nil || len(got) != 300 {
			t.Errorf("%v: %d estimates, %v", m, len(got), err)
		}
	}
}

// TestMethodsThreeClasses: the label is known from x alone, up to one in ten.
func TestMethodsThreeClasses(t *testing.T) {
	ds := simulated(300, 1, 2)
	ds.Classes, ds.Counts = []string{"low", "middle", "high"}, make([]float32, 3*300)
	rows := ds.Rows.(*dataset.Memory)
	for j := range ds.Len() {
		class := 1
		if x := rows.Values[3*j]; x < -0.5 {
			class = 0
		} else if x > 0.5 {
			class = 2
		}
		if j%10 == 0 {
			class = (class + 1) % 3
		}
		ds.Counts[3*j+class] = 1
	}
	for _, m := range head.Methods[1:] {
		res := fitted(t, ds, Options{Head: m, Epochs: 120, Ensemble: 2, Seed: 1, NoReferences: true})
		least := 0.7
		if m.Name() == "qd" {
			// Where one label in ten differs, an interval that contains 95% of them
			// is [0, 1], and its midpoint carries little information.
			least = 0.45
		}
		if s := res.Model.Provenance.Scores; s.Accuracy < least {
			t.Errorf("%v: scores %+v", m, s)
		}
	}
}

// TestMethodsResume: runs of all methods that are stopped again and again, on
// several threads, end with the bytes of one that was not.
func TestMethodsResume(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	ds := simulated(230, 2, 1)
	for _, m := range head.Methods[1:] {
		o := bare()
		o.Head, o.Epochs, o.Patience, o.ClassWeights = m, 8, 5, []float64{1, 2}
		runtime.GOMAXPROCS(1)
		want := encoded(t, fitted(t, ds, o).Model)
		runtime.GOMAXPROCS(3)
		o.Checkpoint, o.Resume, o.Memory = filepath.Join(t.TempDir(), "checkpoint"), true, 1
		got, stops := interrupted(t, ds, o, 900)
		if stops == 0 {
			t.Errorf("%v: never stopped", m)
		}
		if !bytes.Equal(encoded(t, got), want) {
			t.Errorf("%v: stopped %d times: another model", m, stops)
		}
	}
}

// TestMethodWeights: an item of weight 2 counts as two. With all items in one
// batch and no early stopping, a fit with weights is one to other votes.
func TestMethodWeights(t *testing.T) {
	ds := simulated(120, 1, 1)
	weights := make([]float64, ds.Len())
	twice := *ds
	twice.Counts = append([]float32(nil), ds.Counts...)
	for j := range weights {
		weights[j] = float64(1 + j%2)
		for i := range twice.CountsOf(j) {
			twice.CountsOf(j)[i] *= float32(1 + j%2)
		}
	}
	for _, m := range []head.Method{head.Softmax{}, head.MVE{}, head.QD{}, head.Evidential{}} {
		o := Options{Head: m, Epochs: 20, Ensemble: 1, Patience: -1, Batch: 200, Seed: 1}
		plain := fitted(t, &twice, o)
		o.ItemWeights = weights
		weighted := fitted(t, ds, o)
		a, err := plain.Model.Predict(context.Background(), ds, model.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := weighted.Model.Predict(context.Background(), ds, model.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for j := range a {
			// Weights are scaled to mean 1, which only the penalty of qd sees.
			tolerance := 1e-3
			if m.Name() == "qd" {
				tolerance = 0.1
			}
			if !(math.Abs(a[j].Mean[0]-b[j].Mean[0]) <= tolerance) {
				t.Errorf("%v: item %d has mean %v, with weights %v", m, j, a[j].Mean[0], b[j].Mean[0])
				break
			}
		}
	}
}

// TestQDBatches: batches of qd hold at least 100 items, fewer only if there are
// fewer.
func TestQDBatches(t *testing.T) {
	for _, n := range []int{50, 130, 260, 430} {
		f, err := newFitting(t.Context(), simulated(n, 1, 1), Options{Head: head.QD{}, Ensemble: 1, Patience: -1})
		if err != nil {
			t.Fatal(err)
		}
		r := &run{job: f.job, train: f.voted}
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		if least := n / r.batches; least < min(n, f.traits.LeastBatch) || r.size < (n+r.batches-1)/r.batches {
			t.Errorf("%d items: %d batches of at most %d", n, r.batches, r.size)
		}
	}
}

func TestMethodRefuses(t *testing.T) {
	ds := simulated(60, 1, 1)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, dataset.ErrOneVote.Error()},
		{Options{Head: head.Mixture{}}, dataset.ErrOneVote.Error()},
		{Options{Head: head.QD{}, Batch: 64}, "batch 64: expected at least 100"},
		{Options{Head: head.QD{Level: 2}}, "level: expected a number between 0 and 1, found 2"},
		{Options{Head: head.Dropout{}, Dropout: -1}, "method dropout expects dropout, found none"},
		{Options{Head: head.Dropout{}, Network: "[{type: dense}]"}, "expects layers of type dropout"},
	} {
		if _, err := Fit(context.Background(), ds, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.want)
		}
	}
}

// TestDropoutNetworks: every named network has dropout where the method samples
// it.
func TestDropoutNetworks(t *testing.T) {
	for _, shape := range [][]int{{1, 28, 28}, {3, 16, 16}, {3, 80, 80}, {1, 24, 24, 24}, {3, 5, 5}} {
		ds := tensors(40, dataset.Feature{Name: "scan", Kind: dataset.Tensor, Shape: shape})
		f, err := newFitting(t.Context(), ds, Options{Head: head.Dropout{}, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		text, err := nn.Describe(f.layers)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"type":"dropout","rate":%v},{"type":"dense"`, f.o.Dropout); !strings.Contains(string(text), want) {
			t.Errorf("%v: layers %s, want %s", shape, text, want)
		}
		if _, err := nn.New(f.layers, f.shape, nn.Options{}); err != nil {
			t.Error(err)
		}
	}
}

// TestMixtureByName: the mixture's name has the same effect as no name.
func TestMixtureByName(t *testing.T) {
	ds := simulated(90, 3, 1)
	o := quick()
	want := encoded(t, fitted(t, ds, o).Model)
	o.Head = head.Mixture{}
	if !bytes.Equal(encoded(t, fitted(t, ds, o).Model), want) {
		t.Error("another model")
	}
}

// TestWarmup: epochs that fit a part of the outputs are neither kept nor the end
// of a run, unless there are no others.
func TestWarmup(t *testing.T) {
	ds := simulated(200, 1, 1)
	o := quick()
	o.Head, o.Patience = head.MVE{Warmup: 6}, 2
	for _, r := range fitted(t, ds, o).Model.Provenance.Runs {
		if r.Epoch <= 6 {
			t.Errorf("%s kept the weights of epoch %d", r.Name, r.Epoch)
		}
	}
	o.Epochs = 4
	for _, r := range fitted(t, ds, o).Model.Provenance.Runs {
		if r.Epoch < 1 || len(r.History) != 4 {
			t.Errorf("%s kept the weights of epoch %d of %d", r.Name, r.Epoch, len(r.History))
		}
	}
}
