package nn

import (
	"fmt"
	"slices"

	"credence/internal/kernel"
)

// Residual adds a shortcut to what a layer computes,
//
//	y = Body(x) + Shortcut(x),
//
// where the shortcut is the identity unless given (He et al. 2015).
//
//	x, dx              [N, in]
//	y, dy, yb, ys, db  [N, out]
//	dxs                [N, in]
type Residual struct {
	Body     Layer
	Shortcut Layer // nil means the identity

	in, out     int
	yb, ys      []float32 // outputs of body and shortcut
	db, dxShort []float32
}

// Build implements [Layer].
func (l *Residual) Build(b *Builder, in Shape) (Shape, error) {
	out, err := b.Child("body", l.Body, in)
	if err != nil {
		return nil, err
	}
	short := in
	if l.Shortcut != nil {
		if short, err = b.Child("shortcut", l.Shortcut, in); err != nil {
			return nil, err
		}
	}
	if !slices.Equal(out, short) {
		return nil, fmt.Errorf("expected body and shortcut of the same shape, got %v and %v", out, short)
	}
	l.in, l.out = in.Size(), out.Size()
	b.hold(2 * l.out)
	if l.Shortcut != nil {
		b.hold(l.out + l.in)
	}
	b.OnBind(func(batch int) {
		l.yb, l.db = make([]float32, batch*l.out), make([]float32, batch*l.out)
		if l.Shortcut != nil {
			l.ys, l.dxShort = make([]float32, batch*l.out), make([]float32, batch*l.in)
		}
	})
	return out, nil
}

// Forward implements [Layer].
func (l *Residual) Forward(p *Pass, y, x []float32) {
	yb, ys := l.yb[:len(y)], x
	l.Body.Forward(p, yb, x)
	if l.Shortcut != nil {
		ys = l.ys[:len(y)]
		l.Shortcut.Forward(p, ys, x)
	}
	kernel.Add(y, yb, ys)
}

// Backward implements [Layer].
func (l *Residual) Backward(p *Pass, dx, dy, _, x []float32) {
	db := l.db[:len(dy)]
	copy(db, dy)
	l.Body.Backward(p, dx, db, l.yb[:len(dy)], x)
	short := dy
	if l.Shortcut != nil {
		short = nil
		if dx != nil {
			short = l.dxShort[:len(dx)]
		}
		l.Shortcut.Backward(p, short, dy, l.ys[:len(dy)], x)
	}
	if dx != nil {
		kernel.Add(dx, dx, short)
	}
}
