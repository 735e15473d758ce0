package nn

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"credence/internal/par"
	"credence/internal/rng"
)

// chainCases are networks with chains: of convolutions, of dense layers, of both, within branches, and between layers
// that are not itemwise.
func chainCases() []layerCase {
	conv := func(out, k, pad int) *Conv { return &Conv{Out: out, Kernel: Ints{k}, Pad: Ints{pad}} }
	pool := func() *MaxPool { return &MaxPool{Size: Ints{2}} }
	return []layerCase{
		{"lenet", Shape{1, 20, 20}, func() Layer {
			return Seq(conv(6, 5, 2), &ReLU{}, pool(), conv(16, 5, 0), &ReLU{}, pool(), &Flatten{},
				&Dense{Out: 40}, &ReLU{}, &Dense{Out: 21}, &ReLU{}, &Dense{Out: 9})
		}},
		{"dense", Shape{50}, func() Layer {
			return Seq(&Dense{Out: 128}, &ReLU{}, &Dense{Out: 128}, &ReLU{}, &Dense{Out: 9, NoBias: true})
		}},
		{"thin", Shape{3}, func() Layer {
			return Seq(&Dense{Out: 256}, &ReLU{}, &Dense{Out: 256}, &ReLU{}, &Dense{Out: 5})
		}},
		{"apart", Shape{2, 12, 12}, func() Layer {
			return Seq(conv(8, 3, 1), conv(8, 3, 1), &BatchNorm{}, conv(8, 3, 1), conv(4, 3, 1), &ReLU{}, pool(), &GELU{},
				&Flatten{}, &Dense{Out: 30}, &Dense{Out: 5})
		}},
		{"branches", Shape{4, 12, 12}, func() Layer {
			return Seq(&Residual{Body: Seq(conv(4, 3, 1), conv(4, 3, 1))}, &Flatten{}, &Dense{Out: 7})
		}},
	}
}

// TestChain: chains give the bits of layers that run one after the other, on any number of cores, and batches that
// change their size.
func TestChain(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	eachKernel(t, func(t *testing.T) {
		for _, c := range chainCases() {
			for _, items := range []int{1, 5, 19, 64} {
				t.Run(fmt.Sprintf("%s/%d", c.name, items), func(t *testing.T) {
					run := func(o Options, cores int) [3][]float32 {
						runtime.GOMAXPROCS(cores)
						net := build(t, c, o)
						r := rand.New(rng.New(2, "test"))
						x, dx := make([]float32, items*c.in.Size()), make([]float32, items*c.in.Size())
						for i := range x {
							x[i] = float32(r.NormFloat64())
						}
						half := (items + 1) / 2 * c.in.Size()
						net.Forward(x[:half], true, Step{}) // buffers of another size
						y := append([]float32(nil), net.Forward(x, true, Step{})...)
						dy := make([]float32, len(y))
						for i := range dy {
							dy[i] = float32(r.NormFloat64())
						}
						net.Backward(dx, dy)
						return [3][]float32{y, append([]float32(nil), net.Grads...), dx}
					}
					want := run(Options{Seed: 1, Unfused: true}, 1)
					for _, cores := range []int{1, 2, 7} {
						got := run(Options{Seed: 1}, cores)
						for i, what := range []string{"outputs", "gradients", "input gradient"} {
							sameZero(t, fmt.Sprintf("%d cores: %s", cores, what), got[i], want[i])
						}
					}
				})
			}
		}
	})
}

// TestChainLoops: cores meet twice in the forward pass of a chain, to lay weights out and to compute, and twice in its backward pass.
func TestChainLoops(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, c := range chainCases()[:2] {
		net := build(t, c, Options{Seed: 1})
		const items = 128
		x := make([]float32, items*c.in.Size())
		loops := func(f func()) int {
			before := par.Loops()
			f()
			return int(par.Loops() - before)
		}
		var y []float32
		if n := loops(func() { y = net.Forward(x, true, Step{}) }); n != 2 {
			t.Errorf("%s: %d loops forward, want 2", c.name, n)
		}
		if n := loops(func() { net.Backward(nil, y) }); n != 2 {
			t.Errorf("%s: %d loops backward, want 2", c.name, n)
		}
	}
}
