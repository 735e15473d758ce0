package onnx

import (
	"bytes"
	_ "embed"
	"errors"
	"math"
	"testing"
)

// small is written by testdata/small.py with the onnx package.
//
//go:embed testdata/small.onnx
var small []byte

// TestMarshal compares a graph with one of every kind of tensor, attribute and value with the bytes that the onnx package
// writes for it.
func TestMarshal(t *testing.T) {
	g := NewGraph("small", "y")
	g.Producer, g.Version, g.Doc, g.Metadata = "credence", "1", "a test", [][2]string{{"key", "value"}}
	site := g.Input("site", String, Batch, 1)
	other := g.Input("y", Float, Batch, 3, 4) // the name of an output
	code := g.AddWith("LabelEncoder", []Attr{{"default_int64", -1}, {"keys_strings", []string{"a", "b"}}, {"values_int64s", []int{0, 1}}}, site)
	y := g.Add("Mul", g.AddWith("Cast", []Attr{{"to", int(Double)}}, code), g.Doubles([]float64{0.5}))
	g.AddWith("LeakyRelu", []Attr{{"alpha", float32(0.25)}}, g.AddWith("Softmax", []Attr{{"axis", -1}}, other))
	g.Add("Gather", g.Strings([]string{"no", "yes"}), g.Ints(1, 0))
	if again := g.Add("Mul", "Cast_1", g.Doubles([]float64{0.5})); again != y {
		t.Errorf("the same product is %s and %s", y, again)
	}
	g.Output("y", y, Double, Batch, 1)
	got, err := g.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, small) {
		t.Errorf("%d bytes, want %d:\n%q\n%q", len(got), len(small), got, small)
	}
	if text := g.Inputs[1].String(); text != "input_y float[N,3,4]" {
		t.Errorf("input %s", text)
	}
}

// TestNames checks that no name is used twice.
func TestNames(t *testing.T) {
	g := NewGraph("names", "mean")
	seen := map[string]bool{"mean": true}
	for _, name := range []string{"mean", "input_mean", "", "", "constant_0", "Add_0", "mean"} {
		if name = g.Input(name, Float, Batch); name == "" || seen[name] {
			t.Errorf("input %q is not a name of its own", name)
		}
		seen[name] = true
	}
	if name := g.Add("Add", g.Floats([]float32{1}), g.Floats([]float32{2})); seen[name] {
		t.Errorf("result %q is not a name of its own", name)
	}
}

// TestTooLarge checks that a file that no program could read is not written.
func TestTooLarge(t *testing.T) {
	g := NewGraph("large")
	g.tensors = []tensor{{raw: make([]byte, 1<<20)}}
	for len(g.tensors) <= math.MaxInt32>>20 {
		g.tensors = append(g.tensors, g.tensors[0])
	}
	if _, err := g.Marshal(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a graph of 2 GB: %v", err)
	}
}
