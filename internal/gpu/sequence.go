package gpu

import (
	"slices"
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// sequence runs operations one after the other. An empty sequence copies.
type sequence struct {
	in     int
	stages []stage
	first  int // the first with parameters: none before it needs a gradient
	grad   [2]cuda.Memory
}

type stage struct {
	node
	in, out int
	y       cuda.Memory // of all but the last
}

func newSequence(b *builder, ops []nn.Op, in int) *sequence {
	s := &sequence{in: in}
	widest := 0
	ops = joinReLU(ops)
	s.first = len(ops)
	for i := range ops {
		op := &ops[i]
		st := stage{node: newNode(b, op), in: op.In, out: op.Out}
		if i+1 < len(ops) {
			st.y = b.perItem(op.Out)
		}
		if i > 0 {
			widest = max(widest, op.In)
		}
		if s.first == len(ops) && trained(*op) {
			s.first = i
		}
		s.stages = append(s.stages, st)
	}
	if widest > 0 {
		s.grad = [2]cuda.Memory{b.training(widest), b.training(widest)}
	}
	return s
}

// joinReLU joins a ReLU with the batch norm or residual block before it.
func joinReLU(ops []nn.Op) []nn.Op {
	var list []nn.Op
	for _, op := range ops {
		if op.Kind == nn.OpActivation && op.Act == nn.ActReLU && len(list) > 0 {
			last := &list[len(list)-1]
			if (last.Kind == nn.OpBatchNorm || last.Kind == nn.OpResidual) && last.Act == nn.ActIdentity {
				last.Act = nn.ActReLU
				continue
			}
		}
		list = append(list, op)
	}
	return list
}

// keeps reports whether backward leaves dy as it is.
func (s *sequence) keeps() bool { return len(s.stages) == 0 || s.stages[len(s.stages)-1].keeps }

// trained reports whether an operation has parameters.
func trained(op nn.Op) bool {
	inside := func(list []nn.Op) bool { return slices.ContainsFunc(list, trained) }
	return op.Weight != nil || slices.ContainsFunc(op.Branches, inside)
}

// newNode returns the node of an operation of any kind.
func newNode(b *builder, op *nn.Op) node {
	return [...]func(*builder, *nn.Op) node{
		nn.OpConv: newConv, nn.OpDense: newDense, nn.OpActivation: newActivation, nn.OpPool: newPool,
		nn.OpGlobalPool: newGlobalPool, nn.OpBatchNorm: newBatchNorm, nn.OpLayerNorm: newLayerNorm,
		nn.OpDropout: newDropout, nn.OpEmbedding: newEmbedding, nn.OpResidual: newResidual, nn.OpConcat: newConcat,
	}[op.Kind](b, op)
}

// output returns where stage i writes.
func (s *sequence) output(i int, y cuda.Memory) cuda.Memory {
	if i == len(s.stages)-1 {
		return y
	}
	return s.stages[i].y
}

func (s *sequence) forward(r *recorder, y, x cuda.Memory) {
	if len(s.stages) == 0 {
		r.check(r.stream.Copy(y, x, r.items*s.in))
	}
	for i := range s.stages {
		to := s.output(i, y)
		s.stages[i].forward(r, to, x)
		x = to
	}
}

func (s *sequence) backward(r *recorder, dx, dy, y, x cuda.Memory) {
	switch {
	case dx == 0 && s.first == len(s.stages):
		return // nothing is trained
	case len(s.stages) == 0:
		r.check(r.stream.Copy(dx, dy, r.items*s.in))
	}
	for i := len(s.stages) - 1; i >= 0; i-- {
		from, to := x, dx
		if i > 0 {
			from = s.output(i-1, y)
		}
		if i > 0 && (i > s.first || dx != 0) {
			to = s.grad[i%2]
		}
		s.stages[i].backward(r, to, dy, s.output(i, y), from)
		if to == 0 {
			return
		}
		dy = to
	}
}

// residual adds a shortcut to the output of its body, with a ReLU or without.
type residual struct {
	op          nn.Op
	body, short *sequence // a nil shortcut is the identity
	yb, ys      cuda.Memory
	db, dxs     cuda.Memory
}

func newResidual(b *builder, op *nn.Op) node {
	l := &residual{op: *op, body: newSequence(b, op.Branches[0], op.In)}
	l.yb = b.perItem(op.Out)
	if !l.body.keeps() {
		l.db = b.training(op.Out)
	}
	if op.Branches[1] != nil {
		l.short = newSequence(b, op.Branches[1], op.In)
		l.ys, l.dxs = b.perItem(op.Out), b.training(op.In)
	}
	return node{forward: l.forward, backward: l.backward}
}

func (l *residual) forward(r *recorder, y, x cuda.Memory) {
	ys := x
	l.body.forward(r, l.yb, x)
	if l.short != nil {
		ys = l.ys
		l.short.forward(r, ys, x)
	}
	addTo(r, y, l.yb, ys, l.op.Out, l.op.Act)
}

func (l *residual) backward(r *recorder, dx, dy, y, x cuda.Memory) {
	if l.op.Act != nn.ActIdentity {
		slopes(r, dy, dy, y, r.items*l.op.Out, l.op.Act)
	}
	db := dy
	if l.db != 0 {
		db = l.db
		r.check(r.stream.Copy(db, dy, r.items*l.op.Out))
	}
	l.body.backward(r, dx, db, l.yb, x)
	short := dy
	if l.short != nil {
		short = 0
		if dx != 0 {
			short = l.dxs
		}
		l.short.backward(r, short, dy, l.ys, x)
	}
	if dx != 0 {
		addTo(r, dx, dx, short, l.op.In, nn.ActIdentity)
	}
}

// addTo sets y to x + z, size values of each item, through an activation.
func addTo(r *recorder, y, x, z cuda.Memory, size int, act nn.Activation) {
	n := r.items * size
	args := pointArgs{x: x, z: z, y: y, count: int32(n), act: int32(act)}
	r.each("add", n, unsafe.Pointer(&args))
}

// concat runs branches side by side and joins their outputs.
type concat struct {
	op       nn.Op
	branches []joined
}

type joined struct {
	*sequence
	nn.Place
	cut          bool // the branch gets a range of the inputs
	x, y, dx, dy cuda.Memory
}

func newConcat(b *builder, op *nn.Op) node {
	l := &concat{op: *op}
	for i, p := range op.Places {
		j := joined{sequence: newSequence(b, op.Branches[i], p.In), Place: p, cut: p.In != op.In}
		if j.cut {
			j.x = b.perItem(p.In)
		}
		j.y, j.dy, j.dx = b.perItem(p.Out), b.training(p.Out), b.training(p.In)
		l.branches = append(l.branches, j)
	}
	return node{forward: l.forward, backward: l.backward}
}

// columns copies width columns of all items between matrices with the given numbers of columns.
func columns(r *recorder, y, x cuda.Memory, width, ys, xs int, add bool) {
	args := copyArgs{x: x, y: y, n: int32(r.items), width: int32(width), xs: int32(xs), ys: int32(ys), add: flag(add)}
	r.each("copy_columns", r.items*width, unsafe.Pointer(&args))
}

func (l *concat) forward(r *recorder, y, x cuda.Memory) {
	for _, b := range l.branches {
		bx := x
		if b.cut {
			bx = b.x
			columns(r, bx, x.At(b.At), b.In, b.In, l.op.In, false)
		}
		b.forward(r, b.y, bx)
		columns(r, y.At(b.To), b.y, b.Out, l.op.Out, b.Out, false)
	}
}

func (l *concat) backward(r *recorder, dx, dy, _, x cuda.Memory) {
	if dx != 0 {
		r.check(r.stream.Zero(dx, r.items*l.op.In))
	}
	for _, b := range l.branches {
		bx, bdx := x, cuda.Memory(0)
		if b.cut {
			bx = b.x
		}
		if dx != 0 {
			bdx = b.dx
		}
		columns(r, b.dy, dy.At(b.To), b.Out, b.Out, l.op.Out, false)
		b.backward(r, bdx, b.dy, b.y, bx)
		if dx != 0 {
			columns(r, dx.At(b.At), bdx, b.In, l.op.In, b.In, true)
		}
	}
}
