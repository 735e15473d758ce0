package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// anyConv is a convolution that conv is not for: with a max-pool of large windows, of which the backward pass
// visits only the largest position, or with a very large kernel.
type anyConv struct {
	op           nn.Op
	weight, bias tensor
	args         convArgs
	volume       bool // the shape of the kernels in volume.cu
	taps         int  // of all input channels
	chunks       int  // of a batch for the gradient of the weights
	arg, part    cuda.Memory
	turned       cuda.Memory // weights for the gradient of the input
}

// maxBlocks is the largest second and third size of a grid.
const maxBlocks = 65535

func newAnyConv(b *builder, op *nn.Op) node {
	c := op.Conv
	l := &anyConv{op: *op, weight: b.tensor(op.Weight), bias: b.tensor(op.Bias)}
	l.taps = c.In * c.Kernel[0] * c.Kernel[1] * c.Kernel[2]
	l.args = convArgs{
		w: l.weight.value, bias: l.bias.value, c: int32(c.In), o: int32(c.Out), s: threeOf(c.Size), k: threeOf(c.Kernel),
		t: threeOf(c.Stride), p: threeOf(c.Pad), l: threeOf(c.Dilation), out: threeOf(c.OutSize()), act: int32(op.Act),
		q: three{1, 1, 1}, z: threeOf(c.OutSize()),
	}
	if op.Pool.Window != [3]int{} {
		l.args.q, l.args.z = threeOf(op.Pool.Window), threeOf(op.Pool.OutSize())
		if slices.Max(op.Pool.Window[:]) > 255 {
			b.err = cmp.Or(b.err,
				fmt.Errorf("no max-pool of windows %v after a convolution on this device, at most 255", op.Pool.Window))
		}
	}
	one, five := [3]int{1, 1, 1}, [3]int{5, 5, 5}
	l.volume = c.In == 1 && c.Kernel == five && op.Pool.Window == five && c.Stride == one && c.Dilation == one && c.Pad == [3]int{}
	l.arg = b.training(op.Out)
	if b.train {
		l.chunks = l.chunksOf(b.network.batch)
		l.part = b.values(l.chunks * c.Out * (l.taps + 1))
		l.turned = b.values(c.Out * l.taps / c.In * pieces(c.In, 8) * 8)
	}
	return node{forward: l.forward, backward: l.backward}
}

// chunksOf returns the number of chunks that the windows of the items are cut into, each summed by
// separate blocks: enough to fill any GPU.
func (l *anyConv) chunksOf(items int) int {
	const blocks = 1056 // 8 for each of 132 multiprocessors
	if l.volume {
		return min(items*int(l.args.z.d*l.args.z.h)*pieces(int(l.args.z.w), 15), blocks)
	}
	wide := pieces(l.taps+1, 128) * pieces(int(l.args.o), 16)
	return max(1, min(blocks/wide, items*l.args.z.size()/16))
}

// forEach calls f with the arguments for some items at a time, as many as fit a grid with the given
// number of blocks per item.
func (l *anyConv) forEach(r *recorder, a convArgs, blocks int, f func(a *convArgs)) {
	step := max(1, maxBlocks/blocks)
	for lo := 0; lo < r.items; lo += step {
		some := a
		some.n = int32(min(step, r.items-lo))
		some.x, some.dx = a.x.At(lo*l.op.In), a.dx.At(lo*l.op.In)
		some.y, some.arg, some.dy = a.y.At(lo*l.op.Out), a.arg.At(lo*l.op.Out), a.dy.At(lo*l.op.Out)
		f(&some)
	}
}

func (l *anyConv) forward(r *recorder, y, x cuda.Memory) {
	a := l.args
	a.x, a.y = x, y
	if r.mode == training {
		a.arg = l.arg
	}
	o := int(a.o)
	if l.volume {
		groups := pieces(o, 16)
		l.forEach(r, a, groups, func(a *convArgs) {
			grid := [3]int{pieces(int(a.z.w), 15) * pieces(int(a.z.h), 2), int(a.z.d), int(a.n) * groups}
			r.launch("volume_pool", grid, 128, unsafe.Pointer(a))
		})
		return
	}
	l.forEach(r, a, pieces(o, 4), func(a *convArgs) {
		r.launch("conv_pool", [3]int{pieces(a.z.size(), 128), pieces(o, 4) * int(a.n), 1}, 128, unsafe.Pointer(a))
	})
}

func (l *anyConv) backward(r *recorder, dx, dy, y, x cuda.Memory) {
	if l.op.Act != nn.ActIdentity {
		slopes(r, dy, dy, y, r.items*l.op.Out, l.op.Act)
	}
	a := l.args
	a.n, a.x, a.dy, a.arg, a.part = int32(r.items), x, dy, l.arg, l.part
	chunks := min(l.chunks, l.chunksOf(r.items))
	a.chunks = int32(chunks)
	o := int(a.o)
	if l.volume {
		r.launch("volume_dw", [3]int{chunks, pieces(o, 16), 1}, 256, unsafe.Pointer(&a))
	} else {
		r.launch("conv_pool_dw", [3]int{chunks, pieces(l.taps+1, 128), pieces(o, 16)}, 128, unsafe.Pointer(&a))
	}
	sumWeights(r, l.weight, l.bias, l.part, o, l.taps, chunks)
	if dx == 0 {
		return
	}
	kernelSize := a.k.size()
	turn := transposeArgs{w: l.weight.value, to: l.turned, o: a.o, c: a.c, k: int32(kernelSize)}
	r.each("transpose_weights", o*kernelSize*pieces(int(a.c), 8)*8, unsafe.Pointer(&turn))
	a.w, a.dx = l.turned, dx
	groups := pieces(int(a.c), 8)
	l.forEach(r, a, groups, func(a *convArgs) {
		r.launch("conv_pool_dx", [3]int{pieces(a.s.size(), 32), groups * int(a.n), 1}, 256, unsafe.Pointer(a))
	})
}
