package dataset

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// embedded returns a feature of texts as vectors of two numbers.
func embedded() Feature {
	e := Embedding{Name: "minilm", SHA256: strings.Repeat("ab", 32), Items: "texts", Output: "y", Pool: "mean", Tokenizer: "t", Tokens: 8}
	return Feature{Name: "comment", Kind: Text, Shape: []int{2}, Embedding: &e, Texts: []string{"fine", "poor"}}
}

// The inputs of a text with a vector are the standardized vector, after a model is stored, and from vectors alone.
func TestEmbeddedText(t *testing.T) {
	nan := float32(math.NaN())
	ds := &Dataset{Items: []string{"a", "b", "c"}, Classes: []string{"n", "y"}, Counts: []float32{1, 1, 2, 0, 0, 2},
		Features: []Feature{{Name: "age", Kind: Numeric}, embedded()},
		Rows:     &Memory{N: 3, W: 4, Values: []float32{30, 0, 1, 10, 40, 1, 3, 30, 50, nan, nan, nan}}}
	if err := ds.Check(); err != nil {
		t.Fatal(err)
	}
	fit, err := Fit(ds, []int{0, 1, 2}, TransformOptions{Scores: "off"})
	if err != nil {
		t.Fatal(err)
	}
	if list := fit.TextColumns(); len(list) != 0 {
		t.Errorf("%d columns are learned word by word", len(list))
	}
	text, err := json.Marshal(fit)
	if err != nil {
		t.Fatal(err)
	}
	var again Transform
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if b := again.Blocks(); len(b) != 2 || b[1].Name != "comment" || !slices.Equal(b[1].Shape, []int{2}) {
		t.Errorf("%+v", b)
	}
	vectors := &Dataset{Features: []Feature{{Name: "comment", Kind: Tensor, Shape: []int{2}}, {Name: "age", Kind: Numeric}},
		Rows: &Memory{N: 3, W: 3, Values: []float32{1, 10, 30, 3, 30, 40, nan, nan, 50}}}
	for _, from := range []*Dataset{ds, vectors} {
		in, err := again.Over(from)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, in.Width())
		for i, want := range [][]float32{{-1, -1}, {1, 1}, {0, 0}} {
			if err := in.ReadRow(i, x); err != nil || !slices.Equal(x[1:], want) {
				t.Errorf("item %d: %v, want %v, %v", i, x, want, err)
			}
		}
	}
	vectors.Features[0].Shape = []int{3}
	if _, err := again.Over(vectors); err == nil || !strings.Contains(err.Error(), "expected shape 2 as in training, found 3") {
		t.Error(err)
	}
	w := again.NewWatch()
	if err := w.Add(ds, nil); err != nil || w.Unlike() != (Unlike{}) {
		t.Error(w.Unlike(), err)
	}
}

func TestCheckEmbedding(t *testing.T) {
	for name, change := range map[string]func(p *Feature){
		"a vector of images":  func(p *Feature) { p.Kind = Tensor },
		"found text of shape": func(p *Feature) { p.Shape = nil },
		"of shape [0]":        func(p *Feature) { p.Shape = []int{0} },
		"SHA-256":             func(p *Feature) { e := *p.Embedding; e.SHA256 = "1"; p.Embedding = &e },
	} {
		p := embedded()
		change(&p)
		if err := checkFeatures([]Feature{p}); err == nil || !strings.Contains(err.Error(), name) && name != "a vector of images" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string][]int{"": nil, "256": {256}, "224x192": {224, 192}, "0": nil, "1x2x3": nil, "x": nil} {
		if got, err := lengths(text); !slices.Equal(got, want) || (err == nil) != (want != nil || text == "") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// A model that needs a backbone says which, if it is not given.
func TestNoBackbone(t *testing.T) {
	p := embedded()
	_, err := NewBackbone(BackboneOptions{}, 0).open(t.Context(), &p)
	if err == nil || !strings.Contains(err.Error(), `feature "comment" is a vector from the backbone minilm with SHA-256 abab`) {
		t.Error(err)
	}
}
