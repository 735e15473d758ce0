package gpu

import (
	"cmp"
	"fmt"
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// dense is y = W·x + b, with or without a ReLU.
type dense struct {
	op           nn.Op
	weight, bias tensor
	part         cuda.Memory // sums over slices of a product
}

func newDense(b *builder, op *nn.Op) node {
	l := &dense{op: *op, weight: b.tensor(op.Weight), bias: b.tensor(op.Bias)}
	l.part = b.values(productBlocks * 16 * 16)
	return node{l.forward, l.backward, op.Act == nn.ActIdentity}
}

// productBlocks is the number of blocks that fills a GPU. A product that is cut has no more tiles of 16² in all.
const productBlocks = 132

// cutProduct returns how a matrix product [m, n] over k is cut: the largest tiles that still fill a GPU and,
// where even the smallest do not, the number of slices of k.
func cutProduct(m, n, k int) (tile, slices int) {
	for _, tile := range []int{64, 32} {
		if pieces(m, tile)*pieces(n, tile) >= productBlocks {
			return tile, 1
		}
	}
	return 16, max(1, min(productBlocks/(pieces(m, 16)*pieces(n, 16)), k/64))
}

// multiply computes c = a·b with the strides in g, adds a bias and applies a ReLU.
func (l *dense) multiply(r *recorder, c cuda.Memory, m, n, k int, g gemmArgs) {
	tile, slices := cutProduct(m, n, k)
	g.m, g.n, g.k, g.c, g.parts = int32(m), int32(n), int32(k), c, int32(slices)
	bias, relu := g.bias, g.relu
	if slices > 1 {
		g.c, g.bias, g.relu = l.part, 0, 0
	}
	r.launch(fmt.Sprintf("gemm_%d", tile), [3]int{pieces(n, tile), pieces(m, tile), slices}, 256, unsafe.Pointer(&g))
	if slices > 1 {
		sums := sumArgs{part: l.part, a: c, bias: bias, na: int32(m * n), chunks: int32(slices), width: int32(n), relu: relu}
		r.launch("sum_chunks", [3]int{pieces(m*n, 32), 1, 1}, 512, unsafe.Pointer(&sums))
	}
}

func (l *dense) forward(r *recorder, y, x cuda.Memory) {
	in, out := l.op.In, l.op.Out
	l.multiply(r, y, r.items, out, in, gemmArgs{
		a: x, b: l.weight.value, bias: l.bias.value, ai: int32(in), ak: 1, bk: 1, bj: int32(in), relu: flag(l.op.Act == nn.ActReLU),
	})
}

// backward: dW = dyᵀ·x, db = Σ dy, dx = dy·W.
func (l *dense) backward(r *recorder, dx, dy, y, x cuda.Memory) {
	in, out := l.op.In, l.op.Out
	if l.op.Act == nn.ActReLU {
		slopes(r, dy, dy, y, r.items*out, nn.ActReLU)
	}
	l.multiply(r, l.weight.grad, out, in, r.items, gemmArgs{a: dy, b: x, ai: 1, ak: int32(out), bk: int32(in), bj: 1})
	if l.bias.size > 0 {
		sums := columnArgs{x: dy, sum: l.bias.grad, n: int32(r.items), width: int32(out)}
		r.launch("column_sums", [3]int{pieces(out, 32), 1, 1}, 256, unsafe.Pointer(&sums))
	}
	if dx != 0 {
		l.multiply(r, dx, r.items, in, out, gemmArgs{a: dy, b: l.weight.value, ai: int32(out), ak: 1, bk: int32(in), bj: 1})
	}
}

// newActivation is an elementwise function.
func newActivation(_ *builder, op *nn.Op) node {
	act, size := op.Act, op.Out
	return node{
		forward: func(r *recorder, y, x cuda.Memory) {
			n := r.items * size
			args := pointArgs{x: x, y: y, count: int32(n), act: int32(act)}
			r.each("activation", n, unsafe.Pointer(&args))
		},
		backward: func(r *recorder, dx, dy, y, x cuda.Memory) {
			ref := y
			if act == nn.ActGELU {
				ref = x
			}
			slopes(r, dx, dy, ref, r.items*size, act)
		},
	}
}

// newPool is a max-pool or an average pool.
func newPool(b *builder, op *nn.Op) node {
	p, in, out := op.Pool, op.In, op.Out
	args := poolArgs{
		s: threeOf(p.Size), q: threeOf(p.Window), t: threeOf(p.Stride), p: threeOf(p.Pad), z: threeOf(p.OutSize()),
	}
	if op.Max {
		args.arg = b.perItem(out)
	}
	return node{
		forward: func(r *recorder, y, x cuda.Memory) {
			a := args
			a.planes, a.x, a.y = int32(r.items*p.Channels), x, y
			r.each("pool", r.items*out, unsafe.Pointer(&a))
		},
		backward: func(r *recorder, dx, dy, _, _ cuda.Memory) {
			a := args
			a.planes, a.dx, a.dy = int32(r.items*p.Channels), dx, dy
			r.each("pool_dx", r.items*in, unsafe.Pointer(&a))
		},
	}
}

// newGlobalPool reduces each channel to its mean or its largest value.
func newGlobalPool(b *builder, op *nn.Op) node {
	in, out := op.In, op.Out
	args := globalArgs{size: int32(in / op.Channels)}
	if op.Max {
		args.arg = b.perItem(out)
	}
	return node{
		forward: func(r *recorder, y, x cuda.Memory) {
			a := args
			a.rows, a.x, a.y = int32(r.items*out), x, y
			r.each("global_pool", r.items*out*32, unsafe.Pointer(&a))
		},
		backward: func(r *recorder, dx, dy, _, _ cuda.Memory) {
			a := args
			a.rows, a.dx, a.dy = int32(r.items*out), dx, dy
			r.each("global_pool_dx", r.items*in, unsafe.Pointer(&a))
		},
	}
}

// normArgsOf returns the arguments that batch and layer norms share.
func normArgsOf(b *builder, op *nn.Op) normArgs {
	gamma, beta := b.tensor(op.Weight), b.tensor(op.Bias)
	return normArgs{
		gamma: gamma.value, beta: beta.value, dgamma: gamma.grad, dbeta: beta.grad,
		c: 1, s: int32(op.In), epsilon: float32(op.Epsilon), momentum: float32(op.Momentum),
	}
}

// normParts returns the number of parts that the values of a channel are cut into, a block each: enough to fill a
// GPU, and no fewer values than its threads sum in a few turns.
func normParts(values, channels int) int {
	const blocks, least, most = 1056, 2048, 64 // 8 blocks for each of 132 multiprocessors
	return max(1, min(pieces(blocks, channels), values/least, most))
}

// newBatchNorm is a batch norm, with a ReLU or without.
func newBatchNorm(b *builder, op *nn.Op) node {
	args, channels, in := normArgsOf(b, op), op.Channels, op.In
	args.c, args.s, args.relu = int32(channels), int32(in/channels), flag(op.Act == nn.ActReLU)
	args.mean, args.inv = b.values(channels), b.values(channels)
	args.part = b.values(channels * normParts(b.network.batch*in/channels, channels) * 4) // float64
	args.runMean, args.runVar = b.network.states[op.Mean], b.network.states[op.Variance]
	grid := func(r *recorder, a *normArgs) [3]int {
		a.n, a.parts = int32(r.items), int32(normParts(r.items*in/channels, channels))
		return [3]int{channels, int(a.parts), 1}
	}
	return node{
		keeps: true,
		forward: func(r *recorder, y, x cuda.Memory) {
			a := args
			a.x, a.y, a.train = x, y, flag(r.mode == training)
			grid := grid(r, &a)
			if r.mode == training {
				r.launch("batch_norm_sums", grid, 256, unsafe.Pointer(&a))
			}
			r.launch("batch_norm", grid, 256, unsafe.Pointer(&a))
		},
		backward: func(r *recorder, dx, dy, _, x cuda.Memory) {
			a := args
			a.x, a.dy, a.dx, a.train = x, dy, dx, 1
			grid := grid(r, &a)
			r.launch("batch_norm_sums", grid, 256, unsafe.Pointer(&a))
			r.launch("batch_norm_dx", grid, 256, unsafe.Pointer(&a))
		},
	}
}

func newLayerNorm(b *builder, op *nn.Op) node {
	args, in := normArgsOf(b, op), op.In
	args.mean, args.inv = b.perItem(1), b.perItem(1)
	return node{
		forward: func(r *recorder, y, x cuda.Memory) {
			a := args
			a.n, a.x, a.y, a.train = int32(r.items), x, y, flag(r.mode == training)
			r.launch("layer_norm", [3]int{r.items, 1, 1}, 256, unsafe.Pointer(&a))
		},
		backward: func(r *recorder, dx, dy, _, x cuda.Memory) {
			a := args
			a.n, a.x, a.dy, a.dx, a.train = int32(r.items), x, dy, dx, 1
			r.each("layer_norm_dw", in, unsafe.Pointer(&a))
			if dx != 0 {
				r.launch("layer_norm_dx", [3]int{r.items, 1, 1}, 256, unsafe.Pointer(&a))
			}
		},
	}
}

// newDropout drops the same values as the CPU engine.
func newDropout(b *builder, op *nn.Op) node {
	n, size, rate := b.network, op.In, op.Rate
	if rate == 0 {
		return node{
			forward:  func(r *recorder, y, x cuda.Memory) { r.check(r.stream.Copy(y, x, r.items*size)) },
			backward: func(r *recorder, dx, dy, _, _ cuda.Memory) { r.check(r.stream.Copy(dx, dy, r.items*size)) },
		}
	}
	at, keep := len(n.drops), b.perItem(size)
	n.drops = append(n.drops, op.Number)
	return node{
		forward: func(r *recorder, y, x cuda.Memory) {
			if r.mode == predicting {
				r.check(r.stream.Copy(y, x, r.items*size))
				return
			}
			args := dropArgs{
				x: x, y: y, keep: keep, keys: n.keysAt.At(at * n.batch * 4), n: int32(r.items), size: int32(size),
				limit: uint32(rate * (1 << 32)), scale: float32(1 / (1 - rate)),
			}
			r.each("dropout", r.items*pieces(size, 4), unsafe.Pointer(&args))
		},
		backward: func(r *recorder, dx, dy, _, _ cuda.Memory) {
			count := r.items * size
			args := pointArgs{x: dy, z: keep, y: dx, count: int32(count)}
			r.each("multiply_each", count, unsafe.Pointer(&args))
		},
	}
}

// newEmbedding maps codes to rows of a table.
func newEmbedding(b *builder, op *nn.Op) node {
	table, in, out, width := b.tensor(op.Weight), op.In, op.Out, op.Width
	first, rows := []int32{0}, 0
	for _, n := range op.Sizes {
		rows += n
		first = append(first, int32(rows))
	}
	args := embedArgs{table: table.value, dtable: table.grad, fields: int32(len(op.Sizes)), width: int32(width)}
	args.first = b.values(len(first))
	if b.err == nil {
		bits := unsafe.Slice((*float32)(unsafe.Pointer(&first[0])), len(first))
		b.err = cmp.Or(b.network.stream.Upload(args.first, bits), b.network.stream.Synchronize())
	}
	return node{
		forward: func(r *recorder, y, x cuda.Memory) {
			a := args
			a.n, a.x, a.y = int32(r.items), x, y
			r.each("embedding", r.items*out, unsafe.Pointer(&a))
		},
		backward: func(r *recorder, dx, dy, _, x cuda.Memory) {
			a := args
			a.n, a.x, a.dy = int32(r.items), x, dy
			r.each("embedding_dw", rows*width, unsafe.Pointer(&a))
			if dx != 0 {
				r.check(r.stream.Zero(dx, r.items*in))
			}
		},
	}
}
