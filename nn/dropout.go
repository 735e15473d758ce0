package nn

import (
	"fmt"

	"credence/internal/kernel"
	"credence/internal/rng"
)

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
		return nil, fmt.Errorf("rate %v, want at least 0 and less than 1", l.Rate)
	}
	l.size, l.number = in.Size(), b.Number()
	l.limit = uint32(l.Rate * (1 << 32))
	b.hold(l.size)
	l.fwd, l.bwd = l.forward, l.backward
	return in, nil
}

// place returns the key of the batch's randomness, without the item's part.
func (l *Dropout) place() rng.Place {
	purpose := "dropout"
	if l.keys != nil {
		purpose = "dropout.sample"
	}
	return rng.At(l.at.Seed, purpose, l.at.Member, l.at.Epoch, l.at.Step, l.number)
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
	place := l.place()
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
