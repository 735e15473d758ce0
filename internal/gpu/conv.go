package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// conv is a convolution, alone or with an activation and a max-pool. With a pool, the backward pass
// visits only the largest position of each window.
type conv struct {
	op           nn.Op
	weight, bias tensor
	args         convArgs
	pooled       bool
	volume       bool // the shape of the kernels in volume.cu
	taps         int  // of all input channels
	chunks       int  // of a batch for the gradient of the weights
	arg, part    cuda.Memory
	turned       cuda.Memory // weights for the gradient of the input
}

// maxBlocks is the largest second and third size of a grid.
const maxBlocks = 65535

// poolKernels are the windows with a kernel of their own, conv_pool_DxHxW; conv_pool is for any. The values are
// the output channels per thread of a variant for fewer threads than manyThreads, which would not fill a GPU;
// 0 if there is none.
var poolKernels = map[[3]int]int{{1, 1, 2}: 0, {1, 2, 1}: 0, {1, 2, 2}: 2, {2, 2, 2}: 4}

const manyThreads = 16 * 1024

func newConv(b *builder, op *nn.Op) node {
	c := op.Conv
	l := &conv{op: *op, weight: b.tensor(op.Weight), bias: b.tensor(op.Bias), pooled: op.Pool.Window != [3]int{}}
	l.taps = c.In * c.Kernel[0] * c.Kernel[1] * c.Kernel[2]
	l.args = convArgs{
		w: l.weight.value, bias: l.bias.value, c: int32(c.In), o: int32(c.Out), s: threeOf(c.Size), k: threeOf(c.Kernel),
		t: threeOf(c.Stride), p: threeOf(c.Pad), l: threeOf(c.Dilation), out: threeOf(c.OutSize()), act: int32(op.Act),
	}
	if l.pooled {
		l.args.q, l.args.z = threeOf(op.Pool.Window), threeOf(op.Pool.OutSize())
		if slices.Max(op.Pool.Window[:]) > 255 {
			b.err = cmp.Or(b.err,
				fmt.Errorf("no max-pool of windows %v after a convolution on this device, at most 255", op.Pool.Window))
		}
		one := [3]int{1, 1, 1}
		five := [3]int{5, 5, 5}
		l.volume = c.In == 1 && c.Kernel == five && op.Pool.Window == five && c.Stride == one && c.Dilation == one && c.Pad == [3]int{}
		l.arg = b.training(op.Out)
	}
	if b.train {
		l.chunks = l.chunksOf(b.network.batch)
		l.part = b.values(l.chunks * c.Out * (l.taps + 1))
		l.turned = b.values(c.Out * l.taps / c.In * pieces(c.In, 8) * 8)
	}
	return node{l.forward, l.backward}
}

// chunksOf returns the number of chunks that the positions of the items are cut into, each summed by
// separate blocks: enough to fill any GPU.
func (l *conv) chunksOf(items int) int {
	const blocks = 1056 // 8 for each of 132 multiprocessors
	if l.volume {
		return min(items*int(l.args.z.d*l.args.z.h)*pieces(int(l.args.z.w), 15), blocks)
	}
	z := l.args.out
	if l.pooled {
		z = l.args.z
	}
	wide := pieces(l.taps+1, 128) * pieces(int(l.args.o), 16)
	return max(1, min(blocks/wide, items*z.size()/16))
}

// forEach calls f with the arguments for some items at a time, as many as fit a grid with the given
// number of blocks per item.
func (l *conv) forEach(r *recorder, a convArgs, blocks int, f func(a *convArgs)) {
	step := max(1, maxBlocks/blocks)
	for lo := 0; lo < r.items; lo += step {
		some := a
		some.n = int32(min(step, r.items-lo))
		some.x, some.dx = a.x.At(lo*l.op.In), a.dx.At(lo*l.op.In)
		some.y, some.arg, some.dy = a.y.At(lo*l.op.Out), a.arg.At(lo*l.op.Out), a.dy.At(lo*l.op.Out)
		f(&some)
	}
}

func (l *conv) forward(r *recorder, y, x cuda.Memory) {
	a := l.args
	a.x, a.y = x, y
	if r.mode == training {
		a.arg = l.arg
	}
	o, window := int(a.o), l.op.Pool.Window
	narrow, special := poolKernels[window]
	switch {
	case l.volume:
		groups := pieces(o, 16)
		l.forEach(r, a, groups, func(a *convArgs) {
			grid := [3]int{pieces(int(a.z.w), 15) * pieces(int(a.z.h), 2), int(a.z.d), int(a.n) * groups}
			r.launch("volume_pool", grid, 128, unsafe.Pointer(a))
		})
	case l.pooled && !special:
		l.forEach(r, a, pieces(o, 4), func(a *convArgs) {
			r.launch("conv_pool", [3]int{pieces(a.z.size(), 128), pieces(o, 4) * int(a.n), 1}, 128, unsafe.Pointer(a))
		})
	case l.pooled:
		a.n = int32(r.items)
		name, wide := fmt.Sprintf("conv_pool_%dx%dx%d", window[0], window[1], window[2]), 8
		if narrow > 0 && r.items*a.z.size()*pieces(o, 8) < manyThreads {
			name, wide = name+"_narrow", narrow
		}
		r.launch(name, [3]int{pieces(r.items*a.z.size(), 128), pieces(o, wide), 1}, 128, unsafe.Pointer(&a))
	default:
		name, tile := "conv_2d", three{1, 1, 4}
		if a.out.d > 1 {
			name, tile = "conv_3d", three{1, 2, 4}
		}
		tiles := pieces(int(a.out.d), int(tile.d)) * pieces(int(a.out.h), int(tile.h)) * pieces(int(a.out.w), int(tile.w))
		a.n = int32(r.items)
		r.launch(name, [3]int{pieces(r.items*tiles, 128), pieces(o, 8), 1}, 128, unsafe.Pointer(&a))
	}
}

func (l *conv) backward(r *recorder, dx, dy, y, x cuda.Memory) {
	if l.op.Act != nn.ActIdentity {
		slopes(r, dy, dy, y, r.items*l.op.Out, l.op.Act)
	}
	a := l.args
	a.n, a.x, a.dy, a.arg, a.part = int32(r.items), x, dy, l.arg, l.part
	chunks := min(l.chunks, l.chunksOf(r.items))
	a.chunks = int32(chunks)
	o := int(a.o)
	name, grid, threads := "conv_dw", [3]int{chunks, pieces(l.taps+1, 128), pieces(o, 16)}, 128
	switch {
	case l.volume:
		name, grid, threads = "volume_dw", [3]int{chunks, pieces(o, 16), 1}, 256
	case l.pooled:
		name = "conv_pool_dw"
	}
	r.launch(name, grid, threads, unsafe.Pointer(&a))
	sums := sumArgs{part: l.part, a: l.weight.grad, b: l.bias.grad, na: int32(o * l.taps), nb: int32(o), chunks: int32(chunks), width: 1}
	r.launch("sum_chunks", [3]int{pieces(o*(l.taps+1), 32), 1, 1}, 512, unsafe.Pointer(&sums))
	if dx == 0 {
		return
	}
	kernelSize := a.k.size()
	turn := transposeArgs{w: l.weight.value, to: l.turned, o: a.o, c: a.c, k: int32(kernelSize)}
	r.each("transpose_weights", o*kernelSize*pieces(int(a.c), 8)*8, unsafe.Pointer(&turn))
	var each int
	name, each, threads = "conv_dx", 128, 128
	if l.pooled {
		name, each, threads = "conv_pool_dx", 32, 256
	}
	a.w, a.dx = l.turned, dx
	groups := pieces(int(a.c), 8)
	l.forEach(r, a, groups, func(a *convArgs) {
		r.launch(name, [3]int{pieces(a.s.size(), each), groups * int(a.n), 1}, threads, unsafe.Pointer(a))
	})
}

// slopes sets dx to dy times the derivative of an activation, from its output or, for GELU, its input.
func slopes(r *recorder, dx, dy, ref cuda.Memory, n int, act nn.Activation) {
	args := pointArgs{x: dy, z: ref, y: dx, count: int32(n), act: int32(act)}
	r.each("activation_dx", n, unsafe.Pointer(&args))
}
