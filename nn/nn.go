// Package nn is a network engine for the CPU: layers with forward and backward
// side by side, containers, initialisation, optimisers, schedules, and networks
// by name or from a file.
//
// A network is a tree of [Layer] values. [New] infers and checks the shapes and
// lays all parameters out in one slice; [Network.Bind] allocates the buffers
// for a largest batch, after which a step allocates nothing. Activations are
// float32, items first, then channels, then space: [N, C, D, H, W].
//
// Results are the same bits on any number of cores: each layer splits its work
// into pieces that depend on shapes alone. A layer of one's own is one type
// with the three methods of [Layer].
//
//	net, err := nn.New(nn.Seq(
//		&nn.Conv{Out: 6, Kernel: nn.Ints{5}, Pad: nn.Ints{2}}, &nn.ReLU{}, &nn.MaxPool{Size: nn.Ints{2}},
//		&nn.Flatten{}, &nn.Dense{Out: 10},
//	), nn.Shape{1, 28, 28}, nn.Options{Seed: 1})
package nn

import (
	"fmt"
	"strconv"
	"strings"
)

// Layer is one step of a network. Build is called once, before anything else;
// one value is one place in one network.
type Layer interface {
	// Build checks the shape of one item's input and returns that of its
	// output. Parameters, state and buffers are asked for from b.
	Build(b *Builder, in Shape) (out Shape, err error)

	// Forward computes y [N, out] from x [N, in], N = p.Items.
	Forward(p *Pass, y, x []float32)

	// Backward sets the gradients of the layer's parameters and, unless dx is
	// nil, fills dx, the gradient with respect to x, from dy, the one with
	// respect to y. x and y are those of the last Forward. It may use dy as
	// scratch.
	Backward(p *Pass, dx, dy, y, x []float32)
}

// Pass is what a layer needs to know about the batch in hand.
type Pass struct {
	Items int  // N
	Train bool // whether dropout drops and batch norm uses the batch's statistics
	At    Step // where in the run, for randomness

	// Sample [N] are keys of items for which dropout drops though nothing is
	// trained; nil if it does not. What is dropped depends on the key instead of
	// the item's place in the batch.
	Sample []uint64
}

// Step is a place in a training run. Randomness is a pure function of it, so
// that a run can be resumed without any generator's state.
type Step struct {
	Seed   uint64 // of the run
	Member uint64 // which network of an ensemble
	Epoch  uint64 // from 0
	Step   uint64 // batches trained on so far, over all epochs
}

// Shape is the shape of one item: channels, then up to three spatial sizes, or
// a single length.
type Shape []int

// Size returns the number of values of an item.
func (s Shape) Size() int {
	n := 1
	for _, x := range s {
		n *= x
	}
	return n
}

// String writes a shape as 6×14×14.
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, x := range s {
		parts[i] = strconv.Itoa(x)
	}
	return strings.Join(parts, "×")
}

// typeName is how errors call a layer: dense, conv, myLayer …
func typeName(l Layer) string {
	name := fmt.Sprintf("%T", l)
	name = name[strings.LastIndexByte(name, '.')+1:]
	return strings.ToLower(name[:1]) + name[1:]
}
