package nn

import "credence/internal/kernel"

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
	c, _, _, err := space(in)
	if err != nil {
		return nil, err
	}
	l.channels, l.size = c, in.Size()/c
	if l.Max {
		b.hold(c)
		b.OnForward(func(batch int) { l.arg = make([]int32, batch*c) })
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
