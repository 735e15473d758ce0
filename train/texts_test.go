package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"credence/dataset"
)

// remarks returns n items of simulated, with a remark that depends on the votes next to
// the features.
func remarks(n int) *dataset.Dataset {
	ds := simulated(n, 3, 1)
	r := rand.New(rand.NewPCG(4, 2))
	var texts []string
	values := make([]float32, n)
	for i := range n {
		var words []string
		for range 8 {
			w := fmt.Sprintf("word%d", r.IntN(20))
			if k := r.IntN(3); float32(k) < ds.CountsOf(i)[0] {
				w = "praise"
			}
			words = append(words, w)
		}
		texts, values[i] = append(texts, strings.Join(words, " ")), float32(i)
	}
	// The remark becomes the last column.
	old, w := ds.Rows, ds.Rows.Width()
	m := &dataset.Memory{N: n, W: w + 1}
	row := make([]float32, w)
	for i := range n {
		if err := old.ReadRow(i, row); err != nil {
			panic(err)
		}
		m.Values = append(append(m.Values, row...), values[i])
	}
	ds.Rows = m
	ds.Features = append(append([]dataset.Feature(nil), ds.Features...), dataset.Feature{Name: "remark", Kind: dataset.Text, Texts: texts})
	return ds
}

// TestTexts: words help where votes depend on them, and a loaded model predicts the same,
// with folds and with items held out throughout.
func TestTexts(t *testing.T) {
	ds := remarks(200)
	for name, edit := range map[string]func(o *Options){
		"folds": func(o *Options) {},
		"held":  func(o *Options) { o.Held = []int{3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46, 26, 43} },
		"fixed": func(o *Options) { o.Ensemble, o.Patience = 1, -1 },
	} {
		o := quick()
		o.Epochs = 8
		edit(&o)
		res := fitted(t, ds, o)
		info := res.Model.Transform.TextColumns()
		if len(info) != 1 || !(info[0].Loss < info[0].Base-0.05) {
			t.Errorf("%s: %+v", name, info)
		}
		if want := 200 - len(o.Held); info[0].Documents != want {
			t.Errorf("%s: learned from %d documents, want %d", name, info[0].Documents, want)
		}
	}
}

// TestTextsStopped: a fit that is stopped while it learns from words returns ErrStopped.
func TestTextsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := quick()
	o.Progress = func(e Event) {
		if e.Note == learningFromWords {
			cancel()
		}
	}
	if _, err := Fit(ctx, remarks(60), o); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}

// TestTextsResume: a run on words that is stopped and resumed ends with the same
// bytes.
func TestTextsResume(t *testing.T) {
	ds, o := remarks(90), quick()
	o.Epochs = 5
	want := encoded(t, fitted(t, ds, o).Model)
	o.Checkpoint, o.Resume, o.Memory = filepath.Join(t.TempDir(), "checkpoint"), true, 1
	got, stops := interrupted(t, ds, o, 400)
	if stops == 0 || !bytes.Equal(encoded(t, got), want) {
		t.Errorf("another model after %d stops", stops)
	}
}

// TestTextsLeak: votes that do not depend on words must not appear to. With inputs
// from a fit to all items, networks would learn the votes of training items from
// their words, and no others.
func TestTextsLeak(t *testing.T) {
	ds := remarks(200)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range ds.Len() {
		k := float32(r.IntN(4))
		copy(ds.CountsOf(i), []float32{k, 3 - k})
	}
	o := quick()
	o.Epochs = 8
	res := fitted(t, ds, o)
	s := res.Model.Provenance.Scores
	if s.NLLPerVote < s.ConstantPerVote-0.01 {
		t.Errorf("noise is predicted with %.4f nats per vote, %.4f without words", s.NLLPerVote, s.ConstantPerVote)
	}
}
