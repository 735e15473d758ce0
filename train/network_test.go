package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/rng"
	"credence/internal/words"
	"credence/model"
	"credence/nn"
)

// tensors returns n items with random features in the given blocks and two votes.
func tensors(n int, parts ...dataset.Feature) *dataset.Dataset {
	r := rand.New(rng.New(1, "network.test"))
	ds := &dataset.Dataset{Classes: []string{"a", "b", "c"}, Counts: make([]float32, 3*n), Features: parts}
	rows := &dataset.Memory{N: n}
	for j := range n {
		ds.Items = append(ds.Items, fmt.Sprint(j))
		ds.Counts[3*j+r.IntN(3)]++
		ds.Counts[3*j+r.IntN(3)]++
		for _, p := range parts {
			for range p.Width() {
				x := float32(r.NormFloat64())
				if p.Kind == dataset.Categorical {
					x = float32(r.IntN(len(p.Levels)))
				}
				rows.Values = append(rows.Values, x)
			}
		}
	}
	rows.W = len(rows.Values) / n
	ds.Rows = rows
	return ds
}

// TestDefaultNetwork: each kind of features gets a suitable network.
func TestDefaultNetwork(t *testing.T) {
	number := dataset.Feature{Name: "x", Kind: dataset.Numeric}
	codes := dataset.Feature{Name: "site", Kind: dataset.Categorical, Levels: strings.Split("abcdefgh", "")}
	shape := func(s ...int) dataset.Feature {
		return dataset.Feature{Name: fmt.Sprint(s), Kind: dataset.Tensor, Shape: s}
	}
	for _, c := range []struct {
		parts []dataset.Feature
		want  string
		has   string // in the description of the layers
	}{
		{[]dataset.Feature{number}, "mlp", `[{"type":"dense","out":64}`},
		{[]dataset.Feature{codes}, "mlp", `"embedding","sizes":[9],"width":3`},
		{[]dataset.Feature{number, codes}, "mlp", `"inputs":[[1],[1]],"branches":[[],[{"type":"embedding"`},
		{[]dataset.Feature{shape(40)}, "mlp", `[{"type":"dense"`},
		{[]dataset.Feature{shape(1, 28, 28)}, "lenet5", `[{"type":"conv","out":6`},
		{[]dataset.Feature{shape(3, 32, 32)}, "cnn2d", `{"type":"maxpool","size":[2,2]},{"type":"batchnorm"}`},
		{[]dataset.Feature{shape(1, 48, 48)}, "cnn2d", `{"type":"globalpool"}`},
		{[]dataset.Feature{shape(3, 96, 96)}, "cnn2d", `[{"type":"conv","out":16,"kernel":[5],"stride":[2]`},
		{[]dataset.Feature{shape(3, 8, 200)}, "cnn2d", `{"type":"maxpool","size":[1,2]}`},
		{[]dataset.Feature{shape(3, 5, 5)}, "mlp", `[{"type":"flatten"}`},
		{[]dataset.Feature{shape(1, 28, 24, 24)}, "cnn3d", `[{"type":"conv","out":16`},
		{[]dataset.Feature{number, shape(1, 28, 28)}, "lenet5", `"inputs":[[1],[1,28,28]]`},
		{[]dataset.Feature{number, shape(3)}, "mlp", `[{"type":"dense","out":64}`},
		{[]dataset.Feature{number, shape(40), codes}, "mlp", `[{"type":"concat","inputs":[[1],[40],[1]],"branches":[[],` +
			`[{"type":"dense","out":64},{"type":"layernorm"},{"type":"relu"}],[{"type":"embedding","sizes":[8],"width":3}]]},` +
			`{"type":"dense","out":64},{"type":"relu"},{"type":"dense","out":12}]`},
		{[]dataset.Feature{shape(20), shape(40)}, "mlp", `"inputs":[[20],[40]]`},
		{[]dataset.Feature{shape(40), number, shape(3, 32, 32)}, "cnn2d", `"inputs":[[40],[1],[3,32,32]],"branches":[[{"type":"dense","out":64},{"type":"layernorm"},{"type":"relu"}],[],[{"type":"sequential"`},
		{[]dataset.Feature{shape(3, 32, 32), shape(1, 28, 24, 24)}, "cnn3d", `"inputs":[[3,32,32],[1,28,24,24]],"branches":[[{"type":"sequential","layers":[{"type":"conv","out":16,"kernel":[3],"pad":[1]}`},
		{[]dataset.Feature{shape(1, 28, 28), shape(1, 28, 24, 24), number}, "cnn3d", `"branches":[[],[{"type":"sequential","layers":[{"type":"conv","out":6`},
	} {
		ds := tensors(40, c.parts...)
		tr, err := dataset.Fit(ds, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
			20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39}, dataset.TransformOptions{Scores: "off"})
		if err != nil {
			t.Fatal(err)
		}
		o, err := Options{Dropout: -1, InputDropout: -1}.complete(40, head.Traits{}, tr)
		if err != nil {
			t.Fatal(err)
		}
		root, err := layers(&o, head.Traits{}, tr, 12)
		if err != nil {
			t.Errorf("%v: %v", c.parts, err)
			continue
		}
		text, err := nn.Describe(root)
		if err != nil {
			t.Fatal(err)
		}
		if o.Network != c.want || !strings.Contains(string(text), c.has) {
			t.Errorf("%v: network %s %s, want %s with %s", c.parts, o.Network, text, c.want, c.has)
		}
		net, err := nn.New(root, model.InputShape(tr), nn.Options{})
		if err != nil {
			t.Errorf("%v: %v", c.parts, err)
		} else if net.Out.Size() != 12 {
			t.Errorf("%v: %v outputs, want 12", c.parts, net.Out)
		}
	}
}

// TestSmallVolumes: cnn3d needs volumes of leastVolume voxels per side, neither more nor less; smaller ones are refused with
// that size where it is requested, and otherwise get an mlp, with a warning that names its size.
func TestSmallVolumes(t *testing.T) {
	for side := leastVolume - 1; side <= leastVolume; side++ {
		volume := dataset.Feature{Name: "scan", Kind: dataset.Tensor, Shape: []int{1, side, 30, 30}}
		tr := fittedTransform(t, volume)
		root, err := nn.ByName("cnn3d", nn.Shape(volume.Shape), 12)
		if err == nil {
			_, err = nn.New(root, model.InputShape(tr), nn.Options{})
		}
		if fits := err == nil; fits != (side == leastVolume) {
			t.Errorf("cnn3d on volumes of %d×30×30: %v", side, err)
		}
	}
	ds := tensors(12, dataset.Feature{Name: "scan", Kind: dataset.Tensor, Shape: []int{1, 8, 10, 9}})
	_, err := Fit(t.Context(), ds, Options{Network: "cnn3d", Epochs: 1, Ensemble: 1})
	if want := "network: cnn3d expects volumes of at least 24 voxels per side, found 8×10×9: resample them to a larger size, or use mlp"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	res := fitted(t, ds, Options{Epochs: 1, Ensemble: 1})
	want := fmt.Sprintf("volumes of 8×10×9 voxels are too small for cnn3d, which needs 24 per side: every voxel is an input of an mlp with %s weights; "+
		"resample volumes to a larger size if they have more voxels", words.Thousands(res.Model.Size()))
	warns := func(res *Result) bool {
		return slices.ContainsFunc(res.Model.Provenance.Warnings, func(w evaluate.Message) bool { return w.String() == want })
	}
	if !warns(res) {
		t.Errorf("warnings %v, want %q", res.Model.Provenance.Warnings, want)
	}
	if large := fitted(t, tensors(12, dataset.Feature{Name: "x", Kind: dataset.Numeric}), Options{Epochs: 1, Ensemble: 1}); warns(large) {
		t.Error("a table is warned about as a volume")
	}
}

// TestFitImages: a fit on images together with a table.
func TestFitImages(t *testing.T) {
	ds := tensors(40, dataset.Feature{Name: "scan", Kind: dataset.Tensor, Shape: []int{1, 16, 16}}, dataset.Feature{Name: "age", Kind: dataset.Numeric})
	res := fitted(t, ds, Options{Epochs: 2, Ensemble: 1, Patience: -1})
	if _, err := res.Model.Predict(context.Background(), ds, model.PredictOptions{}); err != nil {
		t.Error(err)
	}
}

// TestStart: a network starts at the constant Dirichlet.
func TestStart(t *testing.T) {
	ds := simulated(300, 4, 1)
	votes := head.Counts{Classes: 2, Values: ds.Counts}
	alpha, _ := head.ConstantDirichlet(votes)
	net, err := nn.New(nn.Seq(&nn.Dense{Out: 4}, &nn.Dense{Out: 9}), nn.Shape{2}, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := head.Mixture{}.New(head.Task{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	startOutputs(net, h.Start(head.Batch{Counts: votes}))
	e, err := model.NewEnsemble(nil, []*nn.Network{net}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Decode(h, []float32{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	if mean, want := got[0].Mean[0], alpha[0]/(alpha[0]+alpha[1]); mean < want-1e-6 || mean > want+1e-6 {
		t.Errorf("mean at the start %v, want %v", mean, want)
	}
}
