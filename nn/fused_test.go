package nn

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
)

// TestFused: fused and apart give the same bits, in outputs and gradients.
func TestFused(t *testing.T) {
	conv := func(k, pad int) *Conv { return &Conv{Out: 7, Kernel: Ints{k}, Pad: Ints{pad}} }
	big := func() *Conv { return &Conv{Out: 20, Kernel: Ints{3}, Stride: Ints{2}, Pad: Ints{1}} }
	pool := func(k int) *MaxPool { return &MaxPool{Size: Ints{k}} }
	cases := []layerCase{
		{"relu pool", Shape{1, 12, 12}, func() Layer { return Seq(conv(5, 2), &ReLU{}, pool(2)) }},
		{"pool relu", Shape{3, 12, 12}, func() Layer { return Seq(conv(3, 0), pool(2), &ReLU{}) }},
		{"tanh pool", Shape{2, 11, 13}, func() Layer { return Seq(conv(3, 1), &Tanh{}, pool(3)) }},
		{"pool tanh", Shape{2, 11, 13}, func() Layer { return Seq(conv(3, 1), pool(3), &Tanh{}) }},
		{"sigmoid pool", Shape{2, 9, 9}, func() Layer { return Seq(conv(3, 1), &Sigmoid{}, pool(2)) }},
		{"pool", Shape{2, 9, 9}, func() Layer { return Seq(conv(3, 1), pool(2)) }},
		{"1d", Shape{2, 29}, func() Layer { return Seq(conv(3, 1), &ReLU{}, pool(4)) }},
		{"3d", Shape{1, 13, 12, 11}, func() Layer { return Seq(conv(3, 0), &ReLU{}, pool(5)) }},
		{"3d channels", Shape{3, 7, 8, 9}, func() Layer { return Seq(conv(2, 0), &ReLU{}, pool(2)) }},
		{"stride", Shape{3, 17, 14}, func() Layer { return Seq(big(), &ReLU{}, pool(2)) }},
		{"dense relu", Shape{2, 6, 6}, func() Layer { return Seq(&Flatten{}, &Dense{Out: 9}, &ReLU{}, &Dense{Out: 4}) }},
		{"two", Shape{1, 20, 20}, func() Layer {
			return Seq(conv(3, 0), &ReLU{}, pool(2), conv(3, 0), &ReLU{}, pool(2), &Flatten{}, &Dense{Out: 5})
		}},
	}
	data := map[string]func(r *rand.Rand) float32{
		"normal":   func(r *rand.Rand) float32 { return float32(r.NormFloat64()) },
		"ties":     func(r *rand.Rand) float32 { return float32(r.IntN(3) - 1) },
		"zeros":    func(r *rand.Rand) float32 { return 0 },
		"negative": func(r *rand.Rand) float32 { return -float32(r.ExpFloat64()) },
	}
	eachKernel(t, func(t *testing.T) {
		for _, c := range cases {
			for name, draw := range data {
				t.Run(fmt.Sprintf("%s/%s", c.name, name), func(t *testing.T) {
					const items = 19
					run := func(apart bool) [3][]float32 {
						net := build(t, c, Options{Seed: 1, Unfused: apart})
						if name == "ties" || name == "negative" {
							// Small whole weights make sums exact, so that ties stay ties;
							// positive ones make all outputs of negative inputs negative.
							for _, p := range net.Params {
								for i := range p.Value {
									p.Value[i] = float32(i%3 - 1)
									if name == "negative" {
										p.Value[i] = float32(i%3) * 0.5
									}
								}
							}
						}
						r := rand.New(rng.New(2, "test"))
						x, dx := make([]float32, items*c.in.Size()), make([]float32, items*c.in.Size())
						for i := range x {
							x[i] = draw(r)
						}
						y := append([]float32(nil), net.Forward(x, true, Step{})...)
						dy := make([]float32, len(y))
						for i := range dy {
							dy[i] = float32(r.NormFloat64())
						}
						net.Backward(dx, dy)
						return [3][]float32{y, net.Grads, dx}
					}
					got, want := run(false), run(true)
					for i, what := range []string{"outputs", "gradients", "input gradient"} {
						sameZero(t, what, got[i], want[i])
					}
				})
			}
		}
	})
}

// sameZero is same, except that the two zeros are equal: a sparse sum never
// meets the zeros that a dense one adds.
func sameZero(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: value %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// TestFusedChosen looks at which layers Sequential takes together.
func TestFusedChosen(t *testing.T) {
	conv := func() Layer { return &Conv{Out: 2, Kernel: Ints{3}} }
	for _, c := range []struct {
		name   string
		stages int
		layers []Layer
	}{
		{"conv relu pool", 1, []Layer{conv(), &ReLU{}, &MaxPool{Size: Ints{2}}}},
		{"conv pool sigmoid", 1, []Layer{conv(), &MaxPool{Size: Ints{2}}, &Sigmoid{}}},
		{"conv pool", 1, []Layer{conv(), &MaxPool{Size: Ints{2}}}},
		{"conv gelu pool", 3, []Layer{conv(), &GELU{}, &MaxPool{Size: Ints{2}}}},
		{"conv pool gelu", 2, []Layer{conv(), &MaxPool{Size: Ints{2}}, &GELU{}}},
		{"overlapping", 3, []Layer{conv(), &ReLU{}, &MaxPool{Size: Ints{3}, Stride: Ints{2}}}},
		{"padded", 3, []Layer{conv(), &ReLU{}, &MaxPool{Size: Ints{2}, Pad: Ints{1}}}},
		{"average", 3, []Layer{conv(), &ReLU{}, &AvgPool{Size: Ints{2}}}},
		{"dense relu", 1, []Layer{&Flatten{}, &Dense{Out: 3}, &ReLU{}}},
	} {
		net, err := New(Seq(c.layers...), Shape{1, 10, 10}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := net.NewSession(1)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.root.(*Sequential).stages); got != c.stages {
			t.Errorf("%s: %d stages, want %d", c.name, got, c.stages)
		}
	}
}
