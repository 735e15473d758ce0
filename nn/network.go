package nn

import (
	"cmp"
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

// Own is a tensor that belongs to no layer: that of a loss which learns, too. A State is saved with
// the network, but no optimizer moves it: the loss itself sets its values.
type Own struct {
	Name  string
	Shape Shape
	Start float32
	State bool
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

// Network is a tree of layers with its weights. Any number of goroutines may use
// it at once, each with a [Session] of its own, as long as none of them trains it.
type Network struct {
	In, Out Shape

	// Params are the trained tensors, in the order of the layers; their slices
	// are parts of Values and, once the network is being trained, of Grads.
	// Between them stand zeros, so that each starts on a cache line.
	Params        []*Param
	Values, Grads []float32

	// Own are those of Options.Own, in its order: the last of Params and of States.
	Own []*Param

	// States are saved with a network but not trained.
	States []*Param

	root  Layer
	apart bool
	held  int // values that the layers keep of an item
}

// align is the number of float32 in a cache line.
const align = 16

// New makes a network of root for items of shape in. An error names the layer,
// what it expected and what it got. The tree stays as it is, a description: the
// layers of a session are copies.
func New(root Layer, in Shape, o Options) (*Network, error) {
	o.Init = cmp.Or(o.Init, He)
	if o.Init != He && o.Init != Glorot {
		return nil, fmt.Errorf("init %q is not one of [he glorot]", o.Init)
	}
	root = Complete(root, 0)
	b, out, err := infer(root, in, o.Apart)
	if err != nil {
		return nil, err
	}
	var own []*Param
	for _, t := range o.Own {
		if err := checkShape(t.Name, t.Shape, maxValues); err != nil {
			return nil, err
		}
		if t.State {
			own = append(own, b.State(t.Name, t.Shape, t.Start))
		} else {
			own = append(own, b.Const(t.Name, t.Shape, t.Start))
		}
	}
	n := &Network{
		In: in, Out: out, Params: b.params, Own: own, States: b.states,
		root: root, apart: o.Apart, held: b.held,
	}
	size := 0
	for _, p := range b.params {
		p.Offset = size
		size += pieces(p.Size(), align) * align
	}
	n.Values = make([]float32, size)
	for i, p := range b.params {
		p.Value = p.of(n.Values)
		p.start(o, uint64(i))
	}
	for _, p := range b.states {
		p.Value = make([]float32, p.Size())
		p.start(o, 0)
	}
	return n, nil
}

// of returns the parameter's part of a vector of all.
func (p *Param) of(all []float32) []float32 {
	end := p.Offset + p.Size()
	return all[p.Offset:end:end]
}

// MakeGrads makes room for gradients, also those of Own, which a trainer's loss sets.
func (n *Network) MakeGrads() {
	if n.Grads != nil {
		return
	}
	n.Grads = make([]float32, len(n.Values))
	for _, p := range n.Params {
		p.Grad = p.of(n.Grads)
	}
}

// infer finds and checks the shapes of a tree, and allocates nothing that
// depends on them.
func infer(root Layer, in Shape, apart bool) (*Builder, Shape, error) {
	if err := checkShape("input", in, maxInput); err != nil {
		return nil, nil, err
	}
	b := &Builder{apart: apart}
	out, err := instance(root).Build(b, in)
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

// Size returns the number of trained parameters.
func (n *Network) Size() int {
	size := 0
	for _, p := range n.Params {
		size += p.Size()
	}
	return size
}

// Layers returns the tree that the network was made of, a description to read.
func (n *Network) Layers() Layer { return n.root }

// ItemSize returns about how many values are kept in memory for each item of a
// batch: its input, and what the layers make of it.
func (n *Network) ItemSize() int { return n.In.Size() + n.held + n.Out.Size() }
