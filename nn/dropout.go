package nn

import (
	"fmt"

	"credence/internal/rng"
)

// Dropout sets each value to zero with probability Rate while training, and
// divides the others by 1−Rate; otherwise it changes nothing. What is dropped
// is a pure function of (seed, member, step, layer, item in the batch). With
// [Pass].Sample it also drops in prediction.
type Dropout struct {
	Rate float64 // in [0, 1)

	size   int
	number uint64
	keep   []float32 // [N, size]: 0 or 1/(1−Rate)
	limit  uint64
	draw   func(j int)
	at     Step
	keys   []uint64 // of items, instead of their places
}

// Build implements [Layer].
func (l *Dropout) Build(b *Builder, in Shape) (Shape, error) {
	if !(l.Rate >= 0 && l.Rate < 1) {
		return nil, fmt.Errorf("rate %v, want at least 0 and less than 1", l.Rate)
	}
	l.size, l.number = in.Size(), b.Number()
	l.limit = uint64(l.Rate * (1 << 32))
	b.hold(l.size)
	l.draw = l.drawItem
	return in, nil
}

// drawItem fills the mask of item j.
func (l *Dropout) drawItem(j int) {
	var s rng.Stream
	if l.keys == nil {
		s.Reset(l.at.Seed, "dropout", l.at.Member, l.at.Epoch, l.at.Step, l.number, uint64(j))
	} else {
		s.Reset(l.at.Seed, "dropout.sample", l.at.Member, l.at.Epoch, l.at.Step, l.number, l.keys[j])
	}
	keep, scale := l.keep[j*l.size:][:l.size], float32(1/(1-l.Rate))
	for i := 0; i < len(keep); i += 2 {
		u := s.Uint64()
		keep[i] = 0
		if u>>32 >= l.limit {
			keep[i] = scale
		}
		if i+1 < len(keep) {
			keep[i+1] = 0
			if u&(1<<32-1) >= l.limit {
				keep[i+1] = scale
			}
		}
	}
}

// Forward implements [Layer].
func (l *Dropout) Forward(p *Pass, y, x []float32) {
	if !p.Train && p.Sample == nil || l.Rate == 0 {
		copy(y, x)
		return
	}
	if len(l.keep) < len(x) { // not in Build: a session that only predicts needs none
		l.keep = make([]float32, len(x))
	}
	l.at, l.keys = p.At, p.Sample
	p.For(p.Items, l.draw)
	for i, k := range l.keep[:len(x)] {
		y[i] = k * x[i]
	}
}

// Backward implements [Layer].
func (l *Dropout) Backward(p *Pass, dx, dy, _, _ []float32) {
	switch {
	case dx == nil:
	case !p.Train || l.Rate == 0:
		copy(dx, dy)
	default:
		for i, k := range l.keep[:len(dx)] {
			dx[i] = k * dy[i]
		}
	}
}
