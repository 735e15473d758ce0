package kernel

import "math"

// sparseSlack is how far sparseAdd may write behind a kernel row, winnerSlack how far winners may behind the last one.
const (
	sparseSlack = 16
	winnerSlack = 16
)

// sparseScratch is the working memory of GradSparse. n is the number of pooled
// positions of a channel, slabs the pooled depth.
type sparseScratch struct {
	pos []int32   // [Out, n] where the winners' windows begin, in scan order; winnerSlack more
	g   []float32 // [Out, n] their gradients; winnerSlack more
	end []int32   // [Out, slabs] end of each slab in pos and g

	dx   []float32  // padded input gradient
	none [2]float32 // for sums that are not wanted

	// For the pass by channels: blocks [positions][cb] of cb input channels; dxc has one block.
	xc, dxc []float32
}

// SparseLen returns the number of values that the weights, and their gradients, take in the layout of [Conv.GradSparse].
func (s ConvShape) SparseLen() int {
	in := s.In
	if s.byChannels() {
		in = roundUp(in, 8)
	}
	return in * s.Out * volume(s.Kernel)
}

// byChannels reports whether input channels fill vectors of 8 better than the
// taps of a kernel row do.
func (s ConvShape) byChannels() bool {
	kw := s.Kernel[2]
	if s.Dilation[2] > 1 {
		kw = 1
	}
	return s.In*roundUp(kw, 8) > kw*roundUp(s.In, 8)
}

// PackSparse lays the weights w [Out, In, KD, KH, KW] out for [Conv.GradSparse]: as they are if vectors hold the taps of a kernel row,
// else [Out][KD·KH·KW][cb] for each block of cb input channels.
func (c *Conv) PackSparse(packed, w []float32) {
	if !c.shape.byChannels() {
		copy(packed, w)
		return
	}
	k := volume(c.shape.Kernel)
	c.eachWeightBlock(func(at, from, cb, used int) { active.block(packed[at:], w[from:], k, k, cb, used) })
}

// UnpackSparse sets weight gradients dw [Out, In, KD, KH, KW] from those in the layout of PackSparse.
func (c *Conv) UnpackSparse(dw, packed []float32) {
	if !c.shape.byChannels() {
		copy(dw, packed)
		return
	}
	k := volume(c.shape.Kernel)
	c.eachWeightBlock(func(at, from, cb, used int) { active.unblock(dw[from:], k, packed[at:], k, cb, used) })
}

// eachWeightBlock calls f for each block of cb input channels, of which used are
// there, and each output channel: at is its place in blocks, from in weights.
func (c *Conv) eachWeightBlock(f func(at, from, cb, used int)) {
	k := volume(c.shape.Kernel)
	for c0 := 0; c0 < c.shape.In; c0 += lanes {
		cb, used := blockWidth(c0, c.shape.In)
		for o := range c.shape.Out {
			f((c0*c.shape.Out+o*cb)*k, o*c.taps+c0*k, cb, used)
		}
	}
}

// GradSparse is the backward pass of ForwardPool for n items. g [n, Out,
// PooledSize] is the gradient of the pooled convolution, already multiplied by
// the derivative of the activation (Activation.Backward on the pooled output);
// arg is from ForwardPool. It adds the weight and bias gradients to dw, in the layout of
// PackSparse, and db [Out] or nil, and, unless dx is nil, sets dx [n, In,
// Size] to the input gradient, for which it reads the weights w, from PackSparse.
//
// Only the winners of the windows pass a gradient. They are visited channel by
// channel in the order of their positions, so that for finite data the sums
// equal those of GradWeight and GradInput, to which the other positions only
// contribute zeros, bit for bit.
//
// There are two passes that differ in the contents of a vector: the taps of a kernel
// row, or input channels.
func (c *Conv) GradSparse(dw, db, dx, g []float32, arg []int32, x, w []float32, s *ConvScratch) {
	in, out := c.shape.In*volume(c.shape.Size), c.shape.Out*volume(c.pooled)
	n := len(g) / out
	checkLen("Conv.GradSparse", c.shape.SparseLen(), len(dw))
	checkLen("Conv.GradSparse", n*out, len(g), len(arg))
	checkLen("Conv.GradSparse", n*in, len(x))
	if dx != nil {
		checkLen("Conv.GradSparse", n*in, len(dx))
		checkLen("Conv.GradSparse", c.shape.SparseLen(), len(w))
	}
	if s.sparse == nil {
		m := c.shape.Out*volume(c.pooled) + winnerSlack
		s.sparse = &sparseScratch{pos: make([]int32, m), g: make([]float32, m), end: make([]int32, c.shape.Out*c.pooled[0])}
	}
	blocks := c.shape.byChannels()
	var sum []float32 // the bias gradients, if they are added with those of the weights
	if cb, _ := blockWidth(0, c.shape.In); blocks && c.dotsRuns(cb) || !blocks && c.dotsTwo() {
		sum = db
	}
	for i := range n {
		c.listWinners(g[i*out:(i+1)*out], arg[i*out:(i+1)*out], s.sparse)
		if sum == nil && db != nil {
			c.biasSparse(db, s.sparse)
		}
		xi, dxi := x[i*in:(i+1)*in], dx
		if dx != nil {
			dxi = dx[i*in : (i+1)*in]
		}
		if blocks {
			c.sparseByChannels(dw, sum, dxi, xi, w, s.sparse)
		} else {
			c.sparseByRows(dw, sum, dxi, xi, w, s)
		}
	}
}

// biasSparse adds the winners' gradients to db, each channel's in order. Four
// channels at a time hide how long an addition takes.
func (c *Conv) biasSparse(db []float32, s *sparseScratch) {
	o := 0
	for ; o+4 <= c.shape.Out; o += 4 {
		var g [4][]float32
		least := math.MaxInt
		for i := range g {
			_, g[i] = c.all(s, o+i)
			least = min(least, len(g[i]))
		}
		a, b, p, q := g[0][:least], g[1][:least], g[2][:least], g[3][:least]
		sa, sb, sp, sq := db[o], db[o+1], db[o+2], db[o+3]
		for j, v := range a {
			sa += v
			sb += b[j]
			sp += p[j]
			sq += q[j]
		}
		for i, sum := range [4]float32{sa, sb, sp, sq} {
			db[o+i] = addAll(sum, g[i][least:])
		}
	}
	for ; o < c.shape.Out; o++ {
		_, g := c.all(s, o)
		db[o] = addAll(db[o], g)
	}
}

// addAll returns sum plus all values of x, added in order.
func addAll(sum float32, x []float32) float32 {
	for _, v := range x {
		sum += v
	}
	return sum
}

// listWinners lists the positions of one item through which a gradient passes, of each
// channel in scan order: for each output row in order it looks through the windows that
// cover it. The windows of a pooled row come in the order of their positions.
func (c *Conv) listWinners(g []float32, arg []int32, s *sparseScratch) {
	slab := c.pooled[1] * c.pooled[2]
	for o := range c.shape.Out {
		m := o * volume(c.pooled)
		for z := range c.pooled[0] {
			at := (o*c.pooled[0] + z) * slab
			for d := z * c.pool[0]; d < (z+1)*c.pool[0]; d++ {
				row := d * c.out[1]
				m += active.winners(s.pos[m:], s.g[m:], g[at:at+slab], arg[at:at+slab], c.pooled[2], c.pooled[1], c.pool[1],
					c.rowPos[row:], row*c.out[2], c.out[2], c.shape.Stride[2])
			}
			s.end[o*c.pooled[0]+z] = int32(m)
		}
	}
}

// winnersGeneric computes, for z < nz and h < ph with r = z·ph + h, and j < n, in
// order,
//
//	l = arg[z·n + j] − (lo + r·width)
//	if 0 ≤ l < width and g[z·n + j] ≠ 0:  pos[m], sel[m] = rowPos[r] + l·stride, g[z·n + j];  m++
//
// and returns m. It may write up to winnerSlack elements beyond. Whether an element counts
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
	lo, end := o*volume(c.pooled), s.end[o*c.pooled[0]:]
	if z > 0 {
		lo = int(end[z-1])
	}
	return s.pos[lo:end[z]], s.g[lo:end[z]]
}

// all returns the winners of channel o.
func (c *Conv) all(s *sparseScratch, o int) (pos []int32, g []float32) {
	lo, end := o*volume(c.pooled), s.end[(o+1)*c.pooled[0]-1]
	return s.pos[lo:end], s.g[lo:end]
}

// sparseByRows holds the taps of a kernel row in a vector. For the weight
// gradient, slabs come before channels: a slab of the input stays in the
// second-level cache. It adds the bias gradients, too, unless sum is nil.
func (c *Conv) sparseByRows(dw, sum, dx, x, w []float32, s *ConvScratch) {
	rows, kw := c.rows, c.shape.Kernel[2]
	if c.shape.Dilation[2] > 1 {
		rows, kw = c.off[:c.taps], 1 // taps of a row are not neighbors
	}
	x = c.Pad(x, s)
	for z := range c.pooled[0] {
		o := 0
		for ; c.dotsTwo() && o+2 <= c.shape.Out; o += 2 {
			to := s.sparse.none[:]
			if sum != nil {
				to = sum[o:]
			}
			var a, b winnerList
			a.pos, a.g = c.slab(s.sparse, o, z)
			b.pos, b.g = c.slab(s.sparse, o+1, z)
			active.sparseDotTwo(dw[o*c.taps:(o+2)*c.taps], to, x, rows, kw, a, b)
		}
		for ; o < c.shape.Out; o++ {
			pos, g := c.slab(s.sparse, o, z)
			active.sparseDot(dw[o*c.taps:(o+1)*c.taps], x, rows, kw, pos, g)
			if sum != nil {
				sum[o] = addAll(sum[o], g)
			}
		}
	}
	if dx == nil {
		return
	}
	if s.sparse.dx == nil {
		s.sparse.dx = make([]float32, c.shape.In*volume(c.padded)+sparseSlack)
	}
	clear(s.sparse.dx)
	for o := range c.shape.Out {
		pos, g := c.all(s.sparse, o)
		active.sparseAdd(s.sparse.dx, w[o*c.taps:(o+1)*c.taps], rows, kw, pos, g)
	}
	copyBox(dx, c.shape.Size, [3]int{}, s.sparse.dx, c.padded, c.shape.Pad, c.shape.Size, c.shape.In)
}

// sparseByChannels holds input channels in a vector: input and gradients are
// laid out with channels last for it.
func (c *Conv) sparseByChannels(dw, sum, dx, x, w []float32, p *sparseScratch) {
	if p.xc == nil {
		p.xc = make([]float32, roundUp(c.shape.In, 8)*volume(c.padded))
	}
	if dx != nil && p.dxc == nil {
		p.dxc = make([]float32, lanes*volume(c.padded))
	}
	for c0 := 0; c0 < c.shape.In; c0 += lanes {
		c.weightSparse(dw, sum, x, c0, p)
		if dx != nil {
			c.inputSparse(dx, w, c0, p)
		}
	}
}

// weightSparse adds the weight gradients of the input channels from c0 on, and
// with those of the first ones the bias gradients unless sum is nil.
func (c *Conv) weightSparse(dw, sum, x []float32, c0 int, p *sparseScratch) {
	k := volume(c.shape.Kernel)
	cb, used := blockWidth(c0, c.shape.In)
	xc, dw := p.xc[c0*volume(c.padded):], dw[c0*c.shape.Out*k:]
	c.eachRun(func(at, in, n int) {
		active.block(xc[in*cb:], x[c0*volume(c.shape.Size)+at:], volume(c.shape.Size), n, cb, used)
	})
	runs, rows, run := c.dotsRuns(cb), c.channelRows(), c.kernelRun()
	for z := range c.pooled[0] {
		for o := range c.shape.Out {
			pos, g := c.slab(p, o, z)
			d := dw[o*k*cb : (o+1)*k*cb]
			if !runs {
				active.sparseDotBlock(d, xc, c.off[:k], pos, g, cb)
				continue
			}
			to := p.none[:]
			if sum != nil && c0 == 0 {
				to = sum[o:]
			}
			active.sparseDotRuns(d, to, xc, rows, run, pos, g)
		}
	}
}

// inputSparse sets the input gradients of the input channels from c0 on.
func (c *Conv) inputSparse(dx, w []float32, c0 int, p *sparseScratch) {
	k := volume(c.shape.Kernel)
	cb, used := blockWidth(c0, c.shape.In)
	dxc, w := p.dxc[:volume(c.padded)*cb], w[c0*c.shape.Out*k:]
	run := c.kernelRun()
	clear(dxc)
	for o := range c.shape.Out {
		pos, g := c.all(p, o)
		active.sparseAddBlock(dxc, w[o*k*cb:(o+1)*k*cb], c.off[:k], run, pos, g, cb)
	}
	c.eachRun(func(at, in, n int) {
		active.unblock(dx[c0*volume(c.shape.Size)+at:], volume(c.shape.Size), dxc[in*cb:], n, cb, used)
	})
}

// eachRun calls f for every run of positions that lie together both in the plain
// and in the padded input of a channel.
func (c *Conv) eachRun(f func(at, in, n int)) {
	if c.shape.Pad == [3]int{} {
		f(0, 0, volume(c.shape.Size))
		return
	}
	size, pad := c.shape.Size, c.shape.Pad
	for d := range size[0] {
		for h := range size[1] {
			f((d*size[1]+h)*size[2], ((d+pad[0])*c.padded[1]+h+pad[1])*c.padded[2]+pad[2], size[2])
		}
	}
}
