package nn

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"

	"credence/internal/kernel"
	"credence/internal/rng"
)

// Options configures [New].
type Options struct {
	Seed   uint64      // of the initial weights
	Member uint64      // which network of an ensemble
	Init   Init        // how weights start; zero means He
	Own    []HeadParam // tensors that are trained and saved with the layers'

	// Blank leaves weights at 0 instead of drawing them, for a network whose weights are read from a file.
	Blank bool
	// Unfused disables the fusion of layers: slower, with the same results.
	Unfused bool
}

// HeadParam is a tensor that belongs to no layer but to a loss with parameters of its own. A State is saved
// with the network, but no optimizer changes it: the loss itself sets its values.
type HeadParam struct {
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
// it at once, each with its own [Session], as long as none of them trains it.
type Network struct {
	In, Out Shape

	// Params are the trained tensors, in the order of the layers; their slices
	// are slices of Values and, once the network is being trained, of Grads.
	// Between them are zeros, so that each starts on a cache line.
	Params        []*Param
	Values, Grads []float32

	// Own are those of Options.Own, in its order: the last of Params and of States.
	Own []*Param

	// States are saved with a network but not trained.
	States []*Param

	root    Layer
	unfused bool
	held    int // values that the layers keep per item
}

// align is the number of float32 in a cache line.
const align = 16

// New returns a network of root for items of shape in. An error names the layer,
// what it expected and what it found. The tree is only a description and is not
// changed: the layers of a session are copies.
func New(root Layer, in Shape, o Options) (*Network, error) {
	o.Init = cmp.Or(o.Init, He)
	if o.Init != He && o.Init != Glorot {
		return nil, fmt.Errorf("init %q is not one of [he glorot]", o.Init)
	}
	root = Complete(root, 0)
	b, out, err := infer(root, in, o.Unfused)
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
		root: root, unfused: o.Unfused, held: b.held,
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

// of returns the parameter's slice of a vector of all parameters.
func (p *Param) of(all []float32) []float32 {
	end := p.Offset + p.Size()
	return all[p.Offset:end:end]
}

// MakeGrads allocates gradients, including those of Own, which a trainer's loss sets.
func (n *Network) MakeGrads() {
	if n.Grads != nil {
		return
	}
	n.Grads = make([]float32, len(n.Values))
	for _, p := range n.Params {
		p.Grad = p.of(n.Grads)
	}
}

// Tensors returns the parameters and states that a network of root would have
// for items of shape in, with names and shapes but without values: no memory of a
// size that the layers determine is allocated, so that a reader can first compare
// them with the contents of a file.
func Tensors(root Layer, in Shape) (params, states []*Param, err error) {
	b, _, err := infer(Complete(root, 0), in, false)
	if err != nil {
		return nil, nil, err
	}
	return b.params, b.states, nil
}

// infer finds and checks the shapes of a tree, and allocates nothing that
// depends on them.
func infer(root Layer, in Shape, unfused bool) (*Builder, Shape, error) {
	if err := checkShape("input", in, maxInput); err != nil {
		return nil, nil, err
	}
	b := &Builder{unfused: unfused}
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
		kernel.Fill(p.Value, f.value)
		return
	}
	if o.Blank {
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

// Layers returns the tree that the network was built from, which must not be changed.
func (n *Network) Layers() Layer { return n.root }

// ItemSize returns the approximate number of values kept in memory per item of a
// batch: its input, and the outputs of the layers.
func (n *Network) ItemSize() int { return n.In.Size() + n.held + n.Out.Size() }

// Param is one tensor of a network: a slice of the network's flat parameters,
// or a state such as running statistics, which has no gradient.
type Param struct {
	Name  string // path of layer indices, then a word: "3.weight"
	Shape Shape
	Value []float32
	Grad  []float32 // nil for a state

	Offset int // where in Network.Values it begins; 0 for a state

	fill fill
}

// Size returns the number of values.
func (p *Param) Size() int { return p.Shape.Size() }

// fill specifies the initial values of a parameter: a constant, or drawn with the given fans.
type fill struct {
	random        bool
	fanIn, fanOut int
	value         float32
}

// Builder provides parameters, state and buffers to a layer's Build. The same tree
// is built when a network is created, which determines its tensors, and again for
// each session, which uses these tensors.
type Builder struct {
	net     *Network // the network of the new session; nil while the network itself is built
	path    string
	unfused bool
	params  []*Param
	states  []*Param
	layers  uint64
	work    *workspace
	held    int // see hold
	err     error

	forward, backward []func(batch int) // allocate buffers
}

// Bounds on the size of a network, so that a typo in a file is an error and does
// not exhaust the machine's memory.
const (
	maxValues = 1 << 30 // values of a parameter, or of a layer's output per item
	maxInput  = 1 << 27 // values of an item
	maxHeld   = 1 << 28 // values that all layers together keep per item
)

// checkSize returns an error for shapes with more values than a limit.
func checkSize(what string, s Shape, limit int) error {
	n := 1
	for _, x := range s {
		if x > limit || n > limit/max(x, 1) {
			return fmt.Errorf("%s %v has more than %d values", what, s, limit)
		}
		n *= x
	}
	return nil
}

// checkShape returns an error for shapes without values, or with more than a limit.
func checkShape(what string, s Shape, limit int) error {
	if len(s) == 0 || slices.Min(s) < 1 {
		return fmt.Errorf("%s shape %v is empty", what, s)
	}
	return checkSize(what, s, limit)
}

// hold counts values that a layer will keep for each item or for each core that
// works on it; see maxHeld.
func (b *Builder) hold(n int) { b.held = min(b.held+n, maxHeld+1) }

// Weight declares a parameter with random initial values. fanIn is the number of
// inputs of an output and fanOut the number of outputs of an input. Its slices are
// valid once [New] returns.
func (b *Builder) Weight(name string, shape Shape, fanIn, fanOut int) *Param {
	return b.declare(&b.params, name, shape, fill{random: true, fanIn: fanIn, fanOut: fanOut})
}

// Const declares a parameter with a constant initial value, such as a bias.
func (b *Builder) Const(name string, shape Shape, value float32) *Param {
	return b.declare(&b.params, name, shape, fill{value: value})
}

// State declares a tensor that is saved with the network but not trained. Its
// values are valid once [New] returns.
func (b *Builder) State(name string, shape Shape, value float32) *Param {
	return b.declare(&b.states, name, shape, fill{value: value})
}

// declare adds a tensor to b.params or b.states. For a session it is the network's, which
// must be the one that was declared at this place when the network was made.
func (b *Builder) declare(list *[]*Param, name string, shape Shape, f fill) *Param {
	p := &Param{Name: b.path + name, Shape: shape, fill: f}
	if b.net != nil {
		made := b.net.Params
		if list == &b.states {
			made = b.net.States
		}
		if i := len(*list); i < len(made) && made[i].Name == p.Name && slices.Equal(made[i].Shape, shape) {
			p = made[i]
		} else {
			b.err = cmp.Or(b.err, fmt.Errorf("tensor %s of shape %v is not one that the network was made with", p.Name, shape))
		}
	}
	*list = append(*list, p)
	return p
}

// OnForward registers a function that allocates the buffers of Forward for batches
// of up to batch items. It is called before the first Forward, and again when a
// larger batch arrives.
func (b *Builder) OnForward(f func(batch int)) { b.forward = append(b.forward, f) }

// buffer registers, with OnForward or OnBackward, the allocation of a buffer of n values
// per item.
func buffer[T any](on func(f func(batch int)), to *[]T, n int) {
	on(func(batch int) { *to = make([]T, batch*n) })
}

// OnBackward does the same for Backward, which is never called in a session that
// only predicts.
func (b *Builder) OnBackward(f func(batch int)) { b.backward = append(b.backward, f) }

// Number returns a number that is unique in the network: the place of a layer,
// which seeds its randomness.
func (b *Builder) Number() uint64 {
	b.layers++
	return b.layers
}

// Child builds a copy of a layer inside a container and returns it; name is its
// place there, and becomes part of the names of its parameters.
func (b *Builder) Child(name string, l Layer, in Shape) (built Layer, out Shape, err error) {
	if l == nil {
		return nil, nil, fmt.Errorf("layer %s is nil", name)
	}
	path := b.path
	b.path += name + "."
	built = instance(l)
	out, err = built.Build(b, in)
	b.path = path
	switch {
	case err != nil:
	case len(out) > 0 && slices.Min(out) < 1:
		err = fmt.Errorf("input %v leaves an empty output %v", in, out)
	default:
		err = checkSize("output", out, maxValues)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("layer %s (%s): %w", name, typeName(l), err)
	}
	return built, out, nil
}

// instance returns a copy of a layer, for one session.
func instance(l Layer) Layer {
	v := reflect.ValueOf(l)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return l
	}
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c.Interface().(Layer)
}
