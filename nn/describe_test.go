package nn

import (
	"strings"
	"testing"
)

// TestDescribe: what Describe writes is read back as the same network.
func TestDescribe(t *testing.T) {
	mixed := Seq(
		&Concat{Inputs: []Shape{{2, 8, 8}, {3}, {1}}, Branches: []Layer{
			Seq(&Conv{Out: 4, Kernel: Ints{3}, Pad: Ints{1}, Dims: 2}, &ReLU{}, &MaxPool{Size: Ints{2}},
				&Residual{Body: Seq(&Conv{Out: 4, Kernel: Ints{3}, Pad: Ints{1}, NoBias: true}, &BatchNorm{Momentum: 0.2})},
				&Residual{Body: &Conv{Out: 2, Kernel: Ints{1}}, Shortcut: &Conv{Out: 2, Kernel: Ints{1}}},
				&AvgPool{Size: Ints{2}}, &Flatten{}),
			Seq(&Dropout{Rate: 0.1}),
			&Embedding{Sizes: Ints{5}, Width: 2},
		}},
		Seq(&Dense{Out: 5}, &Tanh{}, &LayerNorm{}), &GELU{}, &Sigmoid{}, &Dense{Out: 9},
	)
	in := Shape{2*64 + 4}
	text, err := Describe(mixed)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(text, 0)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if second, err := Describe(again); err != nil || string(second) != string(text) {
		t.Errorf("read back and written again:\n%s\nwas\n%s\n%v", second, text, err)
	}
	params, states, err := Tensors(again, in)
	if err != nil {
		t.Fatal(err)
	}
	same, err := Parse(text, 0)
	if err != nil {
		t.Fatal(err)
	}
	net, err := New(same, in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(params) != len(net.Params) || len(states) != len(net.States) {
		t.Fatalf("%d parameters and %d states, want %d and %d", len(params), len(states), len(net.Params), len(net.States))
	}
	for i, p := range net.Params {
		if params[i].Name != p.Name || params[i].Shape.String() != p.Shape.String() {
			t.Errorf("parameter %d: %s %v, want %s %v", i, params[i].Name, params[i].Shape, p.Name, p.Shape)
		}
	}
}

type own struct{ Flatten }

func TestDescribeRefuses(t *testing.T) {
	if _, err := Describe(Seq(&own{})); err == nil || !strings.Contains(err.Error(), "nn.own") {
		t.Errorf("a layer of another type: %v", err)
	}
}

// stretch is a custom layer that can be saved.
type stretch struct {
	scale
	By    float64
	Sizes Ints
}

func (*stretch) Type() string { return "stretch" }

// taken has the name of a layer of the package.
type taken struct{ stretch }

func (*taken) Type() string { return "dense" }

// TestTyped: custom layers go to a file and back, if they are passed to Parse.
func TestTyped(t *testing.T) {
	text, err := Describe(Seq(&stretch{By: 2, Sizes: Ints{3, 4}}, &Residual{Body: &stretch{}}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"type":"stretch","by":2,"sizes":[3,4]},{"type":"residual","body":[{"type":"stretch"}]}]`
	if string(text) != want {
		t.Errorf("described as %s, want %s", text, want)
	}
	root, err := Parse(text, 0, &stretch{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Describe(root); err != nil || string(again) != want {
		t.Errorf("read and described again: %s, %v", again, err)
	}
	net, err := New(root, Shape{2}, Options{})
	if err != nil || len(net.Params) != 2 || net.Params[1].Name != "1.body.0.scale" {
		t.Errorf("network %+v, %v", net, err)
	}
	if _, err := Parse(text, 0); err == nil || !strings.Contains(err.Error(), `layer "stretch" is not one of [avgpool`) {
		t.Errorf("without it: %v", err)
	}
	if _, err := Parse(text, 0, &taken{}); err == nil || !strings.Contains(err.Error(), `"dense", which is empty or taken`) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := Describe(&taken{}); err == nil || !strings.Contains(err.Error(), "nn.taken") {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := Parse([]byte(`[{"type":"stretch","to":3}]`), 0, &stretch{}); err == nil || !strings.Contains(err.Error(), "it has [by sizes]") {
		t.Errorf("an unknown key: %v", err)
	}
}

// TestComplete: a tree gets the form in which it is saved, and the argument is not changed.
func TestComplete(t *testing.T) {
	given := &Concat{Branches: []Layer{&Dense{}, Seq(&Dense{Out: 2, NoBias: true})}}
	text, err := Describe(Complete(given, 7))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"type":"concat","branches":[[{"type":"dense","out":7}],[{"type":"dense","out":2,"nobias":true}]]}]`
	if string(text) != want {
		t.Errorf("complete %s, want %s", text, want)
	}
	if given.Branches[0].(*Dense).Out != 0 {
		t.Error("the tree that was given is changed")
	}
}
