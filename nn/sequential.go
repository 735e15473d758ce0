package nn

import "strconv"

// Sequential runs layers one after the other. Where a convolution, a
// non-decreasing activation and a max-pool follow each other it runs them as
// one, and a ReLU after a dense layer in place; see [Options].Unfused.
type Sequential struct {
	Layers []Layer

	stages []stage
	first  int // first stage with parameters: none before it need a gradient
	trains bool
	grad   [2][]float32 // gradients between stages, which alternate in the backward pass
}

// stage is a unit of execution: one of Layers, or several fused.
//
//	y [N, out]
type stage struct {
	layer   Layer
	in, out int       // values of an item
	y       []float32 // none for the last, which writes to the output
	chain   *chain    // that it is part of, or nil
}

// Seq returns a Sequential of the given layers.
func Seq(layers ...Layer) *Sequential { return &Sequential{Layers: layers} }

// Build implements [Layer].
func (l *Sequential) Build(b *Builder, in Shape) (Shape, error) {
	shape := in
	l.first = -1
	for i := 0; i < len(l.Layers); {
		params := len(b.params)
		s, out, n, err := l.stage(b, i, shape)
		if err != nil {
			return nil, err
		}
		// A flatten moves nothing.
		if _, ok := s.(*Flatten); !ok {
			l.stages = append(l.stages, stage{layer: s, in: shape.Size(), out: out.Size()})
			if l.first < 0 && len(b.params) > params {
				l.first = len(l.stages) - 1
			}
		}
		shape = out
		i += n
	}
	if l.first < 0 {
		l.first = len(l.stages)
	}
	for i := range l.stages {
		s := &l.stages[i]
		b.hold(s.out)
		if i < len(l.stages)-1 {
			buffer(b.OnForward, &s.y, s.out)
		}
	}
	b.OnBackward(func(int) { l.trains = true })
	l.findChains(b)
	return shape, nil
}

// stage builds layer i and those fused with it; n is their number.
func (l *Sequential) stage(b *Builder, i int, in Shape) (s Layer, out Shape, n int, err error) {
	build := func(i int, in Shape) (Layer, Shape, error) { return b.Child(strconv.Itoa(i), l.Layers[i], in) }
	if s, out, err = build(i, in); err != nil || b.unfused {
		return s, out, 1, err
	}
	switch s := s.(type) {
	case *Dense:
		if _, ok := l.at(i + 1).(*ReLU); ok {
			relu, out, err := build(i+1, out)
			if err != nil {
				return s, out, 1, err
			}
			s.relu = relu.(*ReLU)
			return s, out, 2, nil
		}
	case *Conv:
		pool, last, n := l.pattern(i + 1)
		if n == 0 || !pool.fits(out) {
			break
		}
		s.last = last
		for k := range n {
			var fused Layer
			if fused, out, err = build(i+1+k, out); err != nil {
				return s, out, 1, err
			}
			switch fused := fused.(type) {
			case *MaxPool:
				s.pool = fused
			case elementwise:
				s.act = fused.function()
			}
		}
		return s, out, 1 + n, nil
	}
	return s, out, 1, nil
}

// at returns layer i, nil after the last.
func (l *Sequential) at(i int) Layer {
	if i < len(l.Layers) {
		return l.Layers[i]
	}
	return nil
}

// pattern looks for an activation and a max-pool in either order, or a
// max-pool alone, from layer i on. last reports whether the pool comes first; n is
// the number of layers, 0 if there is no match.
func (l *Sequential) pattern(i int) (pool *MaxPool, last bool, n int) {
	switch s := l.at(i).(type) {
	case *MaxPool:
		if act, ok := l.at(i + 1).(elementwise); ok && act.function().Monotone() {
			return s, true, 2
		}
		return s, false, 1
	case elementwise:
		if pool, ok := l.at(i + 1).(*MaxPool); ok && s.function().Monotone() {
			return pool, false, 2
		}
	}
	return nil, false, 0
}

// Forward implements [Layer].
func (l *Sequential) Forward(p *Pass, y, x []float32) {
	if len(l.stages) == 0 {
		copy(y, x)
		return
	}
	for i := 0; i < len(l.stages); i++ {
		if d, ok := l.stages[i].layer.(*Dropout); ok && i < len(l.stages)-1 && !l.trains && d.idle(p) {
			continue // the next stage reads what this one would copy
		}
		if c := l.stages[i].chain; c != nil && c.first == i && c.split(p) {
			c.forward(p, y, x)
			i = c.end - 1
			x = l.output(i, p, y)
			continue
		}
		to := l.output(i, p, y)
		l.stages[i].layer.Forward(p, to, x)
		x = to
	}
}

// output returns where stage i writes: its own buffer, or y for the last one.
func (l *Sequential) output(i int, p *Pass, y []float32) []float32 {
	if i == len(l.stages)-1 {
		return y
	}
	s := &l.stages[i]
	return s.y[:p.Items*s.out]
}

// Backward implements [Layer].
func (l *Sequential) Backward(p *Pass, dx, dy, y, x []float32) {
	if len(l.stages) == 0 {
		if dx != nil {
			copy(dx, dy)
		}
		return
	}
	for i := len(l.stages) - 1; i >= 0; i-- {
		c := l.stages[i].chain
		chained := c != nil && c.end-1 == i && c.split(p)
		if chained {
			i = c.first
		}
		from, to := x, dx
		if i > 0 {
			from = l.output(i-1, p, y)
		}
		if i > 0 && (i > l.first || dx != nil) {
			to = l.gradient(i, p)
		}
		if chained {
			c.backward(p, to, dy, y, from)
		} else {
			l.stages[i].layer.Backward(p, to, dy, l.output(i, p, y), from)
		}
		if to == nil {
			return
		}
		dy = to
	}
}

// gradient returns where the input gradients of stage i go.
func (l *Sequential) gradient(i int, p *Pass) []float32 {
	n := p.Items * l.stages[i].in
	if g := &l.grad[i%2]; len(*g) < n {
		*g = make([]float32, n)
	}
	return l.grad[i%2][:n]
}

// Flatten turns any shape into one length. The values stay where they are.
type Flatten struct{}

// Build implements [Layer].
func (l *Flatten) Build(_ *Builder, in Shape) (Shape, error) { return Shape{in.Size()}, nil }

// Forward implements [Layer].
func (l *Flatten) Forward(_ *Pass, y, x []float32) { copy(y, x) }

// Backward implements [Layer].
func (l *Flatten) Backward(_ *Pass, dx, dy, _, _ []float32) {
	if dx != nil {
		copy(dx, dy)
	}
}
