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

	body, short Layer
	in, out     int
	yb, ys      []float32 // outputs of body and shortcut
	db, dxShort []float32
}

// Build implements [Layer].
func (l *Residual) Build(b *Builder, in Shape) (Shape, error) {
	body, out, err := b.Child("body", l.Body, in)
	if err != nil {
		return nil, err
	}
	short := in
	if l.Shortcut != nil {
		if l.short, short, err = b.Child("shortcut", l.Shortcut, in); err != nil {
			return nil, err
		}
	}
	l.body = body
	if !slices.Equal(out, short) {
		return nil, fmt.Errorf("expected body and shortcut of the same shape, got %v and %v", out, short)
	}
	l.in, l.out = in.Size(), out.Size()
	b.hold(2 * l.out)
	if l.Shortcut != nil {
		b.hold(l.out + l.in)
	}
	b.OnForward(func(batch int) {
		l.yb = make([]float32, batch*l.out)
		if l.short != nil {
			l.ys = make([]float32, batch*l.out)
		}
	})
	b.OnBackward(func(batch int) {
		l.db = make([]float32, batch*l.out)
		if l.short != nil {
			l.dxShort = make([]float32, batch*l.in)
		}
	})
	return out, nil
}

// Forward implements [Layer].
func (l *Residual) Forward(p *Pass, y, x []float32) {
	yb, ys := l.yb[:len(y)], x
	l.body.Forward(p, yb, x)
	if l.short != nil {
		ys = l.ys[:len(y)]
		l.short.Forward(p, ys, x)
	}
	kernel.Add(y, yb, ys)
}

// Backward implements [Layer].
func (l *Residual) Backward(p *Pass, dx, dy, _, x []float32) {
	db := l.db[:len(dy)]
	copy(db, dy)
	l.body.Backward(p, dx, db, l.yb[:len(dy)], x)
	short := dy
	if l.short != nil {
		short = nil
		if dx != nil {
			short = l.dxShort[:len(dx)]
		}
		l.short.Backward(p, short, dy, l.ys[:len(dy)], x)
	}
	if dx != nil {
		kernel.Add(dx, dx, short)
	}
}
