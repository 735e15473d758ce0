package gpu

import (
	"unsafe"

	"credence/internal/cuda"
	"credence/internal/kernel"
	"credence/nn"
)

// dense is y = W·x + b, with or without a ReLU.
type dense struct {
	op           nn.Op
	weight, bias tensor
	part         cuda.Memory // sums of parts of a product
}

func newDense(b *builder, op *nn.Op) node {
	l := &dense{op: *op, weight: b.tensor(op.Weight), bias: b.tensor(op.Bias)}
	l.part = b.values(productBlocks * 16 * 16)
	return node{l.forward, l.backward}
}

// product is how a matrix product [m, n] over k is cut: a kernel, its tiles, and parts of k.
type product struct {
	tile, parts int
	kernel      string
}

// productBlocks is how many blocks fill a GPU. A product that is cut has no more tiles of 16² in all.
const productBlocks = 132

// cutProduct takes the largest tiles that still fill a GPU, and cuts k where even small ones do not.
func cutProduct(m, n, k int) product {
	p := product{tile: 16, parts: 1, kernel: "gemm_16"}
	for _, t := range []struct {
		tile   int
		kernel string
	}{{64, "gemm_64"}, {32, "gemm_32"}} {
		if pieces(m, t.tile)*pieces(n, t.tile) >= productBlocks {
			p.tile, p.kernel = t.tile, t.kernel
			return p
		}
	}
	tiles := pieces(m, 16) * pieces(n, 16)
	p.parts = max(1, min(productBlocks/tiles, k/64))
	return p
}

// multiply computes c = a·b with the strides in g, adds a bias and applies a ReLU.
func (l *dense) multiply(r *recorder, c cuda.Memory, m, n, k int, g gemmArgs) {
	p := cutProduct(m, n, k)
	g.m, g.n, g.k, g.parts = int32(m), int32(n), int32(k), int32(p.parts)
	to, bias, relu := c, g.bias, g.relu
	if p.parts > 1 {
		to, g.bias, g.relu = l.part, 0, 0
	}
	g.c = to
	r.launch(p.kernel, [3]int{pieces(n, p.tile), pieces(m, p.tile), p.parts}, 256, unsafe.Pointer(&g))
	if p.parts > 1 {
		sums := sumArgs{part: l.part, a: c, bias: bias, na: int32(m * n), chunks: int32(p.parts), width: int32(n), relu: relu}
		r.launch("sum_chunks", [3]int{pieces(m*n, 32), 1, 1}, 512, unsafe.Pointer(&sums))
	}
}

func (l *dense) forward(r *recorder, y, x cuda.Memory) {
	in, out := l.op.In, l.op.Out
	l.multiply(r, y, r.items, out, in, gemmArgs{
		a: x, b: l.weight.value, bias: l.bias.value, ai: int32(in), ak: 1, bk: 1, bj: int32(in), relu: flag(l.op.Act == kernel.ReLU),
	})
}

// backward: dW = dyᵀ·x, db = Σ dy, dx = dy·W.
func (l *dense) backward(r *recorder, dx, dy, y, x cuda.Memory) {
	in, out := l.op.In, l.op.Out
	if l.op.Act == kernel.ReLU {
		slopes(r, dy, dy, y, r.items*out, kernel.ReLU)
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
