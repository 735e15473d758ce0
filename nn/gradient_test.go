package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"credence/internal/kernel"
	"credence/internal/rng"
)

// layerCase is one layer with an input shape. Every case is held against
// finite differences, and run on one and several threads.
type layerCase struct {
	name string
	in   Shape
	make func() Layer
}

var layerCases = []layerCase{
	{"dense", Shape{5}, func() Layer { return &Dense{Out: 7} }},
	{"dense/one", Shape{1}, func() Layer { return &Dense{Out: 1} }},
	{"dense/nobias", Shape{9}, func() Layer { return &Dense{Out: 3, NoBias: true} }},
	{"dense/wide", Shape{37}, func() Layer { return &Dense{Out: 33} }},
	{"dense+relu", Shape{12}, func() Layer { return Seq(&Dense{Out: 20}, &ReLU{}, &Dense{Out: 3}) }},
	{"conv1d", Shape{2, 9}, func() Layer { return &Conv{Out: 3, Kernel: Ints{3}} }},
	{"conv1d/stride+pad", Shape{2, 10}, func() Layer { return &Conv{Out: 3, Kernel: Ints{4}, Stride: Ints{3}, Pad: Ints{2}} }},
	{"conv2d", Shape{3, 7, 6}, func() Layer { return &Conv{Out: 5, Kernel: Ints{3, 2}} }},
	{"conv2d/one channel", Shape{1, 5, 5}, func() Layer { return &Conv{Out: 1, Kernel: Ints{5}, Pad: Ints{2}} }},
	{"conv2d/one pixel", Shape{2, 1, 1}, func() Layer { return &Conv{Out: 3, Kernel: Ints{1}} }},
	{"conv2d/one pixel padded", Shape{2, 1, 1}, func() Layer { return &Conv{Out: 3, Kernel: Ints{3}, Pad: Ints{1}} }},
	{"conv2d/stride", Shape{2, 9, 7}, func() Layer { return &Conv{Out: 3, Kernel: Ints{3}, Stride: Ints{2}, Pad: Ints{1}} }},
	{"conv2d/uneven stride", Shape{2, 8, 9}, func() Layer { return &Conv{Out: 2, Kernel: Ints{2, 3}, Stride: Ints{3, 2}} }},
	{"conv2d/dilation", Shape{2, 9, 8}, func() Layer { return &Conv{Out: 3, Kernel: Ints{3}, Dilation: Ints{2}} }},
	{"conv2d/all", Shape{3, 11, 8}, func() Layer {
		return &Conv{Out: 20, Kernel: Ints{3}, Stride: Ints{2, 1}, Pad: Ints{2, 1}, Dilation: Ints{1, 2}, NoBias: true}
	}},
	{"conv3d", Shape{2, 5, 4, 6}, func() Layer { return &Conv{Out: 3, Kernel: Ints{3, 2, 3}} }},
	{"conv3d/stride+pad", Shape{1, 5, 6, 4}, func() Layer { return &Conv{Out: 17, Kernel: Ints{3}, Stride: Ints{2}, Pad: Ints{1}} }},
	{"maxpool1d", Shape{2, 9}, func() Layer { return &MaxPool{Size: Ints{3}} }},
	{"maxpool2d", Shape{2, 7, 6}, func() Layer { return &MaxPool{Size: Ints{2}} }},
	{"maxpool2d/overlap+pad", Shape{2, 7, 6}, func() Layer { return &MaxPool{Size: Ints{3}, Stride: Ints{2}, Pad: Ints{1}} }},
	{"maxpool3d", Shape{2, 5, 4, 6}, func() Layer { return &MaxPool{Size: Ints{2, 2, 3}} }},
	{"avgpool2d", Shape{2, 7, 6}, func() Layer { return &AvgPool{Size: Ints{2}} }},
	{"avgpool2d/overlap+pad", Shape{2, 7, 6}, func() Layer { return &AvgPool{Size: Ints{3}, Stride: Ints{2}, Pad: Ints{1}} }},
	{"globalpool", Shape{3, 4, 5}, func() Layer { return &GlobalPool{} }},
	{"globalpool/max", Shape{3, 4, 5}, func() Layer { return &GlobalPool{Max: true} }},
	{"relu", Shape{40}, func() Layer { return &ReLU{} }},
	{"gelu", Shape{40}, func() Layer { return &GELU{} }},
	{"tanh", Shape{40}, func() Layer { return &Tanh{} }},
	{"sigmoid", Shape{40}, func() Layer { return &Sigmoid{} }},
	{"dropout", Shape{41}, func() Layer { return &Dropout{Rate: 0.4} }},
	{"layernorm", Shape{3, 5}, func() Layer { return &LayerNorm{} }},
	{"batchnorm", Shape{3, 4, 2}, func() Layer { return &BatchNorm{} }},
	{"batchnorm/flat", Shape{6}, func() Layer { return &BatchNorm{} }},
	{"flatten", Shape{2, 3}, func() Layer { return &Flatten{} }},
	{"residual", Shape{2, 5, 5}, func() Layer {
		return &Residual{Body: Seq(&Conv{Out: 2, Kernel: Ints{3}, Pad: Ints{1}}, &Tanh{})}
	}},
	{"residual/shortcut", Shape{2, 5, 5}, func() Layer {
		return &Residual{Body: &Conv{Out: 3, Kernel: Ints{3}, Stride: Ints{2}, Pad: Ints{1}}, Shortcut: &Conv{Out: 3, Kernel: Ints{1}, Stride: Ints{2}}}
	}},
	{"concat/table, vector, image and volume", Shape{4 + 18 + 36 + 125}, func() Layer {
		return Seq(&Concat{Inputs: []Shape{{4}, {18}, {1, 6, 6}, {1, 5, 5, 5}}, Branches: []Layer{
			Seq(),
			Seq(&Dropout{Rate: 0.3}, &Dense{Out: 6}, &LayerNorm{}, &Tanh{}),
			Seq(&Conv{Out: 3, Kernel: Ints{3}}, &Tanh{}, &MaxPool{Size: Ints{2}}, &Flatten{}, &Dense{Out: 4}),
			Seq(&Conv{Out: 2, Kernel: Ints{2}}, &Tanh{}, &GlobalPool{}, &Dense{Out: 3}),
		}}, &Dense{Out: 5}, &Tanh{}, &Dense{Out: 3})
	}},
	{"concat", Shape{21}, func() Layer {
		return &Concat{Inputs: []Shape{{1, 4, 4}, {5}}, Branches: []Layer{
			Seq(&Conv{Out: 2, Kernel: Ints{3}}, &Flatten{}), Seq(&Dense{Out: 4}, &Tanh{})}}
	}},
	{"concat/shared", Shape{2, 4, 4}, func() Layer {
		return &Concat{Branches: []Layer{&Conv{Out: 2, Kernel: Ints{1}}, &Conv{Out: 3, Kernel: Ints{3}, Pad: Ints{1}}}}
	}},
	{"fused relu", Shape{2, 9, 7}, func() Layer { return Seq(&Conv{Out: 3, Kernel: Ints{3}}, &ReLU{}, &MaxPool{Size: Ints{2}}) }},
	{"fused tanh", Shape{1, 9, 7}, func() Layer {
		return Seq(&Conv{Out: 3, Kernel: Ints{3}, Pad: Ints{1}}, &MaxPool{Size: Ints{2}}, &Tanh{})
	}},
}

func build(t testing.TB, c layerCase, o Options) *runner {
	t.Helper()
	n, err := New(c.make(), c.in, o)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rng.New(7, "test bias"))
	for _, p := range n.Params {
		if !p.fill.random {
			for i := range p.Value {
				p.Value[i] += float32(0.3 * r.NormFloat64())
			}
		}
	}
	return running(t, n)
}

// spread returns n distinct values in random order, none near another: so that
// neither a maximum nor the kink of a ReLU is within reach of a difference.
func spread(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i, j := range r.Perm(n) {
		x[i] = (float32(j) + 0.5 - float32(n)/2) * 4 / float32(n)
	}
	return x
}

// TestGradients compares every derivative with a central difference of
// the loss Σ c·y, c random, at four items.
func TestGradients(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		for _, c := range layerCases {
			t.Run(c.name, func(t *testing.T) { checkGradient(t, c) })
		}
	})
}

func checkGradient(t *testing.T, c layerCase) {
	const items = 4
	net := build(t, c, Options{Seed: 3, Init: Glorot})
	r := rand.New(rng.New(5, "test "+c.name))
	x := spread(r, items*c.in.Size())
	weights := make([]float32, items*net.Out.Size())
	for i := range weights {
		weights[i] = float32(r.NormFloat64())
	}
	loss := func() float64 {
		sum := 0.0
		for i, y := range net.Forward(x, true, Step{}) {
			sum += float64(y) * float64(weights[i])
		}
		return sum
	}
	loss()
	dx := make([]float32, len(x))
	net.Backward(dx, append([]float32(nil), weights...))
	grads := append([]float32(nil), net.Grads...)

	check := func(what string, value, grad []float32) {
		const h = 1.0 / 256
		worst, top := 0.0, 0.1
		for i := range value {
			v := value[i]
			value[i] = v + h
			up := loss()
			value[i] = v - h
			want := (up - loss()) / (2 * h)
			value[i] = v
			top = math.Max(top, math.Abs(want))
			worst = math.Max(worst, math.Abs(want-float64(grad[i])))
		}
		if !(worst <= 3e-3*top) {
			t.Errorf("%s: gradient off by %.1e of %.1e", what, worst, top)
		}
	}
	check("input", x, dx)
	at := 0
	for _, p := range net.Params {
		check(p.Name, p.Value, grads[at:at+p.Size()])
		at += pieces(p.Size(), align) * align
	}

	// Without the input's gradient the parameters' are the same bits.
	loss()
	net.Backward(nil, append([]float32(nil), weights...))
	same(t, "gradients without dx", net.Grads, grads)
}

// TestThreads: the same bits on any number of threads.
func TestThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	cases := append([]layerCase{
		{"lenet5", Shape{1, 28, 28}, func() Layer { l, _ := ByName("lenet5", Shape{1, 28, 28}, 9); return l }},
		{"resnet", Shape{1, 16, 16}, func() Layer { l, _ := ByName("resnet", Shape{1, 16, 16}, 3); return l }},
		{"mlp", Shape{300}, func() Layer { l, _ := ByName("mlp", Shape{300}, 30, 200, 64); return l }},
	}, layerCases...)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			const items = 37
			var want [3][]float32
			for _, threads := range []int{1, 2, 5} {
				runtime.GOMAXPROCS(threads)
				net := build(t, c, Options{Seed: 1})
				r := rand.New(rng.New(2, "test"))
				x, dx := spread(r, items*c.in.Size()), make([]float32, items*c.in.Size())
				y := net.Forward(x, true, Step{Seed: 4})
				dy := make([]float32, len(y))
				for i := range dy {
					dy[i] = float32(r.NormFloat64())
				}
				out := append([]float32(nil), y...)
				net.Backward(dx, dy)
				if threads == 1 {
					want = [3][]float32{out, net.Grads, dx}
					continue
				}
				what := fmt.Sprintf("%d threads: ", threads)
				same(t, what+"outputs", out, want[0])
				same(t, what+"gradients", net.Grads, want[1])
				same(t, what+"input gradient", dx, want[2])
			}
		})
	}
}

// same demands equal bits.
func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Errorf("%s: value %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// eachKernel runs a test on every instruction set this processor has.
func eachKernel(t *testing.T, f func(t *testing.T)) {
	now := kernel.Name()
	defer kernel.Use(now)
	for _, name := range kernel.Available() {
		if err := kernel.Use(name); err != nil {
			t.Fatal(err)
		}
		t.Run("kernel="+name, f)
	}
}
