package gpu

import "credence/internal/cuda"

// What kernels take, field by field as in the structures of the same names in the folder kernels of
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
	n, c, s, train                                                             int32
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
	n, k, d                                                 int32
	limit                                                   float32
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

// flag is a bool as kernels take it.
func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
