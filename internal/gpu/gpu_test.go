//go:build cuda

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"credence/internal/cuda"
	"credence/nn"
)

// deviceEnv is set where the tests shall run on a GPU. Elsewhere they run on an emulator of the driver
// that runs the same kernels, compiled for the CPU.
const deviceEnv = "CREDENCE_TEST_GPU"

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		os.Exit(help(os.Getenv(helperEnv)))
	}
	if os.Getenv(deviceEnv) != "" || os.Getenv(cuda.LibraryEnv) != "" {
		os.Exit(m.Run())
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		fmt.Println("no g++ to compile the emulator with: the tests of the GPU are left out")
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "emulate")
	if err != nil {
		panic(err)
	}
	library := filepath.Join(dir, "libemulate.so")
	if out, err := exec.Command(compiler, "-O2", "-w", "-shared", "-fPIC", "-o", library, "../cuda/kernels/emulate.cc").CombinedOutput(); err != nil {
		fmt.Printf("compiling the emulator: %v\n%s", err, out)
		os.Exit(1)
	}
	os.Setenv(cuda.LibraryEnv, library)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func open(t testing.TB) *Engine {
	t.Helper()
	e, err := Open(0)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// network makes a network whose every weight is random, biases and scales too.
func makeNet(t testing.TB, root nn.Layer, in nn.Shape) *nn.Network {
	t.Helper()
	net, err := nn.New(root, in, nn.Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range net.Params {
		for i := range p.Value {
			p.Value[i] += float32(0.1 * r.NormFloat64())
		}
	}
	return net
}

func byName(t testing.TB, name string, in nn.Shape) nn.Layer { return byNameOut(t, name, in, 6) }

func byNameOut(t testing.TB, name string, in nn.Shape, out int) nn.Layer {
	t.Helper()
	root, err := nn.ByName(name, in, out)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// cases are networks that use every kernel.
func cases(t testing.TB) map[string]struct {
	root nn.Layer
	in   nn.Shape
} {
	type c = struct {
		root nn.Layer
		in   nn.Shape
	}
	named := func(name string, in ...int) c { return c{byName(t, name, in), in} }
	seq := func(in nn.Shape, l ...nn.Layer) c {
		return c{nn.Seq(append(l, &nn.Flatten{}, &nn.Dense{Out: 5})...), in}
	}
	return map[string]c{
		"mlp":         named("mlp", 7),
		"lenet5":      named("lenet5", 1, 28, 28),
		"cnn2d":       named("cnn2d", 3, 12, 10),
		"resnet":      named("resnet", 2, 9, 8),
		"cnn3d":       named("cnn3d", 1, 24, 29, 24),
		"two blocks":  seq(nn.Shape{1, 14, 24, 84}, &nn.Conv{Out: 18, Kernel: nn.Ints{5}}, &nn.ReLU{}, &nn.MaxPool{Size: nn.Ints{5}}),
		"wide":        seq(nn.Shape{300}, &nn.Dense{Out: 260}, &nn.ReLU{}, &nn.Dense{Out: 130, NoBias: true}, &nn.Tanh{}),
		"activations": seq(nn.Shape{40}, &nn.Dense{Out: 33}, &nn.GELU{}, &nn.Dense{Out: 20}, &nn.Sigmoid{}, &nn.LayerNorm{}, &nn.Dense{Out: 9}, &nn.Tanh{}),
		"dropout":     seq(nn.Shape{11}, &nn.Dense{Out: 21}, &nn.Dropout{Rate: 0.4}, &nn.ReLU{}, &nn.Dense{Out: 10}, &nn.Dropout{Rate: 0}, &nn.Dropout{Rate: 0.2}),
		"strides": seq(nn.Shape{3, 13, 11}, &nn.Conv{Out: 9, Kernel: nn.Ints{3, 2}, Stride: nn.Ints{2, 1}, Pad: nn.Ints{1}}, &nn.GELU{},
			&nn.Conv{Out: 17, Kernel: nn.Ints{3}, Dilation: nn.Ints{2}, Pad: nn.Ints{2}, NoBias: true}, &nn.BatchNorm{}),
		"three dimensions": seq(nn.Shape{2, 6, 7, 9}, &nn.Conv{Out: 4, Kernel: nn.Ints{3}, Pad: nn.Ints{1}}, &nn.Tanh{},
			&nn.Conv{Out: 3, Kernel: nn.Ints{2}, Stride: nn.Ints{2}}, &nn.AvgPool{Size: nn.Ints{2}, Pad: nn.Ints{1}}),
		"one dimension": seq(nn.Shape{2, 31}, &nn.Conv{Out: 6, Kernel: nn.Ints{5}, Pad: nn.Ints{2}}, &nn.Sigmoid{}, &nn.MaxPool{Size: nn.Ints{2}},
			&nn.Conv{Out: 6, Kernel: nn.Ints{3}}, &nn.MaxPool{Size: nn.Ints{3}}, &nn.Tanh{}),
		"overlapping pools": seq(nn.Shape{2, 11, 9}, &nn.Conv{Out: 5, Kernel: nn.Ints{3}}, &nn.ReLU{},
			&nn.MaxPool{Size: nn.Ints{3}, Stride: nn.Ints{2}, Pad: nn.Ints{1}}, &nn.Conv{Out: 4, Kernel: nn.Ints{2}}, &nn.GlobalPool{Max: true}),
		"large kernel": seq(nn.Shape{2, 40}, &nn.Conv{Out: 3, Kernel: nn.Ints{33}, Pad: nn.Ints{5}}, &nn.Tanh{},
			&nn.Conv{Out: 2, Kernel: nn.Ints{3}, Stride: nn.Ints{3}, Dilation: nn.Ints{2}}),
		"strides and dilations": seq(nn.Shape{3, 15, 16}, &nn.Conv{Out: 4, Kernel: nn.Ints{3}, Pad: nn.Ints{1}}, &nn.ReLU{},
			&nn.Conv{Out: 20, Kernel: nn.Ints{3, 2}, Stride: nn.Ints{4, 2}, Dilation: nn.Ints{2, 3}, Pad: nn.Ints{2}, NoBias: true}, &nn.BatchNorm{}, &nn.ReLU{}),
		"residual of dense layers": seq(nn.Shape{9}, &nn.Dense{Out: 8}, &nn.Residual{Body: nn.Seq(&nn.Dense{Out: 8}, &nn.ReLU{}), Shortcut: &nn.Dense{Out: 8}}, &nn.ReLU{}),
		"pool of 3 by 4": seq(nn.Shape{3, 14, 17}, &nn.Conv{Out: 7, Kernel: nn.Ints{3}, Pad: nn.Ints{1}, Stride: nn.Ints{1, 2}}, &nn.ReLU{},
			&nn.MaxPool{Size: nn.Ints{3, 4}}, &nn.Conv{Out: 2, Kernel: nn.Ints{2}}, &nn.MaxPool{Size: nn.Ints{2, 1}}),
		"parts": {nn.Seq(&nn.Concat{Inputs: []nn.Shape{{1, 6, 6}, {3}, {2}}, Branches: []nn.Layer{
			nn.Seq(&nn.Conv{Out: 3, Kernel: nn.Ints{3}}, &nn.ReLU{}, &nn.Flatten{}),
			&nn.Embedding{Sizes: nn.Ints{3, 2, 4}, Width: 3},
			nn.Seq(),
		}}, &nn.Dense{Out: 8}, &nn.ReLU{}, &nn.Residual{Body: nn.Seq(&nn.Dense{Out: 8}, &nn.Tanh{})}, &nn.Dense{Out: 4}), nn.Shape{41}},
		"joined": seq(nn.Shape{2, 5, 5}, &nn.Conv{Out: 3, Kernel: nn.Ints{1}}, &nn.Concat{Branches: []nn.Layer{
			&nn.Conv{Out: 2, Kernel: nn.Ints{3}, Pad: nn.Ints{1}}, nn.Seq(), &nn.MaxPool{Size: nn.Ints{3}, Stride: nn.Ints{1}, Pad: nn.Ints{1}},
		}}),
	}
}

// inputs are random; where a network embeds, columns 36 to 38 are codes, some beyond their range.
func inputs(name string, n, width int) []float32 {
	r := rand.New(rand.NewPCG(3, 4))
	x := make([]float32, n*width)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		if k := i % width; name == "parts" && k >= 36 && k < 39 {
			x[i] = float32(r.IntN(5) - 1)
		}
	}
	return x
}

// slopesOf is the loss Σ c·out, whose gradient is c.
func slopesOf(n int) func(grad, out []float32) {
	return func(grad, _ []float32) {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		for i := range grad {
			grad[i] = float32(r.NormFloat64()) / float32(n)
		}
	}
}

// far returns the largest difference, relative to the largest value.
func far(got, want []float32) float64 {
	top, off := 1e-6, 0.0
	for i, w := range want {
		top = max(top, math.Abs(float64(w)))
		if d := math.Abs(float64(got[i] - w)); !(d <= off) {
			off = d
		}
	}
	return off / top
}

// One step of plain descent at rate 1 shows the gradients of all parameters.
func TestGradients(t *testing.T) {
	const n = 5
	for name, c := range cases(t) {
		t.Run(name, func(t *testing.T) {
			cpu, gpu := makeNet(t, c.root, c.in), makeNet(t, c.root, c.in)
			x := inputs(name, n, c.in.Size())
			before := slices.Clone(cpu.Values)
			at := nn.Step{Seed: 3, Member: 1, Epoch: 2, Step: 9}
			outs := make([][]float32, 2)
			for i, e := range []nn.Engine{nn.CPU{}, open(t)} {
				net := []*nn.Network{cpu, gpu}[i]
				tr, err := e.NewTrainer(net, nn.OptimizerOptions{Kind: "sgd", Rate: 1}, n+2)
				if err != nil {
					t.Fatal(err)
				}
				loss := slopesOf(n)
				err = tr.Step(x, at, func(grad, out []float32) {
					outs[i] = slices.Clone(out)
					loss(grad, out)
				})
				if err == nil {
					err = tr.Pull()
				}
				if err != nil {
					t.Fatal(err)
				}
				after, err := tr.Forward(x, nn.Pass{})
				if err != nil {
					t.Fatal(err)
				}
				outs[i] = append(outs[i], after...)
			}
			if d := far(outs[1], outs[0]); !(d < 2e-5) {
				t.Errorf("outputs differ by %g", d)
			}
			for k, p := range cpu.Params {
				at := p.Offset
				want, got := make([]float32, p.Size()), make([]float32, p.Size())
				for i := range want {
					want[i], got[i] = p.Value[i]-before[at+i], gpu.Params[k].Value[i]-before[at+i]
				}
				if d := far(got, want); !(d < 1e-4) {
					t.Errorf("gradients of %s differ by %g of the largest", p.Name, d)
				}
			}
			for k, s := range cpu.States {
				if d := far(gpu.States[k].Value, s.Value); !(d < 1e-5) {
					t.Errorf("state %s differs by %g", s.Name, d)
				}
			}
		})
	}
}
