package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"credence/internal/rng"
)

// Options configures [New].
type Options struct {
	Seed   uint64 // of the initial weights
	Member uint64 // which network of an ensemble
	Init   Init   // how weights start; zero means He
	Own    []Own  // tensors that are trained and saved with the layers'

	// Apart keeps layers apart that would be fused: slower, the same results.
	Apart bool
}

// Own is a tensor that belongs to no layer: that of a loss which learns, too.
type Own struct {
	Name  string
	Shape Shape
	Start float32
}

// Init is a rule for initial weights.
type Init string

const (
	// He draws from N(0, 2/fan in), made for ReLU (He et al. 2015).
	He Init = "he"
	// Glorot draws uniformly from ±√(6/(fan in + fan out)), made for
	// activations that are linear at zero (Glorot and Bengio 2010).
	Glorot Init = "glorot"
)

// Network is a built tree of layers with its parameters. It is not safe for
// use by several goroutines at once; it uses several cores by itself.
type Network struct {
	In, Out Shape

	// Params are the trained tensors, in the order of the layers; their slices
	// are parts of Values and Grads. Between them stand zeros, so that each
	// starts on a cache line.
	Params        []*Param
	Values, Grads []float32

	// Own are the last of Params: those of Options.Own, in its order.
	Own []*Param

	// States are saved with a network but not trained.
	States []*Param

	root  Layer
	held  int // values that the layers keep of an item
	bind  []func(batch int)
	work  *workspace
	batch int
	out   []float32
	in    []float32 // what Forward saw
	pass  Pass
}

// align is the number of float32 in a cache line.
const align = 16

// New builds a network for items of shape in. An error names the layer, what it
// expected and what it got.
func New(root Layer, in Shape, o Options) (*Network, error) {
	if o.Init == "" {
		o.Init = He
	}
	if o.Init != He && o.Init != Glorot {
		return nil, fmt.Errorf("init %q is not one of [he glorot]", o.Init)
	}
	b, out, err := infer(root, in, o.Apart)
	if err != nil {
		return nil, err
	}
	own := len(b.params)
	for _, t := range o.Own {
		if err := checkSize(t.Name, t.Shape, maxValues); err != nil {
			return nil, err
		}
		b.Const(t.Name, t.Shape, t.Start)
	}
	n := &Network{In: in, Out: out, Params: b.params, Own: b.params[own:], States: b.states, root: root, held: b.held, bind: b.bind, work: b.work}
	size := 0
	for _, p := range b.params {
		size += (p.Size() + align - 1) / align * align
	}
	n.Values, n.Grads = make([]float32, size), make([]float32, size)
	at := 0
	for i, p := range b.params {
		end := at + p.Size()
		p.Value, p.Grad = n.Values[at:end:end], n.Grads[at:end:end]
		at += (p.Size() + align - 1) / align * align
		p.start(o, uint64(i))
	}
	for _, p := range b.states {
		p.Value = make([]float32, p.Size())
		p.start(o, 0)
	}
	return n, nil
}

// infer finds and checks the shapes of a tree, and allocates nothing that
// depends on them.
func infer(root Layer, in Shape, apart bool) (*Builder, Shape, error) {
	if err := checkShape("input", in, maxInput); err != nil {
		return nil, nil, err
	}
	b := &Builder{apart: apart, built: map[Layer]bool{root: true}}
	out, err := root.Build(b, in)
	switch {
	case err != nil:
		return nil, nil, err
	case b.held > maxHeld:
		return nil, nil, fmt.Errorf("the layers keep more than %d values of an item of %v", maxHeld, in)
	}
	return b, out, nil
}

// start gives p its initial values: a pure function of seed, member and i.
func (p *Param) start(o Options, i uint64) {
	f := p.fill
	if !f.random {
		for j := range p.Value {
			p.Value[j] = f.value
		}
		return
	}
	r := rand.New(rng.New(o.Seed, "init", o.Member, i))
	switch o.Init {
	case He:
		sd := math.Sqrt(2 / float64(f.fanIn))
		for j := range p.Value {
			p.Value[j] = float32(sd * r.NormFloat64())
		}
	case Glorot:
		bound := math.Sqrt(6 / float64(f.fanIn+f.fanOut))
		for j := range p.Value {
			p.Value[j] = float32(bound * (2*r.Float64() - 1))
		}
	}
}

// Bind allocates buffers for batches of up to the given number of items.
func (n *Network) Bind(batch int) {
	if batch == n.batch {
		return
	}
	n.batch = batch
	n.out = make([]float32, batch*n.Out.Size())
	for _, f := range n.bind {
		f(batch)
	}
}

// Batch returns the largest batch the network is bound to.
func (n *Network) Batch() int { return n.batch }

// Size returns the number of trained parameters.
func (n *Network) Size() int {
	size := 0
	for _, p := range n.Params {
		size += p.Size()
	}
	return size
}

// ItemSize returns about how many values are kept in memory for each item of a
// batch: its input, and what the layers make of it.
func (n *Network) ItemSize() int { return n.In.Size() + n.held + n.Out.Size() }

// Forward returns the outputs [N, Out] for the inputs x [N, In]. The result is
// overwritten by the next call; x must stay as it is until Backward returns.
func (n *Network) Forward(x []float32, train bool, at Step) []float32 {
	return n.forward(x, Pass{Train: train, At: at})
}

// Sample is Forward for prediction with dropout on, as Monte Carlo dropout needs
// it: everything else, such as batch norm, works as after training. What is
// dropped is a pure function of at and of the keys [N] of the items, so that an
// item's outputs do not depend on the others.
func (n *Network) Sample(x []float32, keys []uint64, at Step) []float32 {
	if len(keys) != len(x)/n.In.Size() {
		panic(fmt.Sprintf("nn: %d keys for %d inputs of %v", len(keys), len(x), n.In))
	}
	return n.forward(x, Pass{At: at, Sample: keys})
}

func (n *Network) forward(x []float32, pass Pass) []float32 {
	in := n.In.Size()
	items := len(x) / in
	if items*in != len(x) {
		panic(fmt.Sprintf("nn: %d inputs are not a multiple of %v", len(x), n.In))
	}
	if items > n.batch {
		n.Bind(items)
	}
	pass.Items = items
	n.pass = pass
	n.in = x
	n.work.grow()
	y := n.out[:items*n.Out.Size()]
	n.root.Forward(&n.pass, y, x)
	return y
}

// Backward sets Grads to the gradient of a loss whose gradient with respect to
// the last outputs is dy [N, Out], and, unless dx is nil, fills dx [N, In] with
// that with respect to the inputs. It may overwrite dy.
func (n *Network) Backward(dx, dy []float32) {
	y := n.out[:n.pass.Items*n.Out.Size()]
	if len(dy) != len(y) || dx != nil && len(dx) != len(n.in) {
		panic(fmt.Sprintf("nn: Backward with %d, %d gradients after Forward with %d inputs, %d outputs", len(dx), len(dy), len(n.in), len(y)))
	}
	n.work.grow()
	n.root.Backward(&n.pass, dx, dy, y, n.in)
}
