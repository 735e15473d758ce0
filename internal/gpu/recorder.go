package gpu

import (
	"cmp"
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// node is an operation on a device, with a forward and a backward pass like a layer of package nn.
type node struct {
	// forward computes y [N, out] from x [N, in].
	forward func(r *recorder, y, x cuda.Memory)
	// backward sets the gradients of parameters and, unless dx is zero, dx; it may use dy as scratch unless keeps
	// is set. For an operation without parameters dx is not zero.
	backward func(r *recorder, dx, dy, y, x cuda.Memory)
	keeps    bool // backward leaves dy as it is
}

// recorder submits kernels for a number of items to a stream, until the first error.
type recorder struct {
	stream *cuda.Stream
	items  int
	mode   mode
	watch  func(kernel string, run func() error) error // measures kernels, where not nil
	err    error
}

// check records an error unless it is nil.
func (r *recorder) check(err error) { r.err = cmp.Or(r.err, err) }

// launch runs a kernel on a grid of blocks.
func (r *recorder) launch(kernel string, grid [3]int, threads int, args unsafe.Pointer) {
	switch {
	case r.err != nil:
	case r.watch != nil:
		r.err = r.watch(kernel, func() error { return r.stream.Launch(kernel, grid, threads, args) })
	default:
		r.err = r.stream.Launch(kernel, grid, threads, args)
	}
}

// each runs a kernel with a thread for each of n values.
func (r *recorder) each(kernel string, n int, args unsafe.Pointer) {
	r.launch(kernel, [3]int{pieces(n, 256), 1, 1}, 256, args)
}

// pieces is n divided by the size of a piece, rounded up.
func pieces(n, size int) int { return (n + size - 1) / size }

// builder builds the nodes of a network and allocates their memory, until the first error.
type builder struct {
	network *network
	train   bool
	err     error
}

// values returns memory for n values.
func (b *builder) values(n int) (m cuda.Memory) {
	if b.err == nil {
		m, b.err = b.network.arena.Values(n)
	}
	return m
}

// pinned returns pinned host memory for n values, or ordinary memory after an error.
func (b *builder) pinned(n int) (x []float32) {
	if b.err == nil {
		x, b.err = b.network.arena.Pinned(n)
	}
	if b.err != nil {
		return make([]float32, n)
	}
	return x
}

// pinnedDoubles returns pinned host memory for n float64 values.
func (b *builder) pinnedDoubles(n int) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b.pinned(2*n)))), n)
}

// perItem returns memory for n values of each item of a batch.
func (b *builder) perItem(n int) cuda.Memory { return b.values(n * b.network.batch) }

// training returns perItem memory that only training needs, or none.
func (b *builder) training(n int) cuda.Memory {
	if !b.train {
		return 0
	}
	return b.perItem(n)
}

// tensor is a parameter on the device.
type tensor struct {
	value, grad cuda.Memory
	size        int
}

func (b *builder) tensor(p *nn.Param) tensor {
	if p == nil {
		return tensor{}
	}
	t := tensor{value: b.network.values.At(p.Offset), size: p.Size()}
	if b.train {
		t.grad = b.network.steps.grads.At(p.Offset)
	}
	return t
}

// The arguments of kernels, field by field as in the structures of the same names in the folder kernels of
// package cuda.

type three struct{ d, h, w int32 }

func threeOf(v [3]int) three { return three{int32(v[0]), int32(v[1]), int32(v[2])} }

func (t three) size() int { return int(t.d) * int(t.h) * int(t.w) }

type convArgs struct {
	x, w, bias, y, arg, dy, dx, part cuda.Memory
	n, c, o                          int32
	s, k, t, p, l, out, q, z         three
	act, chunks                      int32
}

type gatherArgs struct {
	x, w, bias, y, arg, groups, taps, places, dy, part cuda.Memory
	n, rows, xs, ws, plane, q, act, together           int32
	chunks, columns                                    int32
}

type unpoolArgs struct {
	dy, y, arg, to cuda.Memory
	planes, act    int32
	out, q, z      three
}

type sumArgs struct {
	part, a, b, bias            cuda.Memory
	na, nb, chunks, width, relu int32
}

type transposeArgs struct {
	w, to   cuda.Memory
	o, c, k int32
}

type gemmArgs struct {
	a, b, bias, c                        cuda.Memory
	m, n, k, ai, ak, bk, bj, parts, relu int32
}

type columnArgs struct {
	x, sum   cuda.Memory
	n, width int32
}

type normArgs struct {
	x, gamma, beta, y, mean, inv, runMean, runVar, part, dy, dx, dgamma, dbeta cuda.Memory
	n, c, s, train, parts, relu                                                int32
	epsilon, momentum                                                          float32
}

type pointArgs struct {
	x, z, y    cuda.Memory
	count, act int32
}

type copyArgs struct {
	x, y                  cuda.Memory
	n, width, xs, ys, add int32
}

type dropArgs struct {
	x, keys, keep, y cuda.Memory
	n, size          int32
	limit            uint32
	scale            float32
}

type poolArgs struct {
	x, y, arg, dy, dx cuda.Memory
	planes            int32
	s, q, t, p, z     three
}

type globalArgs struct {
	x, y, arg, dy, dx cuda.Memory
	rows, size        int32
}

type embedArgs struct {
	x, table, first, y, dy, dtable cuda.Memory
	n, fields, width               int32
}

type lossArgs struct {
	out, grad, counts, weights, sent, numbers, nll, clamped cuda.Memory
	voters, shifts, scores, grids                           cuda.Memory
	n, k, d                                                 int32
	limit                                                   float32
	nodes, _                                                int32
}

type itemLayer struct {
	w, bias, x, dy, part       cuda.Memory
	relu, in, out, taps, plain int32
	xAt, argAt, wAt            int32
	c, o, slices, plane, pitch int32
	s, k, t, p, l, q, z        three
}

type itemArgs struct {
	x                                                          cuda.Memory
	loss                                                       lossArgs
	n, layers, outAt, votesAt, gradAt, otherAt, spareAt, spare int32
	layer                                                      [itemLayers]itemLayer
}

type sumLayer struct {
	x, dy, part                 cuda.Memory
	in, out, at, biasAt, chunks int32
	_                           int32
}

type sumsArgs struct {
	step      stepArgs
	n, layers int32
	first     [itemLayers]int32
	layer     [itemLayers]sumLayer
}

// flag converts a bool to the type that kernels expect.
func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
