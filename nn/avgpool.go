package nn

import "credence/internal/kernel"

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
		in, out, s := l.part(i)
		kernel.AvgPool(l.y[out.lo:out.hi], l.x[in.lo:in.hi], s)
	}
	l.bwd = func(i int) {
		in, out, s := l.part(i)
		kernel.AvgPoolGrad(l.dx[in.lo:in.hi], l.dy[out.lo:out.hi], s)
	}
	return out, nil
}
