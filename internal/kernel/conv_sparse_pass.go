package kernel

// byChannels reports whether input channels fill vectors of 8 better than the
// taps of a kernel row do.
func (c *Conv) byChannels() bool {
	kw := c.shape.Kernel[2]
	if c.shape.Dilation[2] > 1 {
		kw = 1
	}
	in := c.shape.In
	return in*roundUp(kw, 8) > kw*roundUp(in, 8)
}

// sparseByRows holds the taps of a kernel row in a vector. For the weight
// gradient, slabs come before channels: a slab of the input stays in the
// second-level cache.
func (c *Conv) sparseByRows(dw, dx, x, w []float32, s *ConvScratch) {
	rows, kw := c.rows, c.shape.Kernel[2]
	if c.shape.Dilation[2] > 1 {
		rows, kw = c.off[:c.taps], 1 // taps of a row are not neighbors
	}
	x = c.Pad(x, s)
	for z := range c.pooled[0] {
		for o := range c.shape.Out {
			pos, g := c.slab(s.sparse, o, z)
			active.sparseDot(dw[o*c.taps:(o+1)*c.taps], x, rows, kw, pos, g)
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
	from := s.sparse.dx
	eachRow(c.shape.In, c.shape.Size, c.padded, c.shape.Pad, func(at, in, n int) { copy(dx[at:at+n], from[in:in+n]) })
}

// blockSparse lays weight gradients and, if input gradients are asked for, weights
// out for sparseByChannels, in blocks of 16 or 8 input channels.
func (c *Conv) blockSparse(dw, w []float32, input bool, p *sparseScratch) {
	k := volume(c.shape.Kernel)
	if p.xc == nil {
		p.xc = make([]float32, roundUp(c.shape.In, 8)*volume(c.padded))
		p.dwc = make([]float32, roundUp(c.shape.In, 8)*c.shape.Out*k)
	}
	if input && p.dxc == nil {
		p.dxc = make([]float32, lanes*volume(c.padded))
		p.wc = make([]float32, len(p.dwc))
	}
	c.eachWeightBlock(func(at, from, cb, used int) {
		active.block(p.dwc[at:], dw[from:], k, k, cb, used)
		if input {
			active.block(p.wc[at:], w[from:], k, k, cb, used)
		}
	})
}

// unblockSparse brings the weight gradients back.
func (c *Conv) unblockSparse(dw []float32, p *sparseScratch) {
	k := volume(c.shape.Kernel)
	c.eachWeightBlock(func(at, from, cb, used int) {
		active.unblock(dw[from:], k, p.dwc[at:], k, cb, used)
	})
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

// sparseByChannels holds input channels in a vector: input and gradients are
// laid out with channels last for it.
func (c *Conv) sparseByChannels(dx, x []float32, p *sparseScratch) {
	for c0 := 0; c0 < c.shape.In; c0 += lanes {
		c.weightSparse(x, c0, p)
		if dx != nil {
			c.inputSparse(dx, c0, p)
		}
	}
}

// weightSparse adds the weight gradients of the input channels from c0 on.
func (c *Conv) weightSparse(x []float32, c0 int, p *sparseScratch) {
	k := volume(c.shape.Kernel)
	cb, used := blockWidth(c0, c.shape.In)
	xc, dwc := p.xc[c0*volume(c.padded):], p.dwc[c0*c.shape.Out*k:]
	c.eachRun(func(at, in, n int) {
		active.block(xc[in*cb:], x[c0*volume(c.shape.Size)+at:], volume(c.shape.Size), n, cb, used)
	})
	for z := range c.pooled[0] {
		for o := range c.shape.Out {
			pos, g := c.slab(p, o, z)
			active.sparseDotBlock(dwc[o*k*cb:(o+1)*k*cb], xc, c.off[:k], pos, g, cb)
		}
	}
}

// inputSparse sets the input gradients of the input channels from c0 on.
func (c *Conv) inputSparse(dx []float32, c0 int, p *sparseScratch) {
	k := volume(c.shape.Kernel)
	cb, used := blockWidth(c0, c.shape.In)
	dxc, wc := p.dxc[:volume(c.padded)*cb], p.wc[c0*c.shape.Out*k:]
	run := c.shape.Kernel[2]
	if c.shape.Dilation[2] > 1 {
		run = 1
	}
	clear(dxc)
	for o := range c.shape.Out {
		pos, g := c.all(p, o)
		active.sparseAddBlock(dxc, wc[o*k*cb:(o+1)*k*cb], c.off[:k], run, pos, g, cb)
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
	eachRow(1, c.shape.Size, c.padded, c.shape.Pad, f)
}
