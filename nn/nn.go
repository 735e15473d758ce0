// Package nn implements neural networks: layers with forward and backward passes,
// containers, initialization, optimizers, schedules, and networks by name or from
// a file.
//
// A network is a tree of [Layer] values. [New] infers and checks the shapes and
// lays all parameters out in one slice; a [Session] has the buffers of one caller
// and allocates nothing after the first step. Activations are float32, items
// first, then channels, then space: [N, C, D, H, W].
//
// Results are bit-identical on any number of cores: each layer splits its work
// into pieces that depend on shapes alone. A custom layer is a type with the three
// methods of [Layer], and one more to be saved, see [Typed].
//
// Training and prediction run networks through an [Engine]; [CPU] is the engine of
// this package.
//
//	net, err := nn.New(nn.Seq(
//		&nn.Conv{Out: 6, Kernel: nn.Ints{5}, Pad: nn.Ints{2}}, &nn.ReLU{}, &nn.MaxPool{Size: nn.Ints{2}},
//		&nn.Flatten{}, &nn.Dense{Out: 10},
//	), nn.Shape{1, 28, 28}, nn.Options{Seed: 1})
package nn

import (
	"cmp"
	"fmt"
	"strings"

	"credence/internal/par"
	"credence/internal/words"
)

// Layer is one step of a network. A value that is passed to [New], or lies in a
// container, is only a description: it is copied, field by field, for each place and
// for each [Session], and the methods are called on the copies, Build first. So one
// type has both the settings of a layer and its working memory in one session.
type Layer interface {
	// Build checks the shape of one item's input and returns that of its
	// output. It requests parameters, state and buffers from b.
	Build(b *Builder, in Shape) (out Shape, err error)

	// Forward computes y [N, out] from x [N, in], N = p.Items.
	Forward(p *Pass, y, x []float32)

	// Backward sets the gradients of the layer's parameters and, unless dx is
	// nil, fills dx, the gradient with respect to x, from dy, the one with
	// respect to y. x and y are those of the last Forward. It may use dy as
	// scratch.
	Backward(p *Pass, dx, dy, y, x []float32)
}

// Pass describes the current batch to the layers.
type Pass struct {
	Items int  // N
	Train bool // whether dropout drops and batch norm uses the batch's statistics
	At    Step // where in the run, for randomness

	// Sample [N] are keys of items for which dropout is active outside of training;
	// nil if it is not. Which values are dropped depends on the key instead of the
	// item's place in the batch.
	Sample []uint64

	// Cores is the largest number of cores to use; 0 means all. Results do not
	// depend on it.
	Cores int

	workers int // of a session's pass: Cores, resolved once
}

// Workers returns the largest number of goroutines that For and ForWorker use.
func (p *Pass) Workers() int {
	if p.workers > 0 {
		return p.workers
	}
	return par.Limit(p.Cores).Workers()
}

func (p *Pass) limit() par.Limit { return par.Limit(cmp.Or(p.workers, p.Cores)) }

// For calls body(i) once for each i in 0 … n−1, in any order and on several cores.
// Results must depend on shapes alone, not on n, and body(i) must write only memory
// that no other call reads or writes.
func (p *Pass) For(n int, body func(i int)) { p.limit().For(n, body) }

// ForWorker is For for bodies that need working memory of their own: worker is
// less than Workers, and calls that run at the same time have different ones.
func (p *Pass) ForWorker(n int, body func(worker, i int)) { p.limit().ForWorker(n, body) }

// Step is a position in a training run. Randomness is a pure function of it, so
// that a run can be resumed without the state of a generator.
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
func (s Shape) String() string { return words.Shape(s) }

// typeName returns the name of a layer in errors: dense, conv, myLayer …
func typeName(l Layer) string {
	name := fmt.Sprintf("%T", l)
	name = name[strings.LastIndexByte(name, '.')+1:]
	return strings.ToLower(name[:1]) + name[1:]
}

// Ints is a list of spatial sizes: one number for all dimensions, or one for
// each. In a file a single number may be written without brackets.
type Ints []int

// largest is the largest kernel, stride, padding or window.
const largest = 1 << 16

// each returns three values, for D, H and W: the list's, right-aligned, or its
// single value for each of dims dimensions; missing leading dimensions get 1
// (or 0 for padding), and an empty list means def.
func (v Ints) each(what string, dims, def, missing, least int) (out [3]int, err error) {
	if len(v) > 1 && len(v) != dims {
		return out, fmt.Errorf("%s %v has %d numbers: expected 1 or %d", what, []int(v), len(v), dims)
	}
	for i := range out {
		j := i - (3 - dims)
		switch {
		case j < 0:
			out[i] = missing
			continue
		case len(v) == 0:
			out[i] = def
		case len(v) == 1:
			out[i] = v[0]
		default:
			out[i] = v[j]
		}
		if out[i] < least || out[i] > largest {
			return out, fmt.Errorf("%s %v: expected between %d and %d", what, []int(v), least, largest)
		}
	}
	return out, nil
}

// space splits a shape into channels and D, H, W, with 1 for missing ones. want is
// the expected number of spatial sizes, 0 for any.
func space(in Shape, want int) (channels, dims int, size [3]int, err error) {
	dims = len(in) - 1
	switch {
	case dims < 1 || dims > 3:
		return 0, 0, size, fmt.Errorf("expected channels and 1 to 3 spatial sizes, found %v", in)
	case want != 0 && want != dims:
		return 0, 0, size, fmt.Errorf("expected channels and %d spatial sizes, found %v", want, in)
	}
	size = [3]int{1, 1, 1}
	copy(size[3-dims:], in[1:])
	return in[0], dims, size, nil
}

// unspace is the inverse of space.
func unspace(channels, dims int, size [3]int) Shape {
	return append(Shape{channels}, size[3-dims:]...)
}
