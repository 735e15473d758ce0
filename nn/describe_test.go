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
