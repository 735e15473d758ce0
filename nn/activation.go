package nn

import "credence/internal/kernel"

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
