package kernel

import "math"

// sparseSlack is how far sparseAdd may write behind a kernel row.
const sparseSlack = 16

// sparseScratch is the working memory of GradSparse. n is the number of pooled
// positions of a channel, slabs the pooled depth.
type sparseScratch struct {
	pos []int32   // [Out, n] where the winners' windows begin, in scan order; 8 more
	g   []float32 // [Out, n] their gradients; 8 more
	end []int32   // [Out, slabs] end of each slab in the lists

	dx []float32 // padded input gradient

	// For the pass by channels: blocks of cb input channels, each block
	// [positions][cb] or, for weights, [Out][taps][cb].
	xc, dxc, wc, dwc []float32
}

func (c *Conv) newSparseScratch() *sparseScratch {
	n := c.shape.Out*volume(c.pooled) + 8
	return &sparseScratch{
		pos: make([]int32, n),
		g:   make([]float32, n),
		end: make([]int32, c.shape.Out*c.pooled[0]),
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
// scan order: for each output row in order it looks through the windows that
// cover it. The windows of a pooled row come in the order of their positions.
func (c *Conv) winners(o int, g []float32, arg []int32, s *sparseScratch) {
	n, slab := len(g), len(g)/c.pooled[0]
	pos, gs := s.pos[o*n:], s.g[o*n:]
	m := 0
	for z := range c.pooled[0] {
		gz, az := g[z*slab:(z+1)*slab], arg[z*slab:(z+1)*slab]
		for d := z * c.pool[0]; d < (z+1)*c.pool[0]; d++ {
			row := d * c.out[1]
			m += active.winners(pos[m:], gs[m:], gz, az, c.pooled[2], c.pooled[1], c.pool[1],
				c.rowPos[row:], row*c.out[2], c.out[2], c.shape.Stride[2])
		}
		s.end[o*c.pooled[0]+z] = int32(m)
	}
}

// winnersGeneric computes, for z < nz and h < ph with r = z·ph + h, and j < n, in
// order,
//
//	l = arg[z·n + j] − (lo + r·width)
//	if 0 ≤ l < width and g[z·n + j] ≠ 0:  pos[m], sel[m] = rowPos[r] + l·stride, g[z·n + j];  m++
//
// and returns m. It may write up to 8 elements beyond. Whether an element counts
// cannot be predicted: it is stored, and overwritten by the next if not.
func winnersGeneric(pos []int32, sel, g []float32, arg []int32, n, nz, ph int, rowPos []int32, lo, width, stride int) int {
	m := 0
	for z := range nz {
		gz, az := g[z*n:(z+1)*n], arg[z*n:(z+1)*n]
		for h := range ph {
			r := z*ph + h
			first, base := int32(lo+r*width), rowPos[r]
			for j, v := range gz {
				l := az[j] - first
				pos[m], sel[m] = base+l*int32(stride), v
				m += int(inRange(l, int32(width)) & nonZero(v))
			}
		}
	}
	return m
}

// nonZero returns 1 if v is not zero, without a branch.
func nonZero(v float32) int32 {
	u := math.Float32bits(v) << 1
	return int32((u | -u) >> 31)
}

// inRange returns 1 if 0 ≤ l < n, without a branch.
func inRange(l, n int32) int32 { return int32(uint32(^l&(l-n)) >> 31) }

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
