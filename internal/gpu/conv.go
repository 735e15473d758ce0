package gpu

import (
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// conv is a convolution, alone or with an activation and a max-pool of at most 8 positions, as matrix
// products (gather.cu). Its gradients are those of all positions: zero for those that lost in their window.
type conv struct {
	op           nn.Op
	weight, bias tensor
	columns      int // weights of an output channel
	window       int // positions
	forwards     gatherPass
	inputs       gatherPass // the gradient of the input
	weights      gatherPass // the gradient of the weights
	chunks       int        // of a batch for the gradient of the weights
	arg, part    cuda.Memory
	unpooled     *scratch // with a pool: gradients of all positions
}

// scratch is memory that nodes share, each while it runs. It is allocated when the size that each needs is
// known.
type scratch struct {
	size int // values of an item
	at   cuda.Memory
}

func newConv(b *builder, op *nn.Op) node {
	c, window := op.Conv, op.Pool.Window
	if window == [3]int{} {
		window = [3]int{1, 1, 1}
	}
	q := window[0] * window[1] * window[2]
	if q > 8 || q&(q-1) != 0 || c.Kernel[0]+c.Kernel[1]+c.Kernel[2] > gatherBits {
		return newAnyConv(b, op)
	}
	out := c.OutSize()
	area, plane, volume := c.Kernel[0]*c.Kernel[1]*c.Kernel[2], out[0]*out[1]*out[2], c.Size[0]*c.Size[1]*c.Size[2]
	l := &conv{op: *op, weight: b.tensor(op.Weight), bias: b.tensor(op.Bias), columns: c.In * area, window: q}
	l.forwards = newGatherPass(b, forwardTables(c, window), gatherArgs{
		w: l.weight.value, bias: l.bias.value, rows: int32(c.Out), xs: int32(op.In), ws: int32(l.columns),
		plane: int32(op.Out / c.Out), q: int32(q), act: int32(op.Act),
	})
	if !b.train {
		return node{forward: l.forward}
	}
	l.weights = l.forwards
	if q > 1 {
		l.arg, l.unpooled = b.perItem(op.Out), &b.network.unpooled
		l.unpooled.size = max(l.unpooled.size, c.Out*plane)
		l.weights = newGatherPass(b, forwardTables(c, [3]int{1, 1, 1}), gatherArgs{rows: int32(c.Out), xs: int32(op.In)})
	}
	l.weights.args.plane, l.weights.args.columns = int32(plane), int32(l.columns)
	l.chunks = l.chunksOf(b.network.batch)
	l.part = b.values(l.chunks * c.Out * (l.columns + 1))
	l.inputs = newGatherPass(b, backwardTables(c), gatherArgs{
		w: l.weight.value, rows: int32(c.In), xs: int32(c.Out * plane), ws: int32(area), plane: int32(volume), q: 1,
	})
	return node{l.forward, l.backward, q > 1 || op.Act == nn.ActIdentity}
}

func (l *conv) forward(r *recorder, y, x cuda.Memory) {
	a := l.forwards.args
	a.x, a.y = x, y
	if r.mode == training {
		a.arg = l.arg
	}
	l.forwards.run(r, a)
}

// weightTile is a kernel for the gradient of weights: rows and columns of a block, and how many blocks run at a time
// on 132 multiprocessors.
type weightTile struct {
	name                  string
	rows, columns, blocks int
}

// weightTile returns the kernel for the gradient of the weights.
func (l *conv) weightTile() weightTile {
	switch {
	case l.op.Conv.Out <= 16:
		return weightTile{"gather_dw_16x32", 16, 32, 4 * 132}
	case pieces(l.sums(), 32)%2 == 0:
		return weightTile{"gather_dw_32x64", 32, 64, 2 * 132}
	}
	return weightTile{"gather_dw_32x32", 32, 32, 3 * 132}
}

// sums returns the number of gradients of an output channel, with that of the bias.
func (l *conv) sums() int { return l.columns + int(flag(l.bias.size > 0)) }

// chunksOf returns the number of chunks that the positions of the items are cut into, each summed by separate
// blocks: as many as run at a time, since a few more would take as long again.
func (l *conv) chunksOf(items int) int {
	const places = 32 // of a step
	t := l.weightTile()
	tiles := pieces(l.sums(), t.columns) * pieces(l.op.Conv.Out, t.rows)
	return max(1, min(t.blocks/tiles, pieces(items*l.weights.most, places)))
}

func (l *conv) backward(r *recorder, dx, dy, y, x cuda.Memory) {
	out := threeOf(l.op.Conv.OutSize())
	if l.window > 1 {
		dy = l.unpool(r, dy, y, out)
	} else if l.op.Act != nn.ActIdentity {
		slopes(r, dy, dy, y, r.items*l.op.Out, l.op.Act)
	}
	a := l.weights.args
	a.n, a.x, a.dy, a.part = int32(r.items), x, dy, l.part
	chunks := min(l.chunks, l.chunksOf(r.items))
	a.chunks = int32(chunks)
	t := l.weightTile()
	r.launch(t.name, [3]int{chunks, pieces(l.sums(), t.columns), pieces(int(a.rows), t.rows)}, 128, unsafe.Pointer(&a))
	sumWeights(r, l.weight, l.bias, l.part, int(a.rows), l.columns, chunks)
	if dx != 0 {
		a := l.inputs.args
		a.x, a.y = dy, dx
		l.inputs.run(r, a)
	}
}

// unpool returns the gradients of all positions from those of the maxima.
func (l *conv) unpool(r *recorder, dy, y cuda.Memory, out three) cuda.Memory {
	c, p := l.op.Conv, l.op.Pool
	a := unpoolArgs{
		dy: dy, y: y, arg: l.arg, to: l.unpooled.at, planes: int32(r.items * c.Out), act: int32(l.op.Act),
		out: out, q: threeOf(p.Window), z: threeOf(p.OutSize()),
	}
	if a.z.size()*l.window != out.size() { // some positions are in no window
		r.check(r.stream.Zero(a.to, r.items*c.Out*out.size()))
	}
	r.each("unpool", r.items*l.op.Out, unsafe.Pointer(&a))
	return a.to
}

// sumWeights adds the chunks of a gradient of weights and biases.
func sumWeights(r *recorder, weight, bias tensor, part cuda.Memory, rows, columns, chunks int) {
	sums := sumArgs{part: part, a: weight.grad, b: bias.grad, na: int32(rows * columns), nb: int32(rows), chunks: int32(chunks), width: 1}
	r.launch("sum_chunks", [3]int{pieces(rows*(columns+1), 32), 1, 1}, 512, unsafe.Pointer(&sums))
}

// slopes sets dx to dy times the derivative of an activation, from its output or, for GELU, its input.
func slopes(r *recorder, dx, dy, ref cuda.Memory, n int, act nn.Activation) {
	args := pointArgs{x: dy, z: ref, y: dx, count: int32(n), act: int32(act)}
	r.each("activation_dx", n, unsafe.Pointer(&args))
}
