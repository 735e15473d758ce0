package nn

import "credence/internal/kernel"

// convPool is a convolution, a non-decreasing activation and a max-pool of
// windows that neither overlap nor are padded, computed together: the output at
// full resolution is never stored, and the backward pass visits only the
// positions that won their window. It gives the same bits as the layers apart.
// [Sequential] makes it.
//
//	o output channels, z pooled positions
//	x, dx         [N, C, s]
//	y, dy, arg    [N, o, z]
type convPool struct {
	conv *Conv
	pool *MaxPool
	act  kernel.Activation // Identity if there is none
	last bool              // whether the activation comes after the pool

	fwd, bwd     func(worker, g int)
	y, x, dx, dy []float32
}

// fuse makes one of its parts, which have been built.
func (l *convPool) fuse() {
	l.conv.window = l.pool.shape.Window
	l.fwd, l.bwd = l.forward, l.backward
}

// Build implements [Layer]; the parts have been built before.
func (l *convPool) Build(_ *Builder, in Shape) (Shape, error) { return in, nil }

// Forward implements [Layer].
func (l *convPool) Forward(p *Pass, y, x []float32) {
	l.conv.ready(p)
	l.y, l.x = y, x
	p.ForWorker(l.conv.cut.count, l.fwd)
}

func (l *convPool) forward(worker, i int) {
	c, z := l.conv, l.pool.out
	act := l.act
	if l.last {
		act = kernel.Identity
	}
	items, rows := c.cut.at(i)
	for j := items.lo; j < items.hi; j++ {
		y, s := l.y[j*z:][:z], c.scratch[worker]
		c.plan.ForwardPoolRows(y, l.pool.arg[j*z:][:z], c.pad(s, j, l.x), c.packed, c.biases(), act,
			rows.lo, rows.hi, s.ConvScratch)
		if l.last && l.act != kernel.Identity {
			plane, wide := z/c.Out, l.pool.shape.OutSize()[2]
			for o := range c.Out {
				part := y[o*plane+rows.lo*wide : o*plane+rows.hi*wide]
				l.act.Forward(part, part)
			}
		}
	}
}

// Backward implements [Layer].
func (l *convPool) Backward(p *Pass, dx, dy, y, x []float32) {
	l.dx, l.dy, l.y, l.x = dx, dy, y, x
	p.ForWorker(l.conv.groups.count, l.bwd)
	l.conv.groups.sum(l.conv.weight, l.conv.bias)
}

func (l *convPool) backward(worker, g int) {
	c, z := l.conv, l.pool.out
	lo, hi := c.groups.at(g)
	dw, db := c.groups.partial(g)
	clear(dw)
	clear(db)
	dy := l.dy[lo*z : hi*z]
	if l.act != kernel.Identity {
		l.act.Backward(dy, dy, l.y[lo*z:hi*z])
	}
	var dx []float32
	if l.dx != nil {
		dx = l.dx[lo*c.in : hi*c.in]
	}
	c.plan.GradSparse(dw, db, dx, dy, l.pool.arg[lo*z:hi*z], l.x[lo*c.in:hi*c.in], c.weight.Value,
		c.scratch[worker].ConvScratch)
}
