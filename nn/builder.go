package nn

import (
	"fmt"
	"slices"
)

// Param is one tensor of a network: a slice of the network's flat parameters,
// or a state such as running statistics, which has no gradient.
type Param struct {
	Name  string // path of layer indices, then a word: "3.weight"
	Shape Shape
	Value []float32
	Grad  []float32 // nil for a state

	fill fill
}

// Size returns the number of values.
func (p *Param) Size() int { return p.Shape.Size() }

// fill says how a parameter starts: at a constant, or drawn with the given fans.
type fill struct {
	random        bool
	fanIn, fanOut int
	value         float32
}

// Builder is what a layer's Build asks for parameters, state and buffers.
type Builder struct {
	path   string
	apart  bool
	params []*Param
	states []*Param
	bind   []func(batch int)
	built  map[Layer]bool
	layers uint64
	work   *workspace
	held   int // see hold
}

// Bounds on what a network may ask for, so that a slip in a file is an error and
// not the end of the machine's memory.
const (
	maxValues = 1 << 30 // values of a parameter, or of what a layer gives for an item
	maxInput  = 1 << 27 // values of an item
	maxHeld   = 1 << 28 // values that all layers together keep of an item
)

// checkSize refuses shapes of more values than a limit.
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

// checkShape refuses shapes without values, or of more than a limit.
func checkShape(what string, s Shape, limit int) error {
	if len(s) == 0 || slices.Min(s) < 1 {
		return fmt.Errorf("%s shape %v is empty", what, s)
	}
	return checkSize(what, s, limit)
}

// hold counts values that a layer will keep for each item or for each core that
// works on it; see maxHeld.
func (b *Builder) hold(n int) { b.held = min(b.held+n, maxHeld+1) }

// Weight declares a parameter that starts random. fanIn and fanOut are how
// many inputs reach an output and how many outputs an input reaches. Its slices
// are there once [New] returns.
func (b *Builder) Weight(name string, shape Shape, fanIn, fanOut int) *Param {
	return b.param(name, shape, fill{random: true, fanIn: fanIn, fanOut: fanOut})
}

// Const declares a parameter that starts at a constant, such as a bias.
func (b *Builder) Const(name string, shape Shape, value float32) *Param {
	return b.param(name, shape, fill{value: value})
}

func (b *Builder) param(name string, shape Shape, f fill) *Param {
	p := &Param{Name: b.path + name, Shape: shape, fill: f}
	b.params = append(b.params, p)
	return p
}

// State declares a tensor that is saved with the network but not trained. Its
// values are there once [New] returns.
func (b *Builder) State(name string, shape Shape, value float32) *Param {
	p := &Param{Name: b.path + name, Shape: shape, fill: fill{value: value}}
	b.states = append(b.states, p)
	return p
}

// OnBind registers a function that allocates buffers for a largest batch.
func (b *Builder) OnBind(f func(batch int)) { b.bind = append(b.bind, f) }

// Number returns a number that no other caller gets: the place of a layer in
// the network, for its randomness.
func (b *Builder) Number() uint64 {
	b.layers++
	return b.layers
}

// Child builds a layer inside a container; name is its place there, and
// becomes part of the names of its parameters.
func (b *Builder) Child(name string, l Layer, in Shape) (Shape, error) {
	if l == nil {
		return nil, fmt.Errorf("layer %s is nil", name)
	}
	if b.built[l] {
		return nil, fmt.Errorf("layer %s (%s) is used twice: make one value for each place", name, typeName(l))
	}
	b.built[l] = true
	path := b.path
	b.path += name + "."
	out, err := l.Build(b, in)
	b.path = path
	if err != nil {
		return nil, fmt.Errorf("layer %s (%s): %w", name, typeName(l), err)
	}
	for _, x := range out {
		if x < 1 {
			return nil, fmt.Errorf("layer %s (%s): input %v leaves an empty output %v", name, typeName(l), in, out)
		}
	}
	if err := checkSize("output", out, maxValues); err != nil {
		return nil, fmt.Errorf("layer %s (%s): %w", name, typeName(l), err)
	}
	return out, nil
}
