package nn

import (
	"cmp"

	"credence/internal/kernel"
)

// MaxPool takes the largest value of each window, in 1 to 3 dimensions. Of
// equal values the first in scan order receives the gradient. Windows that do
// not fit entirely are left out; padding is never the largest value.
//
//	C channels, D·H·W input size, o output positions
//	x, dx    [N, C, D, H, W]
//	y, dy    [N, C, o]
//	arg      [N, C, o]
type MaxPool struct {
	Size   Ints
	Stride Ints // empty means Size
	Pad    Ints // at most half the size
	Dims   int  // spatial dimensions expected; zero means any

	pool
	arg []int32
}

// pool has the fields and methods common to MaxPool and AvgPool.
type pool struct {
	shape        kernel.PoolShape
	in, out      int // values of an item
	each         int // channels of a piece
	total        int // channels of all items of the batch
	fwd, bwd     func(i int)
	y, x, dx, dy []float32
}

func (l *pool) build(size, stride, pad Ints, want int, in Shape) (Shape, error) {
	c, dims, from, err := space(in, want)
	if err != nil {
		return nil, err
	}
	if len(stride) == 0 {
		stride = size
	}
	s := kernel.PoolShape{Channels: c, Size: from}
	var errs [3]error
	s.Window, errs[0] = size.each("size", dims, 0, 1, 1)
	s.Stride, errs[1] = stride.each("stride", dims, 0, 1, 1)
	s.Pad, errs[2] = pad.each("pad", dims, 0, 0, 0)
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	l.shape = s
	out := unspace(c, dims, s.OutSize())
	l.in, l.out = in.Size(), out.Size()
	l.each = max(1, grain*c/l.in)
	return out, nil
}

// piece returns the ranges of inputs and outputs of piece i, some channels of
// one item or several, and their shape.
func (l *pool) piece(i int) (in, out span, s kernel.PoolShape) {
	c := l.shape.Channels
	lo, hi := i*l.each, min((i+1)*l.each, l.total)
	s = l.shape
	s.Channels = hi - lo
	return span{lo * (l.in / c), hi * (l.in / c)}, span{lo * (l.out / c), hi * (l.out / c)}, s
}

// Build implements [Layer].
func (l *MaxPool) Build(b *Builder, in Shape) (Shape, error) {
	out, err := l.build(l.Size, l.Stride, l.Pad, l.Dims, in)
	if err != nil {
		return nil, err
	}
	b.hold(l.out)
	buffer(b.OnForward, &l.arg, l.out)
	l.fwd = func(i int) {
		in, out, s := l.piece(i)
		kernel.MaxPool(l.y[out.lo:out.hi], l.arg[out.lo:out.hi], l.x[in.lo:in.hi], s)
	}
	l.bwd = func(i int) {
		in, out, s := l.piece(i)
		kernel.MaxPoolGrad(l.dx[in.lo:in.hi], l.dy[out.lo:out.hi], l.arg[out.lo:out.hi], s)
	}
	return out, nil
}

// Forward implements [Layer].
func (l *pool) Forward(p *Pass, y, x []float32) {
	l.y, l.x = y, x
	l.total = p.Items * l.shape.Channels
	p.For(pieces(l.total, l.each), l.fwd)
}

// Backward implements [Layer].
func (l *pool) Backward(p *Pass, dx, dy, _, _ []float32) {
	if dx == nil {
		return
	}
	l.dx, l.dy = dx, dy
	p.For(pieces(l.total, l.each), l.bwd)
}

// fits reports whether the layer can be fused after a convolution with output
// out: its windows neither overlap nor are padded, and at least one fits.
func (l *MaxPool) fits(out Shape) bool {
	var probe pool
	_, err := probe.build(l.Size, l.Stride, l.Pad, l.Dims, out)
	return err == nil && probe.shape.Stride == probe.shape.Window && probe.shape.Pad == [3]int{}
}

// AvgPool takes the mean of each window, in 1 to 3 dimensions. Padding counts
// as zeros. Shapes as in [MaxPool].
type AvgPool struct {
	Size   Ints
	Stride Ints // empty means Size
	Pad    Ints // at most half the size
	Dims   int  // spatial dimensions expected; zero means any

	pool
}

// Build implements [Layer].
func (l *AvgPool) Build(_ *Builder, in Shape) (Shape, error) {
	out, err := l.build(l.Size, l.Stride, l.Pad, l.Dims, in)
	if err != nil {
		return nil, err
	}
	l.fwd = func(i int) {
		in, out, s := l.piece(i)
		kernel.AvgPool(l.y[out.lo:out.hi], l.x[in.lo:in.hi], s)
	}
	l.bwd = func(i int) {
		in, out, s := l.piece(i)
		kernel.AvgPoolGrad(l.dx[in.lo:in.hi], l.dy[out.lo:out.hi], s)
	}
	return out, nil
}

// GlobalPool reduces each channel to its mean, or to its largest value.
//
//	C channels, s values per channel
//	x, dx    [N, C, s]
//	y, dy    [N, C]
//	arg      [N, C]
type GlobalPool struct {
	Max bool

	channels, size int
	arg            []int32
}

// Build implements [Layer].
func (l *GlobalPool) Build(b *Builder, in Shape) (Shape, error) {
	c, _, _, err := space(in, 0)
	if err != nil {
		return nil, err
	}
	l.channels, l.size = c, in.Size()/c
	if l.Max {
		b.hold(c)
		buffer(b.OnForward, &l.arg, c)
	}
	return Shape{c}, nil
}

// Forward implements [Layer].
func (l *GlobalPool) Forward(_ *Pass, y, x []float32) {
	for i := range y {
		row := x[i*l.size:][:l.size]
		if !l.Max {
			y[i] = float32(kernel.Sum(row) / float64(l.size))
			continue
		}
		at := 0
		for j, v := range row {
			if v > row[at] {
				at = j
			}
		}
		y[i], l.arg[i] = row[at], int32(at)
	}
}

// Backward implements [Layer].
func (l *GlobalPool) Backward(_ *Pass, dx, dy, _, _ []float32) {
	if dx == nil {
		return
	}
	if l.Max {
		clear(dx)
		for i, g := range dy {
			dx[i*l.size+int(l.arg[i])] = g
		}
		return
	}
	for i, g := range dy {
		kernel.Fill(dx[i*l.size:][:l.size], g/float32(l.size))
	}
}
