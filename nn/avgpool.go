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
	l.fwd = func(j int) { kernel.AvgPool(l.y[j*l.out:][:l.out], l.x[j*l.in:][:l.in], l.shape) }
	l.bwd = func(j int) { kernel.AvgPoolGrad(l.dx[j*l.in:][:l.in], l.dy[j*l.out:][:l.out], l.shape) }
	return out, nil
}
