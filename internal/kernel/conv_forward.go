package kernel

// PackedLen is the number of values of the packed weights.
func (c *Conv) PackedLen() int { return packedLen(c.shape.Out, c.packedTaps()) }

func packedLen(channels, taps int) int { return roundUp(channels, 8) * taps }

// packedTaps is the number of packed weights of a channel.
func (c *Conv) packedTaps() int {
	switch {
	case c.tall != nil:
		return c.shape.In * c.shape.Kernel[0] * c.tall.t * c.fast.t
	case c.fast != nil:
		return len(c.rows) * c.fast.t
	}
	return c.taps
}

// Pack lays the weights w [Out, In, KD, KH, KW] out as the forward pass reads
// them: blocks of cb = 16 (at the end 8) channels, absent channels zero, each
// [T][cb], or evaluated at the points of minimal filtering. Call it once after
// each change of the weights; dst [PackedLen] may be shared by all workers.
func (c *Conv) Pack(dst, w []float32) {
	checkLen("Conv.Pack", c.PackedLen(), len(dst))
	checkLen("Conv.Pack", c.shape.Out*c.taps, len(w))
	for c0 := 0; c0 < c.shape.Out; c0 += lanes {
		cb, used := blockWidth(c0, c.shape.Out)
		to, from := dst[c0*c.packedTaps():], w[c0*c.taps:]
		switch {
		case c.tall != nil:
			c.packTiles(to, from, used)
		case c.fast != nil:
			c.fast.pack(to, from, len(c.rows), cb, used)
		default:
			active.block(to, from, c.taps, c.taps, cb, used)
		}
	}
}

// Forward computes the convolution of one item,
//
//	y[o, p] = bias[o] + Σ_{i,k} w[o, i, k] · x[i, p·stride + k·dilation − pad]
//
// with x [In, Size], y [Out, OutSize], packed from Pack and bias [Out] or nil.
// Each output is one chain of multiply-adds that begins with the bias and runs
// over (i, kd, kh, kw) in order; or, where minimal filtering takes less time (see
// winograd), within 10⁻⁵ of the largest output of the exact sum.
func (c *Conv) Forward(y, x, packed, bias []float32, s *ConvScratch) {
	checkLen("Conv: input", c.shape.In*volume(c.shape.Size), len(x))
	c.ForwardRows(y, c.Pad(x, s), packed, bias, 0, len(c.rowPos), s)
}

// Rows returns the number of rows that the forward pass of an item can be cut into: the
// output rows of ForwardPoolRows if the plan has a pool, else of ForwardRows.
func (c *Conv) Rows() int {
	if c.pool != [3]int{} {
		return c.pooled[0] * c.pooled[1]
	}
	return len(c.rowPos)
}

// ForwardRows is [Conv.Forward] for the output rows lo … hi−1 alone. x comes from
// [Conv.Pad].
func (c *Conv) ForwardRows(y, x, packed, bias []float32, lo, hi int, s *ConvScratch) {
	c.checkForward(x, packed, bias)
	checkLen("Conv.Forward", c.shape.Out*volume(c.out), len(y))
	if c.tall != nil {
		c.forwardTiles(&tileSink{y: y, grid: c.out, win: [3]int{1, 1, 1}}, x, packed, bias, lo, hi, s)
		return
	}
	for lo < hi {
		end := c.transformSlab(x, lo, hi, c.out, [3]int{1, 1, 1}, s)
		c.forwardRows(y, x, packed, bias, lo, end, s)
		lo = end
	}
}

// forwardRows computes output rows; for minimal filtering their slab is in s.
func (c *Conv) forwardRows(y, x, packed, bias []float32, lo, hi int, s *ConvScratch) {
	plane, wide, taps := volume(c.out), c.out[2], c.packedTaps()
	for c0 := 0; c0 < c.shape.Out; c0 += lanes {
		cb, used := blockWidth(c0, c.shape.Out)
		b := c.blockBias(bias, c0, s)
		w := packed[c0*taps : c0*taps+taps*cb]
		perRow, perStrip := min(wide, maxStrip), max(1, maxStrip/wide)
		if c.fast != nil {
			perRow, perStrip = wide, c.stripRows(hi-lo, tile(cb), s.winograd)
		}
		for row := lo; row < hi; row += perStrip {
			n := min(perStrip, hi-row)
			for i := range n {
				s.rows[i] = c.rowIndex(row + i)
			}
			for j := 0; j < wide; j += perRow {
				nj := min(perRow, wide-j)
				c.convolve(b, x, s.rows[:n], j, nj, w, cb, s)
				active.unblock(y[c0*plane+row*wide+j:], plane, s.strip, n*nj, cb, used)
			}
		}
	}
}

// ForwardPool computes the convolution of one item, the activation and the
// max-pool of the plan without storing the full-resolution output:
//
//	y[o, z] = max over p in window(z) of act(conv(x)[o, p]),   arg[o, z] = the p it took
//
// with y and arg [Out, PooledSize]. arg is the flat index in [OutSize] of the
// first maximum in scan order (for ReLU and a window without positive values:
// the first maximum before the activation; no gradient passes there). Outputs
// and gradients equal those of Forward, Activation.Forward and MaxPool one
// after the other, bit for bit. For the order convolution, pool, activation
// pass Identity and apply the activation to y.
//
// act must be non-decreasing. ReLU is applied after the pool, with which it
// commutes exactly; rounding makes Tanh and Sigmoid tie where their arguments
// do not, so they are applied before.
func (c *Conv) ForwardPool(y []float32, arg []int32, x, packed, bias []float32, act Activation, s *ConvScratch) {
	checkLen("Conv: input", c.shape.In*volume(c.shape.Size), len(x))
	c.ForwardPoolRows(y, arg, c.Pad(x, s), packed, bias, act, 0, c.Rows(), s)
}

// ForwardPoolRows is [Conv.ForwardPool] for the pooled rows lo … hi−1 alone. x
// comes from [Conv.Pad].
func (c *Conv) ForwardPoolRows(y []float32, arg []int32, x, packed, bias []float32, act Activation, lo, hi int, s *ConvScratch) {
	plane := volume(c.pooled)
	c.checkForward(x, packed, bias)
	checkLen("Conv.ForwardPool", c.shape.Out*plane, len(y), len(arg))
	if plane == 0 || !act.Monotone() {
		panic("kernel: Conv.ForwardPool: no pool in the plan, or the activation is not monotone")
	}
	if c.tall != nil {
		c.forwardTiles(&tileSink{y, arg, act, c.pooled, c.pool}, x, packed, bias, lo, hi, s)
		return
	}
	if c.poolsRows(act) {
		c.forwardPoolFew(y, arg, x, packed, bias, act, lo, hi, s)
		return
	}
	for lo < hi {
		end := c.transformSlab(x, lo, hi, c.pooled, c.pool, s)
		c.forwardPoolRows(y, arg, x, packed, bias, act, lo, end, s)
		lo = end
	}
}

// forwardPoolRows computes pooled rows; for minimal filtering their slab is in s.
func (c *Conv) forwardPoolRows(y []float32, arg []int32, x, packed, bias []float32, act Activation, lo, hi int, s *ConvScratch) {
	plane, taps := volume(c.pooled), c.packedTaps()
	at, n := lo*c.pooled[2], (hi-lo)*c.pooled[2]
	for c0 := 0; c0 < c.shape.Out; c0 += lanes {
		cb, used := blockWidth(c0, c.shape.Out)
		b := c.blockBias(bias, c0, s)
		c.poolBlock(x, packed[c0*taps:c0*taps+taps*cb], b, cb, act, lo, hi, s)
		if act == ReLU {
			ReLU.Forward(s.best[:n*cb], s.best[:n*cb])
		}
		active.unblock(y[c0*plane+at:], plane, s.best, n, cb, used)
		active.unblock(int32AsFloat(arg[c0*plane+at:]), plane, int32AsFloat(s.arg), n, cb, used)
	}
}

// poolBlock leaves the pooled outputs of one channel block in the pooled rows
// lo … hi−1 in s.best and s.arg [their positions][cb]. Output rows are visited
// window row after window row, within it in scan order: so one pooled row at a
// time is being folded, and its window positions come in increasing order.
func (c *Conv) poolBlock(x, w, bias []float32, cb int, act Activation, lo, hi int, s *ConvScratch) {
	pw := c.pool[2]
	wide := c.pooled[2] * pw // positions of a row that windows cover
	list := c.poolRows[lo*c.pool[0]*c.pool[1] : hi*c.pool[0]*c.pool[1]]
	perRow := min(wide, c.stripLen()/pw*pw)
	perStrip := max(1, c.stripLen()/wide)
	if c.fast != nil {
		perRow, perStrip = wide, c.stripRows(len(list), tile(cb), s.winograd)
	}
	for r0 := 0; r0 < len(list); r0 += perStrip {
		rows := list[r0:min(r0+perStrip, len(list))]
		for i := range rows {
			s.rows[i] = c.rowIndex(int(rows[i].row))
		}
		for w0 := 0; w0 < wide; w0 += perRow {
			nw := min(perRow, wide-w0)
			c.convolve(bias, x, s.rows[:len(rows)], w0, nw, w, cb, s)
			if act > ReLU {
				act.Forward(s.strip[:len(rows)*nw*cb], s.strip[:len(rows)*nw*cb])
			}
			for i, r := range rows {
				at := ((int(r.z)-lo)*c.pooled[2] + w0/pw) * cb
				pos := r.row*int32(c.out[2]) + int32(w0)
				active.foldMax(s.best[at:], s.arg[at:], s.strip[i*nw*cb:], nw/pw, pw, cb, pos, r.first)
			}
		}
	}
}

// rowIndex returns the argument of convolve for an output row: where it begins in the
// input, or, in minimal filtering, its number.
func (c *Conv) rowIndex(row int) int32 {
	if c.fast != nil {
		return int32(row)
	}
	return c.rowPos[row]
}

// convolve computes a strip of the positions from … from+wide−1 of some output
// rows into s.strip [rows][wide][cb].
func (c *Conv) convolve(bias, x []float32, rows []int32, from, wide int, w []float32, cb int, s *ConvScratch) {
	if c.fast != nil {
		c.convolveFast(bias, rows, w, cb, s)
		return
	}
	s.convolve(bias, x, rows, from, wide, c.shape.Stride[2], &c.tap, w, cb)
}

// poolRow is one output row in the order in which poolBlock visits them.
type poolRow struct {
	z     int32 // pooled row it is folded into
	row   int32 // its index among the output rows
	first bool  // of its pooled row
}

// planPool lists the output rows that windows cover, window row after window
// row.
func (c *Conv) planPool() {
	pd, ph := c.pool[0], c.pool[1]
	for zd := range c.pooled[0] {
		for zh := range c.pooled[1] {
			for i := range pd * ph {
				row := (zd*pd+i/ph)*c.out[1] + zh*ph + i%ph
				c.poolRows = append(c.poolRows, poolRow{int32(zd*c.pooled[1] + zh), int32(row), i == 0})
			}
		}
	}
}

// blockBias returns the biases of the block that begins at channel c0, zeros
// where there are none.
func (c *Conv) blockBias(bias []float32, c0 int, s *ConvScratch) []float32 {
	s.bias = [lanes]float32{}
	if bias != nil {
		copy(s.bias[:], bias[c0:])
	}
	return s.bias[:]
}

func (c *Conv) checkForward(x, packed, bias []float32) {
	checkLen("Conv: padded input", c.shape.In*volume(c.padded), len(x))
	checkLen("Conv: packed weights", c.PackedLen(), len(packed))
	if bias != nil {
		checkLen("Conv: bias", c.shape.Out, len(bias))
	}
}
