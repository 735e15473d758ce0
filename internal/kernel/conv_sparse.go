package kernel

import (
	"math"
	"math/bits"
)

// sparseSlack is how far sparseAdd may write behind a kernel row.
const sparseSlack = 16

// sparseScratch is the working memory of GradSparse. n is the number of pooled
// positions of a channel, slabs the pooled depth.
type sparseScratch struct {
	pos []int32   // [Out, n] where the winners' windows begin, in scan order
	g   []float32 // [Out, n] their gradients
	end []int32   // [Out, slabs] end of each slab in the lists

	rowPos []int32   // [output rows of a slab, pooled W] winners by row
	rowG   []float32 // the same
	count  []int32   // [output rows of a slab]

	dx []float32 // padded input gradient

	// For the pass by channels: blocks of cb input channels, each block
	// [positions][cb] or, for weights, [Out][taps][cb].
	xc, dxc, wc, dwc []float32
}

func (c *Conv) newSparseScratch() *sparseScratch {
	n, rows := volume(c.pooled), c.pool[0]*c.out[1]
	return &sparseScratch{
		pos:    make([]int32, c.shape.Out*n),
		g:      make([]float32, c.shape.Out*n),
		end:    make([]int32, c.shape.Out*c.pooled[0]),
		rowPos: make([]int32, rows*c.pooled[2]),
		rowG:   make([]float32, rows*c.pooled[2]),
		count:  make([]int32, rows),
	}
}

// GradSparse is the backward pass of ForwardPool for one item. g [Out,
// PooledSize] is the gradient of the pooled convolution, already multiplied by
// the derivative of the activation (Activation.Backward on the pooled output);
// arg is from ForwardPool. It adds the weight and bias gradients to dw [Out,
// In, KD, KH, KW] and db [Out] or nil, and, unless dx is nil, sets dx [In,
// Size] to the input gradient, for which it reads the weights w [Out, In, KD,
// KH, KW].
//
// Only the winners of the windows pass a gradient. They are visited channel by
// channel in the order of their positions, so that for finite data the sums
// equal those of GradWeight and GradInput, to which the other positions only
// contribute zeros, bit for bit.
//
// There are two passes that differ in what a vector holds: the taps of a kernel
// row, or input channels.
func (c *Conv) GradSparse(dw, db, dx, g []float32, arg []int32, x, w []float32, s *ConvScratch) {
	plane := volume(c.pooled)
	checkLen("Conv.GradSparse", len(dw), c.shape.Out*c.taps)
	checkLen("Conv.GradSparse", len(g), c.shape.Out*plane)
	checkLen("Conv.GradSparse", len(arg), c.shape.Out*plane)
	checkLen("Conv.GradSparse", len(x), c.shape.In*volume(c.shape.Size))
	if dx != nil {
		checkLen("Conv.GradSparse", len(dx), c.shape.In*volume(c.shape.Size))
		checkLen("Conv.GradSparse", len(w), c.shape.Out*c.taps)
	}
	if s.sparse == nil {
		s.sparse = c.newSparseScratch()
	}
	for o := range c.shape.Out {
		c.winners(o, g[o*plane:(o+1)*plane], arg[o*plane:(o+1)*plane], s.sparse)
		if db != nil {
			sum := db[o]
			_, gs := c.all(s.sparse, o)
			for _, v := range gs {
				sum += v
			}
			db[o] = sum
		}
	}
	if c.byChannels() {
		c.sparseByChannels(dw, dx, x, w, s)
	} else {
		c.sparseByRows(dw, dx, x, w, s)
	}
}

// winners lists the positions of channel o through which a gradient passes, in
// scan order. The windows of one pooled row are met in the order of their
// positions, so it is enough to collect the winners of a slab of windows by
// output row and to join the rows. Zeros are stored and overwritten: whether a
// gradient is zero cannot be predicted.
func (c *Conv) winners(o int, g []float32, arg []int32, s *sparseScratch) {
	n, slab := len(g), len(g)/c.pooled[0]
	pos, gs := s.pos[o*n:(o+1)*n], s.g[o*n:(o+1)*n]
	width, pitch, stride := int32(c.out[2]), c.pooled[2], int32(c.shape.Stride[2])
	count := s.count
	m := 0
	for z := range c.pooled[0] {
		clear(count)
		row0 := z * len(count)
		at := arg[z*slab : (z+1)*slab]
		for j, v := range g[z*slab : (z+1)*slab] {
			row := c.rowOf(at[j])
			r := row - row0
			k := count[r]
			s.rowPos[r*pitch+int(k)] = c.rowPos[row] + (at[j]-int32(row)*width)*stride
			s.rowG[r*pitch+int(k)] = v
			u := math.Float32bits(v) << 1 // zero for both zeros
			count[r] = k + int32((u|-u)>>31)
		}
		for r, k := range count {
			for j := r * pitch; j < r*pitch+int(k); j++ {
				pos[m], gs[m] = s.rowPos[j], s.rowG[j]
				m++
			}
		}
		s.end[o*c.pooled[0]+z] = int32(m)
	}
}

// slab returns the winners of channel o in slab z.
func (c *Conv) slab(s *sparseScratch, o, z int) (pos []int32, g []float32) {
	n, end := volume(c.pooled), s.end[o*c.pooled[0]:(o+1)*c.pooled[0]]
	lo, hi := o*n, o*n+int(end[z])
	if z > 0 {
		lo += int(end[z-1])
	}
	return s.pos[lo:hi], s.g[lo:hi]
}

// all returns the winners of channel o.
func (c *Conv) all(s *sparseScratch, o int) (pos []int32, g []float32) {
	n := volume(c.pooled)
	m := int(s.end[(o+1)*c.pooled[0]-1])
	return s.pos[o*n : o*n+m], s.g[o*n : o*n+m]
}

// rowOf returns p / out W. Multiplying by ⌈2⁶⁴/d⌉ and keeping the upper half
// divides any 32-bit number exactly (Lemire, Kaser & Kurz 2019); d = 1 does not
// fit 64 bits.
func (c *Conv) rowOf(p int32) int {
	if c.div == 0 {
		return int(p)
	}
	hi, _ := bits.Mul64(uint64(uint32(p)), c.div)
	return int(hi)
}
