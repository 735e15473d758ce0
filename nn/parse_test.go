package nn

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	l, err := Parse([]byte(`
- {type: conv2d, out: 4, kernel: [3, 2], pad: 1}
- type: relu
- {type: maxpool, size: 2}
- type: residual
  body:
    - {type: conv, out: 4, kernel: 3, pad: 1, nobias: true}
    - type: batchnorm
  shortcut: [{type: conv, out: 4, kernel: 1}]
- type: sequential
  layers: [{type: gelu}, {type: dropout, rate: 0.1}]
- {type: globalpool, max: true}
- type: concat
  inputs: [[3], [1]]
  branches:
    - [{type: dense, out: 5}, {type: layernorm, epsilon: 1e-3}]
    - [{type: embedding, sizes: 3, width: 2}]
- type: dense   # as many as the head takes
`), 9)
	if err != nil {
		t.Fatal(err)
	}
	net, err := New(l, Shape{1, 8, 8}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if net.Out.String() != "9" {
		t.Errorf("output %v, want 9", net.Out)
	}
	var names []string
	for _, p := range net.Params {
		names = append(names, p.Name)
	}
	want := "0.weight 0.bias 3.body.0.weight 3.body.1.weight 3.body.1.bias 3.shortcut.0.weight 3.shortcut.0.bias " +
		"6.0.0.weight 6.0.0.bias 6.0.1.weight 6.0.1.bias 6.1.0.table 7.weight 7.bias"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("parameters\n%s, want\n%s", got, want)
	}
	if _, err := Parse([]byte(`[{"type": "dense", "out": 3}, {"type": "tanh"}]`), 0); err != nil {
		t.Errorf("JSON: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"- {type: dense, outt: 3}", `line 1, column 17: dense has no key "outt"; it has [out in nobias]`},
		{"- type: relu\n- type: rellu", `line 2, column 9: layer "rellu" is not one of [avgpool`},
		{"- type: relu\n- size: 3", "line 2, column 3: layer without a type: expected one such as {type: dense, out: 32}"},
		{"- {type: dense, out: many}", "dense.out: expected a whole number, found many"},
		{"- {type: conv, out: 3, kernel: wide}", "conv.kernel: expected a whole number or a list of them, found wide"},
		{"- {type: dense, in: 3, Out: 4}", `dense has no key "Out"`},
		{"- {type: conv2d, dims: 3}", `conv2d has no key "dims"`},
		{"- {type: residual, bodies: []}", `line 1, column 20: residual has no key "bodies"`},
		{"- {type: residual}", "residual without layers"},
		{"- {type: concat, inputs: 3}", "expected a list of shapes"},
		{"type: relu", "expected a list of layers, each on a line such as - {type: relu}"},
		{"- [relu]", "expected a layer such as {type: relu}"},
		{"- {type: relu", "layers: "},
		{"", "expected"},
	} {
		_, err := Parse([]byte(c[0]), 1)
		if err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: error %v, want %q", c[0], err, c[1])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("- {type: conv2d, out: 4, kernel: [3, 2], pad: 1}\n- type: dense"))
	f.Add([]byte(`[{"type": "residual", "body": [{"type": "tanh"}]}]`))
	f.Add([]byte("- {type: concat, inputs: [[1]], branches: [[{type: flatten}]]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse(data, 2)
		if (l == nil) == (err == nil) {
			t.Errorf("layer %v and error %v", l, err)
		}
	})
}
