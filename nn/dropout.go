package nn

import (
	"fmt"

	"credence/internal/kernel"
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
	limit  uint32
	fwd    func(i int)
	at     Step
	keys   []uint64 // of items, instead of their places
	items  int
	y, x   []float32
}

// dropItems is how many items make a piece of work.
const dropItems = 16

// Build implements [Layer].
func (l *Dropout) Build(b *Builder, in Shape) (Shape, error) {
	if !(l.Rate >= 0 && l.Rate < 1) {
		return nil, fmt.Errorf("rate %v, want at least 0 and less than 1", l.Rate)
	}
	l.size, l.number = in.Size(), b.Number()
	l.limit = uint32(l.Rate * (1 << 32))
	b.hold(l.size)
	l.fwd = l.forward
	return in, nil
}

// draw fills the mask of item j.
func (l *Dropout) draw(j int) {
	var s rng.Stream
	if l.keys == nil {
		s.Reset(l.at.Seed, "dropout", l.at.Member, l.at.Epoch, l.at.Step, l.number, uint64(j))
	} else {
		s.Reset(l.at.Seed, "dropout.sample", l.at.Member, l.at.Epoch, l.at.Step, l.number, l.keys[j])
	}
	kernel.Mask(l.keep[j*l.size:][:l.size], &s, l.limit, float32(1/(1-l.Rate)))
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
	for j := lo; j < hi; j++ {
		l.draw(j)
	}
	lo, hi = lo*l.size, hi*l.size
	kernel.Mul(l.y[lo:hi], l.keep[lo:hi], l.x[lo:hi])
}

// Backward implements [Layer].
func (l *Dropout) Backward(p *Pass, dx, dy, _, _ []float32) {
	switch {
	case dx == nil:
	case !p.Train || l.Rate == 0:
		copy(dx, dy)
	default:
		kernel.Mul(dx, l.keep[:len(dx)], dy)
	}
}
