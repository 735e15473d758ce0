package nn

import (
	"fmt"
	"slices"
	"strconv"

	"credence/internal/kernel"
)

// Residual adds a shortcut to the output of a layer,
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
		return nil, fmt.Errorf("expected body and shortcut of the same shape, found %v and %v", out, short)
	}
	l.in, l.out = in.Size(), out.Size()
	b.hold(2 * l.out)
	buffer(b.OnForward, &l.yb, l.out)
	buffer(b.OnBackward, &l.db, l.out)
	if l.Shortcut != nil {
		b.hold(l.out + l.in)
		buffer(b.OnForward, &l.ys, l.out)
		buffer(b.OnBackward, &l.dxShort, l.in)
	}
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

// Concat runs branches side by side and joins their outputs. With Inputs, the
// values of an item are cut into consecutive blocks of these shapes, such as an image
// and a table, and branch i gets block i; without, each branch gets all values.
// Outputs that agree in space are joined along channels, others are flattened.
//
//	x, dx       [N, Σ in_i] or [N, in]
//	y, dy       [N, Σ out_i]
//	xi, dxi     [N, in_i]     of branch i
//	yi, dyi     [N, out_i]
type Concat struct {
	Inputs   []Shape
	Branches []Layer

	in, out  int
	cut      bool // whether each branch gets its own block
	branches []*branch
}

// branch is a branch with its place in an item and its buffers.
type branch struct {
	Place
	layer        Layer
	x, y, dx, dy []float32
}

// Build implements [Layer].
func (l *Concat) Build(b *Builder, in Shape) (Shape, error) {
	if len(l.Branches) == 0 {
		return nil, fmt.Errorf("no branches")
	}
	if len(l.Inputs) > 0 {
		total := 0
		for _, s := range l.Inputs {
			if err := checkShape("input", s, maxInput); err != nil {
				return nil, err
			}
			total += s.Size()
		}
		if len(l.Inputs) != len(l.Branches) {
			return nil, fmt.Errorf("%d inputs for %d branches", len(l.Inputs), len(l.Branches))
		}
		if total != in.Size() {
			return nil, fmt.Errorf("expected inputs %v of %d values in all, found %v", l.Inputs, total, in)
		}
	}
	l.in, l.cut = in.Size(), len(l.Inputs) > 0
	var outs []Shape
	at, to := 0, 0
	for i, layer := range l.Branches {
		block := in
		if l.cut {
			block = l.Inputs[i]
		}
		built, out, err := b.Child(strconv.Itoa(i), layer, block)
		if err != nil {
			return nil, err
		}
		outs = append(outs, out)
		br := &branch{layer: built, Place: Place{At: at, In: block.Size(), To: to, Out: out.Size()}}
		l.branches = append(l.branches, br)
		to += br.Out
		b.hold(br.In + 2*br.Out)
		buffer(b.OnForward, &br.y, br.Out)
		if l.cut {
			at += br.In
			buffer(b.OnForward, &br.x, br.In)
		}
		// dx is only needed if the layers before have parameters: Backward allocates it.
		b.OnBackward(func(batch int) { br.dx, br.dy = nil, make([]float32, batch*br.Out) })
	}
	l.out = to
	return join(outs), nil
}

// join returns the shape of concatenated outputs.
func join(outs []Shape) Shape {
	space, channels, values := outs[0][1:], 0, 0
	for _, s := range outs {
		channels += s[0]
		values += s.Size()
		if !slices.Equal(s[1:], space) {
			space = nil
		}
	}
	if len(space) == 0 {
		return Shape{values}
	}
	return append(Shape{channels}, space...)
}

// Forward implements [Layer].
func (l *Concat) Forward(p *Pass, y, x []float32) {
	for _, b := range l.branches {
		bx, by := x, b.y[:p.Items*b.Out]
		if l.cut {
			bx = b.x[:p.Items*b.In]
			for j := range p.Items {
				copy(bx[j*b.In:][:b.In], x[j*l.in+b.At:])
			}
		}
		b.layer.Forward(p, by, bx)
		for j := range p.Items {
			copy(y[j*l.out+b.To:], by[j*b.Out:][:b.Out])
		}
	}
}

// Backward implements [Layer].
func (l *Concat) Backward(p *Pass, dx, dy, _, x []float32) {
	if dx != nil {
		clear(dx)
	}
	for _, b := range l.branches {
		bx, bdy := x, b.dy[:p.Items*b.Out]
		if l.cut {
			bx = b.x[:p.Items*b.In]
		}
		for j := range p.Items {
			copy(bdy[j*b.Out:][:b.Out], dy[j*l.out+b.To:])
		}
		var bdx []float32
		if dx != nil {
			if b.dx == nil {
				b.dx = make([]float32, cap(b.dy)/b.Out*b.In)
			}
			bdx = b.dx[:p.Items*b.In]
		}
		b.layer.Backward(p, bdx, bdy, b.y[:p.Items*b.Out], bx)
		for j := 0; dx != nil && j < p.Items; j++ {
			to := dx[j*l.in+b.At:][:b.In]
			for k, g := range bdx[j*b.In:][:b.In] {
				to[k] += g
			}
		}
	}
}
