package nn

import (
	"fmt"

	"credence/internal/kernel"
	"credence/internal/rng"
)

// grain is the number of values of an elementwise piece: enough work to make handing
// it to another core worthwhile.
const grain = 1 << 14

// activation is an elementwise function as a layer.
//
//	y, x, dy, dx  [N, in]
type activation struct {
	fwd, bwd     func(i int)
	y, x, dx, dy []float32
}

// elementwise is a layer that applies one function to each value.
type elementwise interface {
	Layer
	function() kernel.Activation
}

func (a *activation) build(kind kernel.Activation, in Shape) (Shape, error) {
	a.fwd = func(i int) {
		lo, hi := i*grain, min((i+1)*grain, len(a.x))
		kind.Forward(a.y[lo:hi], a.x[lo:hi])
	}
	a.bwd = func(i int) {
		lo, hi := i*grain, min((i+1)*grain, len(a.x))
		ref := a.y
		if kind.NeedsInput() {
			ref = a.x
		}
		kind.Backward(a.dx[lo:hi], a.dy[lo:hi], ref[lo:hi])
	}
	return in, nil
}

// Forward implements [Layer].
func (a *activation) Forward(p *Pass, y, x []float32) {
	a.y, a.x = y, x
	p.For(pieces(len(x), grain), a.fwd)
}

// Backward implements [Layer].
func (a *activation) Backward(p *Pass, dx, dy, y, x []float32) {
	if dx == nil {
		return
	}
	a.y, a.x, a.dx, a.dy = y, x, dx, dy
	p.For(pieces(len(x), grain), a.bwd)
}

// pieces is n divided by the size of a piece, rounded up.
func pieces(n, size int) int { return (n + size - 1) / size }

// ReLU is max(x, 0), element by element. Its derivative at 0 is 0.
type ReLU struct{ activation }

// Build implements [Layer].
func (l *ReLU) Build(_ *Builder, in Shape) (Shape, error) { return l.build(kernel.ReLU, in) }
func (l *ReLU) function() kernel.Activation               { return kernel.ReLU }

// Tanh is the hyperbolic tangent, element by element.
type Tanh struct{ activation }

// Build implements [Layer].
func (l *Tanh) Build(_ *Builder, in Shape) (Shape, error) { return l.build(kernel.Tanh, in) }
func (l *Tanh) function() kernel.Activation               { return kernel.Tanh }

// Sigmoid is 1/(1 + e⁻ˣ), element by element.
type Sigmoid struct{ activation }

// Build implements [Layer].
func (l *Sigmoid) Build(_ *Builder, in Shape) (Shape, error) { return l.build(kernel.Sigmoid, in) }
func (l *Sigmoid) function() kernel.Activation               { return kernel.Sigmoid }

// GELU is x·Φ(x), Φ the standard normal distribution function, element by
// element (Hendrycks and Gimpel 2016, the exact form).
type GELU struct{ activation }

// Build implements [Layer].
func (l *GELU) Build(_ *Builder, in Shape) (Shape, error) { return l.build(kernel.GELU, in) }
func (l *GELU) function() kernel.Activation               { return kernel.GELU }

// Dropout sets each value to zero with probability Rate while training, and
// divides the others by 1−Rate; otherwise it changes nothing. Which values are
// dropped is a pure function of (seed, member, step, layer, item in the batch). With
// [Pass].Sample it is also active in prediction.
type Dropout struct {
	Rate float64 // in [0, 1)

	size   int
	number uint64
	keep   []float32 // [N, size]: 0 or 1/(1−Rate)
	limit  uint32
	at     Step
	keys   []uint64 // of items, instead of their places
	items  int

	fwd, bwd     func(i int)
	y, x, dx, dy []float32
}

// dropItems is the number of items in a piece of work.
const dropItems = 16

// Build implements [Layer].
func (l *Dropout) Build(b *Builder, in Shape) (Shape, error) {
	if !(l.Rate >= 0 && l.Rate < 1) {
		return nil, fmt.Errorf("rate %v: expected at least 0 and less than 1", l.Rate)
	}
	l.size, l.number = in.Size(), b.Number()
	l.limit = uint32(l.Rate * (1 << 32))
	b.hold(l.size)
	l.fwd, l.bwd = l.forward, l.backward
	return in, nil
}

// idle reports whether nothing is dropped in a pass.
func (l *Dropout) idle(p *Pass) bool { return !p.Train && p.Sample == nil || l.Rate == 0 }

// Forward implements [Layer].
func (l *Dropout) Forward(p *Pass, y, x []float32) {
	if l.idle(p) {
		copy(y, x)
		return
	}
	if len(l.keep) < len(x) { // not in Build: a session that only predicts needs none
		l.keep = make([]float32, len(x))
	}
	l.at, l.keys, l.items, l.y, l.x = p.At, p.Sample, p.Items, y, x
	p.For(pieces(p.Items, dropItems), l.fwd)
}

// forward drops values of piece i of the items.
func (l *Dropout) forward(i int) {
	lo, hi := i*dropItems, min((i+1)*dropItems, l.items)
	var s rng.Stream
	purpose := "dropout"
	if l.keys != nil {
		purpose = "dropout.sample"
	}
	place := rng.At(l.at.Seed, purpose, l.at.Member, l.at.Epoch, l.at.Step, l.number) // items have their own key below
	for j := lo; j < hi; j++ {
		if l.keys == nil {
			place.Stream(&s, uint64(j))
		} else {
			place.Stream(&s, l.keys[j])
		}
		at := j * l.size
		kernel.Mask(l.keep[at:at+l.size], &s, l.limit, float32(1/(1-l.Rate)))
		kernel.Mul(l.y[at:at+l.size], l.keep[at:at+l.size], l.x[at:at+l.size])
	}
}

// backward is that of piece i of the items.
func (l *Dropout) backward(i int) {
	lo, hi := i*dropItems*l.size, min((i+1)*dropItems, l.items)*l.size
	kernel.Mul(l.dx[lo:hi], l.keep[lo:hi], l.dy[lo:hi])
}

// Backward implements [Layer].
func (l *Dropout) Backward(p *Pass, dx, dy, _, _ []float32) {
	switch {
	case dx == nil:
	case !p.Train || l.Rate == 0:
		copy(dx, dy)
	default:
		l.dx, l.dy, l.items = dx, dy, p.Items
		p.For(pieces(p.Items, dropItems), l.bwd)
	}
}
