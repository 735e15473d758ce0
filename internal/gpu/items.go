package gpu

import (
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// As in items.cu: threads of a block, values of its shared memory, layers, and the size of packed
// places.
const (
	itemThreads = 512
	itemRoom    = 11776
	itemLayers  = 10
	itemSide    = 1 << 10
	itemScratch = 192
)

// itemPlan is a training step of a network so small that one block can process a whole item: two
// kernels, or three where gradients are clipped.
type itemPlan struct {
	args    itemArgs
	sums    sumsArgs
	blocks  int
	squares cuda.Memory // of each block
}

// newItemPlan returns nil if the network has other layers than dense ones and convolutions, each with or
// without ReLU, or if it is too large.
func newItemPlan(b *builder, ops []nn.Op, loss lossShape) *itemPlan {
	if len(ops) > itemLayers || loss.scratch() > itemScratch {
		return nil
	}
	p := &itemPlan{}
	room := 0
	take := func(n int) int32 {
		at := room
		room += pieces(n, 4) * 4
		return int32(at)
	}
	widest := loss.Components * (loss.Classes + 1)
	for i := range ops {
		op := &ops[i]
		if op.Kind != nn.OpDense && op.Kind != nn.OpConv || op.Act != nn.ActIdentity && op.Act != nn.ActReLU {
			return nil
		}
		l, s := &p.args.layer[i], &p.sums.layer[i]
		l.in, l.out, l.relu = int32(op.In), int32(op.Out), flag(op.Act == nn.ActReLU)
		s.in, s.out = l.in, l.out
		if op.Kind == nn.OpDense {
			l.xAt, l.plain = take(op.In), 1
		} else if !l.shape(op, take) {
			return nil
		}
		if i > 0 {
			widest = max(widest, op.In)
		}
		if room > itemRoom {
			return nil
		}
	}
	a := &p.args
	a.layers, a.outAt, a.votesAt = int32(len(ops)), take(loss.Components*(loss.Classes+1)), take(loss.Classes)
	a.gradAt, a.otherAt = take(widest), take(widest)
	a.spareAt, a.spare = int32(room), int32(itemRoom-room)
	if int(a.spare) < widest {
		return nil
	}
	p.allocate(b, ops)
	return p
}

// shape sets the fields of a convolution layer.
func (l *itemLayer) shape(op *nn.Op, take func(int) int32) bool {
	c := op.Conv
	l.s, l.k, l.t, l.p, l.l = threeOf(c.Size), threeOf(c.Kernel), threeOf(c.Stride), threeOf(c.Pad), threeOf(c.Dilation)
	l.q, l.z = three{1, 1, 1}, threeOf(c.OutSize())
	if op.Pool.Window != [3]int{} {
		l.q, l.z = threeOf(op.Pool.Window), threeOf(op.Pool.OutSize())
	}
	high, wide := l.s.h+2*l.p.h, l.s.w+2*l.p.w
	deep := l.s.d + 2*l.p.d
	if max(deep, high, wide) >= itemSide || int(deep)*int(high)*int(wide)*c.In > itemRoom {
		return false
	}
	l.c, l.o, l.taps = int32(c.In), int32(c.Out), int32(l.k.size())
	l.pitch = (wide + 1) / 2 * 2
	l.plane = deep * high * l.pitch
	l.plain = flag(l.p == three{} && l.pitch == wide)
	l.slices = max(1, min(itemThreads/(l.o*(l.taps+1)), int32(l.z.size())/8))
	if int(l.c)*int(l.plane) > itemRoom || int(l.o)*int(l.c)*int(l.taps) > itemRoom {
		return false
	}
	l.xAt, l.wAt, l.argAt = take(int(l.c*l.plane)), take(int(l.o*l.c*l.taps)), take(op.Out)
	return true
}

// allocate allocates the memory between the kernels, and numbers the blocks of the second kernel.
func (p *itemPlan) allocate(b *builder, ops []nn.Op) {
	for i := range ops {
		op := &ops[i]
		l, s := &p.args.layer[i], &p.sums.layer[i]
		weight, bias := b.tensor(op.Weight), b.tensor(op.Bias)
		l.w, l.bias = weight.value, bias.value
		s.at, s.biasAt, p.sums.first[i] = int32(op.Weight.Offset), -1, int32(p.blocks)
		if op.Bias != nil {
			s.biasAt = int32(op.Bias.Offset)
		}
		if op.Kind == nn.OpDense {
			l.x, l.dy = b.perItem(op.In), b.perItem(op.Out)
			s.x, s.dy = l.x, l.dy
			p.blocks += pieces(op.In+1, 32) * pieces(op.Out, 32)
			continue
		}
		s.in, s.out = l.c*l.taps, l.o
		l.part = b.perItem(int(l.slices * l.o * (s.in + 1)))
		s.part = l.part
		p.blocks += pieces(int(l.o*(s.in+1)), 32)
	}
	p.sums.layers = int32(len(ops))
	p.squares = b.values(2 * p.blocks)
}

// record submits the kernels of a step to the stream.
func (p *itemPlan) record(r *recorder, n *network, s *scoring, x cuda.Memory) {
	a, sums := p.args, p.sums
	a.x, a.loss, a.n = x, s.args(n, r.items), int32(r.items)
	r.launch("item_step", [3]int{r.items, 1, 1}, itemThreads, unsafe.Pointer(&a))
	sums.n, sums.step = int32(r.items), n.steps.args(n)
	for i := range sums.layers {
		sums.layer[i].chunks = int32(r.items) * a.layer[i].slices
	}
	sums.step.squares, sums.step.parts = p.squares, int32(p.blocks)
	r.launch("item_sums", [3]int{p.blocks, 1, 1}, 256, unsafe.Pointer(&sums))
	if sums.step.clip > 0 {
		r.each("optimize", int(sums.step.count), unsafe.Pointer(&sums.step))
	}
}
