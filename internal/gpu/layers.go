package gpu

import (
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// activation is an elementwise function.
type activation struct{ op nn.Op }

func (l *activation) forward(r *recorder, y, x cuda.Memory) {
	n := r.items * l.op.Out
	args := pointArgs{x: x, y: y, count: int32(n), act: int32(l.op.Act)}
	r.each("activation", n, unsafe.Pointer(&args))
}

func (l *activation) backward(r *recorder, dx, dy, y, x cuda.Memory) {
	if dx == 0 {
		return
	}
	ref := y
	if l.op.Act.NeedsInput() {
		ref = x
	}
	slopes(r, dx, dy, ref, r.items*l.op.Out, l.op.Act)
}

// pool is a max-pool or an average pool.
type pool struct {
	op   nn.Op
	args poolArgs
}

func newPool(b *builder, op *nn.Op) node {
	p := op.Pool
	l := &pool{op: *op, args: poolArgs{
		s: threeOf(p.Size), q: threeOf(p.Window), t: threeOf(p.Stride), p: threeOf(p.Pad), z: threeOf(p.OutSize()),
	}}
	if op.Max {
		l.args.arg = b.perItem(op.Out)
	}
	return l
}

func (l *pool) forward(r *recorder, y, x cuda.Memory) {
	a := l.args
	a.planes, a.x, a.y = int32(r.items*l.op.Pool.Channels), x, y
	r.each("pool", r.items*l.op.Out, unsafe.Pointer(&a))
}

func (l *pool) backward(r *recorder, dx, dy, _, _ cuda.Memory) {
	if dx == 0 {
		return
	}
	a := l.args
	a.planes, a.dx, a.dy = int32(r.items*l.op.Pool.Channels), dx, dy
	r.each("pool_dx", r.items*l.op.In, unsafe.Pointer(&a))
}

// globalPool reduces each channel to its mean or its largest value.
type globalPool struct {
	op   nn.Op
	args globalArgs
}

func newGlobalPool(b *builder, op *nn.Op) node {
	l := &globalPool{op: *op, args: globalArgs{size: int32(op.In / op.Channels)}}
	if op.Max {
		l.args.arg = b.perItem(op.Out)
	}
	return l
}

func (l *globalPool) forward(r *recorder, y, x cuda.Memory) {
	a := l.args
	a.rows, a.x, a.y = int32(r.items*l.op.Out), x, y
	r.each("global_pool", r.items*l.op.Out, unsafe.Pointer(&a))
}

func (l *globalPool) backward(r *recorder, dx, dy, _, _ cuda.Memory) {
	if dx == 0 {
		return
	}
	a := l.args
	a.rows, a.dx, a.dy = int32(r.items*l.op.Out), dx, dy
	r.each("global_pool_dx", r.items*l.op.In, unsafe.Pointer(&a))
}

// norm is a batch norm or a layer norm.
type norm struct {
	op          nn.Op
	gamma, beta tensor
	batch       bool
	args        normArgs
}

const normParts = 16 // as in norm.cu

func newNorm(b *builder, op *nn.Op) node {
	l := &norm{op: *op, gamma: b.tensor(op.Weight), beta: b.tensor(op.Bias), batch: op.Kind == nn.OpBatchNorm}
	a := normArgs{
		gamma: l.gamma.value, beta: l.beta.value, dgamma: l.gamma.grad, dbeta: l.beta.grad,
		c: 1, s: int32(op.In), epsilon: float32(op.Epsilon), momentum: float32(op.Momentum),
	}
	if l.batch {
		a.c, a.s = int32(op.Channels), int32(op.In/op.Channels)
		a.mean, a.inv = b.values(op.Channels), b.values(op.Channels)
		a.part = b.values(op.Channels * normParts * 4) // float64
		a.runMean, a.runVar = b.network.states[op.Mean], b.network.states[op.Variance]
	} else {
		a.mean, a.inv = b.perItem(1), b.perItem(1)
	}
	l.args = a
	return l
}

func (l *norm) forward(r *recorder, y, x cuda.Memory) {
	a := l.args
	a.n, a.x, a.y, a.train = int32(r.items), x, y, flag(r.mode == training)
	if !l.batch {
		r.launch("layer_norm", [3]int{r.items, 1, 1}, 256, unsafe.Pointer(&a))
		return
	}
	if r.mode == training {
		r.launch("batch_norm_sums", [3]int{int(a.c), normParts, 1}, 256, unsafe.Pointer(&a))
	}
	r.each("batch_norm_statistics", int(a.c), unsafe.Pointer(&a))
	r.each("batch_norm", r.items*l.op.In, unsafe.Pointer(&a))
}

func (l *norm) backward(r *recorder, dx, dy, _, x cuda.Memory) {
	a := l.args
	a.n, a.x, a.dy, a.dx, a.train = int32(r.items), x, dy, dx, 1
	if l.batch {
		r.launch("batch_norm_sums", [3]int{int(a.c), normParts, 1}, 256, unsafe.Pointer(&a))
		r.each("batch_norm_dx", max(r.items*l.op.In, int(a.c)), unsafe.Pointer(&a))
		return
	}
	r.each("layer_norm_dw", l.op.In, unsafe.Pointer(&a))
	if dx != 0 {
		r.launch("layer_norm_dx", [3]int{r.items, 1, 1}, 256, unsafe.Pointer(&a))
	}
}

// dropout drops what the CPU would drop.
type dropout struct {
	op   nn.Op
	net  *network
	keep cuda.Memory
	at   int // which of the network's
}

func newDropout(b *builder, op *nn.Op) node {
	l := &dropout{op: *op, net: b.network, at: len(b.network.drops)}
	if op.Rate > 0 {
		l.keep = b.perItem(op.In)
		b.network.drops = append(b.network.drops, l)
	}
	return l
}

func (l *dropout) forward(r *recorder, y, x cuda.Memory) {
	if r.mode == predicting || l.op.Rate == 0 {
		r.check(r.stream.Copy(y, x, r.items*l.op.In))
		return
	}
	args := dropArgs{
		x: x, y: y, keep: l.keep, keys: l.net.keysAt.At(l.at * l.net.batch * 4), n: int32(r.items), size: int32(l.op.In),
		limit: uint32(l.op.Rate * (1 << 32)), scale: float32(1 / (1 - l.op.Rate)),
	}
	r.each("dropout", r.items*pieces(l.op.In, 4), unsafe.Pointer(&args))
}

func (l *dropout) backward(r *recorder, dx, dy, _, _ cuda.Memory) {
	switch {
	case dx == 0:
	case l.op.Rate == 0:
		r.check(r.stream.Copy(dx, dy, r.items*l.op.In))
	default:
		n := r.items * l.op.In
		args := pointArgs{x: dy, z: l.keep, y: dx, count: int32(n)}
		r.each("multiply_each", n, unsafe.Pointer(&args))
	}
}

// embedding maps codes to rows of a table.
type embedding struct {
	op    nn.Op
	table tensor
	args  embedArgs
	rows  int
}

func newEmbedding(b *builder, op *nn.Op) node {
	l := &embedding{op: *op, table: b.tensor(op.Weight)}
	first := []int32{0}
	for _, n := range op.Sizes {
		l.rows += n
		first = append(first, int32(l.rows))
	}
	l.args = embedArgs{table: l.table.value, dtable: l.table.grad, fields: int32(len(op.Sizes)), width: int32(op.Width)}
	l.args.first = b.values(len(first))
	if b.err == nil {
		bits := unsafe.Slice((*float32)(unsafe.Pointer(&first[0])), len(first))
		if b.err = b.network.stream.Upload(l.args.first, bits); b.err == nil {
			b.err = b.network.stream.Synchronize()
		}
	}
	return l
}

func (l *embedding) forward(r *recorder, y, x cuda.Memory) {
	a := l.args
	a.n, a.x, a.y = int32(r.items), x, y
	r.each("embedding", r.items*l.op.Out, unsafe.Pointer(&a))
}

func (l *embedding) backward(r *recorder, dx, dy, _, x cuda.Memory) {
	a := l.args
	a.n, a.x, a.dy = int32(r.items), x, dy
	r.each("embedding_dw", l.rows*l.op.Width, unsafe.Pointer(&a))
	if dx != 0 {
		r.check(r.stream.Zero(dx, r.items*l.op.In))
	}
}
