package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestShapeErrors: an error names the layer, what it expected and what it got.
func TestShapeErrors(t *testing.T) {
	for _, c := range []struct {
		layer Layer
		in    Shape
		want  []string
	}{
		{Seq(&ReLU{}, &Dense{Out: 3}), Shape{2, 5, 5}, []string{"layer 1 (dense)", "expected a flat input", "2×5×5", "flatten"}},
		{Seq(&Dense{Out: 3}, &Dense{In: 4, Out: 3}), Shape{7}, []string{"layer 1 (dense)", "expected 4 inputs, found 3"}},
		{Seq(&Conv{Out: 3, Kernel: Ints{3}}), Shape{7}, []string{"layer 0 (conv)", "spatial", "7"}},
		{Seq(&Conv{Out: 3, Kernel: Ints{3}, Dims: 3}), Shape{1, 7, 7}, []string{"layer 0 (conv)", "3 spatial", "1×7×7"}},
		{Seq(&Conv{Out: 3, Kernel: Ints{3}, In: 2}), Shape{1, 7, 7}, []string{"layer 0 (conv)", "expected 2 channels, found 1"}},
		{Seq(&Conv{Out: 3, Kernel: Ints{9}}), Shape{1, 7, 7}, []string{"layer 0 (conv)", "9", "7"}},
		{Seq(&Conv{Out: 3, Kernel: Ints{3, 3, 3}}), Shape{1, 7, 7}, []string{"layer 0 (conv)", "3 numbers: expected 1 or 2"}},
		{Seq(&Conv{Out: 3, Kernel: Ints{3}, Stride: Ints{0}}), Shape{1, 7, 7}, []string{"stride", "between 1 and"}},
		{Seq(&Conv{Out: 3, Kernel: Ints{3}}, &ReLU{}, &MaxPool{Size: Ints{9}}), Shape{1, 7, 7}, []string{"layer 2 (maxPool)", "9", "5"}},
		{Seq(&MaxPool{Size: Ints{2}, Dims: 3}), Shape{1, 7, 7}, []string{"layer 0 (maxPool)", "3 spatial", "1×7×7"}},
		{Seq(&MaxPool{}), Shape{1, 7, 7}, []string{"layer 0 (maxPool)", "size"}},
		{Seq(&Dropout{Rate: 1}), Shape{7}, []string{"layer 0 (dropout)", "rate 1"}},
		{Seq(&Residual{Body: &Dense{Out: 3}}), Shape{7}, []string{"layer 0 (residual)", "same shape", "3 and 7"}},
		{Seq(&Residual{}), Shape{7}, []string{"layer body is nil"}},
		{Seq(&Concat{Inputs: []Shape{{3}, {5}}, Branches: []Layer{&Dense{Out: 1}, &Dense{Out: 1}}}), Shape{7}, []string{"layer 0 (concat)", "8 values", "7"}},
		{Seq(&Embedding{Sizes: Ints{3}, Width: 2}), Shape{2}, []string{"layer 0 (embedding)", "1 categorical", "2"}},
		{Seq(&Dense{Out: 1 << 40}), Shape{2}, []string{"layer 0 (dense)", "more than"}},
		{Seq(&Conv{Out: 1 << 29, Kernel: Ints{5}}), Shape{2, 9, 9}, []string{"layer 0 (conv)", "more than"}},
		{Seq(&Conv{Out: 2, Kernel: Ints{5}, Pad: Ints{1 << 20}}), Shape{2, 9, 9}, []string{"layer 0 (conv)", "pad"}},
		{Seq(&Conv{Out: 2, Kernel: Ints{5}, Pad: Ints{1 << 16}}), Shape{1 << 15, 9, 9, 9}, []string{"layer 0 (conv)", "padded input"}},
		{Seq(&Embedding{Sizes: Ints{1 << 62, 1 << 62}, Width: 8}), Shape{2}, []string{"layer 0 (embedding)", "more than"}},
		{&ReLU{}, Shape{3, 0, 3}, []string{"empty"}},
		{&ReLU{}, Shape{1 << 20, 1 << 20, 1 << 30}, []string{"more than"}},
		{Seq(nil), Shape{2}, []string{"layer 0 is nil"}},
	} {
		_, err := New(c.layer, c.in, Options{})
		if err == nil {
			t.Errorf("%v: no error, want %q", c.in, c.want)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("error %q lacks %q", err, w)
			}
		}
	}
	shared := &Dense{Out: 2}
	if net, err := New(Seq(shared, shared), Shape{2}, Options{}); err != nil || len(net.Params) != 4 {
		t.Errorf("one description in two places: %v", err)
	}
}

func TestByName(t *testing.T) {
	for _, c := range []struct {
		name   string
		in     Shape
		widths []int
		size   int
	}{
		{"mlp", Shape{2}, nil, 3*64 + 65*64 + 65*9},
		{"mlp", Shape{1, 4, 4}, []int{5}, 17*5 + 6*9},
		{"lenet5", Shape{1, 28, 28}, nil, 26*6 + 151*16 + 401*120 + 121*84 + 85*9},
		{"cnn3d", Shape{1, 96, 96, 80}, nil, 126*16 + 433*32 + (12288+1)*9},
		{"cnn2d", Shape{3, 32, 32}, nil, (28+2)*16 + (145+2)*32 + (289+2)*64 + 65*9},
		{"cnn2d", Shape{1, 1, 5}, []int{4, 6, 8}, (10+2)*4 + (37+2)*6 + (55+2)*8 + 9*9},
		{"cnn2d", Shape{2, 1, 1}, []int{4}, (19+2)*4 + 5*9},
		{"resnet", Shape{3, 32, 32}, nil, 0},
	} {
		l, err := ByName(c.name, c.in, 9, c.widths...)
		if err != nil {
			t.Fatal(err)
		}
		net, err := New(l, c.in, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.size != 0 && net.Size() != c.size {
			t.Errorf("%s: %d parameters, want %d", c.name, net.Size(), c.size)
		}
		if net.Out.Size() != 9 {
			t.Errorf("%s: output %v", c.name, net.Out)
		}
	}
	for _, c := range []struct {
		name string
		in   Shape
	}{{"vgg", Shape{1, 28, 28}}, {"lenet5", Shape{28}}, {"cnn2d", Shape{3, 8}}, {"cnn3d", Shape{1, 28, 28}}} {
		if _, err := ByName(c.name, c.in, 3); err == nil {
			t.Errorf("%s on %v: no error", c.name, c.in)
		}
	}
}

// TestInit: initial weights depend on the seed and have the variance of the
// rule; with 30,000 draws its estimate is within 5% beyond any doubt.
func TestInit(t *testing.T) {
	values := func(o Options) []float32 {
		net, err := New(&Dense{Out: 100}, Shape{300}, o)
		if err != nil {
			t.Fatal(err)
		}
		return net.Params[0].Value
	}
	for init, want := range map[Init]float64{He: 2.0 / 300, Glorot: 2.0 / 400} {
		sum := 0.0
		for _, v := range values(Options{Init: init, Seed: 1}) {
			sum += float64(v) * float64(v)
		}
		if got := sum / 30000; math.Abs(got/want-1) > 0.05 {
			t.Errorf("%s: variance %v, want %v", init, got, want)
		}
	}
	same(t, "equal seeds", values(Options{Seed: 5}), values(Options{Seed: 5}))
	for _, o := range []Options{{Seed: 6}, {Seed: 5, Member: 1}} {
		if values(o)[0] == values(Options{Seed: 5})[0] {
			t.Errorf("%+v gives the weights of another network", o)
		}
	}
	same(t, "without draws", values(Options{Blank: true}), make([]float32, 30000))
	if _, err := New(&Dense{Out: 1}, Shape{1}, Options{Init: "zero"}); err == nil {
		t.Error("unknown rule: no error")
	}
}

// TestSample: what dropout drops in prediction depends on an item's key and the
// pass, not on its place or the other items; batch norm keeps to its statistics.
func TestSample(t *testing.T) {
	made, err := New(Seq(&BatchNorm{}, &Dropout{Rate: 0.5}), Shape{50}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	net := running(t, made)
	x := make([]float32, 3*50)
	for i := range x {
		x[i] = float32(1 + i/50)
	}
	plain := slices.Clone(net.Forward(x, false, Step{}))
	states := slices.Clone(net.States[0].Value)
	first := slices.Clone(net.Sample(x, []uint64{7, 8, 9}, Step{Step: 1}))
	again := slices.Clone(net.Sample(x[50:100], []uint64{8}, Step{Step: 1}))
	if !slices.Equal(first[50:100], again) {
		t.Error("an item's outputs depend on its place")
	}
	if other := net.Sample(x[50:100], []uint64{8}, Step{Step: 2}); slices.Equal(again, other) {
		t.Error("two passes drop the same")
	}
	if other := net.Sample(x[50:100], []uint64{7}, Step{Step: 1}); slices.Equal(again, other) {
		t.Error("two keys drop the same")
	}
	kept := 0
	for i, y := range first {
		if y != 0 {
			kept++
			if y != 2*plain[i] {
				t.Errorf("output %d is %v, want %v", i, y, 2*plain[i])
			}
		}
	}
	if kept < 45 || kept > 105 { // five standard errors around 75
		t.Errorf("%d of 150 values are kept", kept)
	}
	if !slices.Equal(net.Forward(x, false, Step{}), plain) || !slices.Equal(net.States[0].Value, states) {
		t.Error("a sample changes the network")
	}
}

func TestDropout(t *testing.T) {
	made, err := New(Seq(&Dropout{Rate: 0.25}, &Dropout{Rate: 0.5}), Shape{1000}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	net := running(t, made)
	x := make([]float32, 20*1000)
	for i := range x {
		x[i] = 1
	}
	count := func(at Step, train bool) (zeros int, y []float32) {
		y = append(y, net.Forward(x, train, at)...)
		for _, v := range y {
			if v == 0 {
				zeros++
			}
		}
		return zeros, y
	}
	// 20,000 draws with P(0) = 1 − 0.75·0.5: five standard deviations are 340.
	zeros, y := count(Step{Seed: 1}, true)
	if math.Abs(float64(zeros)-12500) > 340 {
		t.Errorf("%d of 20000 dropped, want about 12500", zeros)
	}
	_, again := count(Step{Seed: 1}, true)
	same(t, "same step", again, y)
	for _, at := range []Step{{Seed: 2}, {Seed: 1, Member: 1}, {Seed: 1, Epoch: 1}, {Seed: 1, Step: 1}} {
		if _, other := count(at, true); fmt.Sprint(other[:64]) == fmt.Sprint(y[:64]) {
			t.Errorf("%+v drops what %+v drops", at, Step{Seed: 1})
		}
	}
	if zeros, _ := count(Step{}, false); zeros != 0 {
		t.Errorf("%d dropped outside training", zeros)
	}
}

func TestBatchNormRunning(t *testing.T) {
	made, err := New(&BatchNorm{}, Shape{1, 2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	net := running(t, made)
	x := []float32{1, 3, 5, 7} // mean 4, variance 5, corrected 20/3
	for range 300 {
		net.Forward(x, true, Step{})
	}
	for i, want := range []float64{4, 20.0 / 3} {
		if got := float64(net.States[i].Value[0]); math.Abs(got-want) > 1e-4 {
			t.Errorf("%s is %v, want %v", net.States[i].Name, got, want)
		}
	}
	y := net.Forward(x[:2], false, Step{})
	if want := float32((1 - 4) / math.Sqrt(20.0/3+1e-5)); math.Abs(float64(y[0]-want)) > 1e-4 {
		t.Errorf("outside training %v, want %v", y[0], want)
	}
}

func TestEmbedding(t *testing.T) {
	made, err := New(&Embedding{Sizes: Ints{3, 2}, Width: 2}, Shape{2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	net := running(t, made)
	copy(net.Params[0].Value, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	nan := float32(math.NaN())
	y := net.Forward([]float32{2, 0, 0, 1, nan, 2}, true, Step{})
	same(t, "vectors", y, []float32{5, 6, 7, 8, 1, 2, 9, 10, 0, 0, 0, 0})
	net.Backward(nil, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9})
	same(t, "gradient", net.Params[0].Grad, []float32{5, 6, 0, 0, 1, 2, 3, 4, 7, 8})
}

// scale is a layer with a single parameter: y = s·x, s = 2 at the start.
type scale struct{ s *Param }

func (l *scale) Build(b *Builder, in Shape) (Shape, error) {
	l.s = b.Const("scale", Shape{1}, 2)
	return in, nil
}

func (l *scale) Forward(_ *Pass, y, x []float32) {
	for i, v := range x {
		y[i] = l.s.Value[0] * v
	}
}

func (l *scale) Backward(_ *Pass, dx, dy, _, x []float32) {
	l.s.Grad[0] = 0
	for i, g := range dy {
		l.s.Grad[0] += g * x[i]
		if dx != nil {
			dx[i] = l.s.Value[0] * g
		}
	}
}
