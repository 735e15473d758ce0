package kernel

// PackedInputLen is the number of values of the weights packed for GradInput.
func (c *Conv) PackedInputLen() int { return c.input().packed }

// PackInput lays the weights w [Out, In, KD, KH, KW] out as GradInput reads
// them: for each box of positions, blocks of cb = 16 (at the end 8) input
// channels, each [T′][cb], or, if vectors hold positions, [T′][In, rows].
func (c *Conv) PackInput(dst, w []float32) {
	checkLen("Conv.PackInput", c.PackedInputLen(), len(dst))
	checkLen("Conv.PackInput", c.shape.Out*c.taps, len(w))
	k, f := volume(c.shape.Kernel), c.input()
	for i := range f.boxes {
		b := &f.boxes[i]
		d := dst[b.base:]
		if c.inputByRows() {
			for t := range b.off {
				for l := range c.shape.In {
					for j, tap := range b.taps[t*b.rows : (t+1)*b.rows] {
						v := float32(0)
						if tap >= 0 {
							v = w[int(tap)+l*k]
						}
						d[(t*c.shape.In+l)*b.rows+j] = v
					}
				}
			}
			continue
		}
		for c0 := 0; c0 < c.shape.In; c0 += lanes {
			cb, used := blockWidth(c0, c.shape.In)
			for t, tap := range b.taps {
				row := d[c0*len(b.taps)+t*cb:][:cb]
				clear(row[used:])
				for l := range used {
					row[l] = w[int(tap)+(c0+l)*k]
				}
			}
		}
	}
}

// GradInput computes the input gradient of one item, dx [In, Size], from dy
// [Out, OutSize] and the weights packed by PackInput. Each element is one chain
// over output channels, and within them over output positions in scan order.
func (c *Conv) GradInput(dx, dy, packed []float32, s *ConvScratch) {
	checkLen("Conv.GradInput", c.shape.In*volume(c.shape.Size), len(dx))
	checkLen("Conv.GradInput", c.shape.Out*volume(c.out), len(dy))
	checkLen("Conv.GradInput", c.PackedInputLen(), len(packed))
	f := c.input()
	if f.dySize != c.out {
		if s.dy == nil {
			s.dy = make([]float32, c.shape.Out*volume(f.dySize))
		}
		eachRow(c.shape.Out, c.out, f.dySize, [3]int{0, 0, f.dyLo}, func(at, in, n int) { copy(s.dy[in:in+n], dy[at:at+n]) })
		dy = s.dy
	}
	s.bias = [lanes]float32{}
	for i := range f.boxes {
		b := &f.boxes[i]
		if c.inputByRows() {
			c.inputRows(dx, dy, packed[b.base:], b, s)
			continue
		}
		for c0 := 0; c0 < c.shape.In; c0 += lanes {
			c.inputLanes(dx, dy, packed[b.base+c0*len(b.taps):], b, c0, s)
		}
	}
}

// at returns the place in dy of the window of the first position in the given
// group of rows of a box, and the place of that position in a channel of dx.
func (c *Conv) at(b *inputBox, row int) (from, to int) {
	d, h := row/b.count[1], row%b.count[1]*b.rows
	size := c.input().dySize
	from = ((b.from[0]+d)*size[1]+b.from[1]+h)*size[2] + b.from[2]
	d, h = b.start[0]+d*c.shape.Stride[0], b.start[1]+h*c.shape.Stride[1]
	return from, (d*c.shape.Size[1]+h)*c.shape.Size[2] + b.start[2]
}

// inputLanes computes one box of one block of input channels with the channels
// in lanes, as many rows at a time as a strip holds, or a part of a row.
func (c *Conv) inputLanes(dx, dy, w []float32, b *inputBox, c0 int, s *ConvScratch) {
	cb, used := blockWidth(c0, c.shape.In)
	plane, wide := volume(c.shape.Size), b.count[2]
	dx = dx[c0*plane:]
	perRow, perStrip := min(wide, maxStrip), max(1, maxStrip/wide)
	for row := 0; row < b.count[0]*b.count[1]; row += perStrip {
		rows := min(perStrip, b.count[0]*b.count[1]-row)
		for r := range rows {
			from, _ := c.at(b, row+r)
			s.rows[r] = int32(from)
		}
		for u := 0; u < wide; u += perRow {
			nu := min(perRow, wide-u)
			s.convolve(s.bias[:], dy, s.rows[:rows], u, nu, 1, &b.tap, w[:len(b.off)*cb], cb)
			for r := range rows {
				_, to := c.at(b, row+r)
				c.storeRow(dx[to+u*c.shape.Stride[2]:], s.strip[r*nu*cb:], nu, cb, used)
			}
		}
	}
}

// storeRow writes n positions [n][cb] of a row to their places in dx.
func (c *Conv) storeRow(dx, src []float32, n, cb, used int) {
	plane, stride := volume(c.shape.Size), c.shape.Stride[2]
	if stride == 1 {
		active.unblock(dx, plane, src, n, cb, used)
		return
	}
	for l := range used { // the strip is small, what is written may not be
		row, from := dx[l*plane:], src[l:]
		for j := range n {
			row[j*stride] = from[j*cb]
		}
	}
}

// inputRows computes one box with positions in lanes. A row is cut into runs of
// as many positions as a vector holds, the last one shifted to end with the row.
// A few output channels are added at a time, over many runs, so that what is
// read of dy stays in the first-level cache.
func (c *Conv) inputRows(dx, dy, w []float32, b *inputBox, s *ConvScratch) {
	channels, wide := c.shape.In*b.rows, c.shape.Size[2]
	run := active.rowLanes
	if wide < run {
		run = 8
	}
	tile := active.rowTile(channels, run)
	limit := min(maxStrip/4, len(s.strip)/(channels*run)) / tile * tile
	n := 0
	for row := range b.count[0] * b.count[1] {
		from, to := c.at(b, row)
		for u := 0; ; u = min(u+run, wide-run) {
			s.pos[n], s.at[n] = int32(from+u), int32(to+u)
			n++
			last := u == wide-run
			if n == limit || last && row == b.count[0]*b.count[1]-1 {
				c.inputRuns(dx, dy, w, b, n, run, tile, s)
				n = 0
			}
			if last {
				break
			}
		}
	}
}

// inputRuns computes the n runs whose places are in s.pos and s.at.
func (c *Conv) inputRuns(dx, dy, w []float32, b *inputBox, n, run, tile int, s *ConvScratch) {
	const enough = 100 // taps, beside which loading and storing sums is cheap
	channels := c.shape.In * b.rows
	m := roundUp(n, tile)
	for j := n; j < m; j++ {
		s.pos[j] = s.pos[n-1]
	}
	clear(s.strip[:channels*m*run])
	group := max(1, len(b.off))
	if per := group / c.shape.Out; per > 0 && len(dy) > 8<<10 {
		group = roundUp(enough, per)
	}
	for t := 0; t < len(b.off); t += group {
		end := min(t+group, len(b.off))
		active.indexedRows(s.strip, dy, s.pos[:m], b.off[t:end], w[t*channels:], channels, run)
	}
	for l := range channels {
		to := dx[l/b.rows*volume(c.shape.Size)+l%b.rows*c.shape.Size[2]:]
		from := s.strip[l*m*run:]
		for j, at := range s.at[:n] {
			for i := 0; i < run; i += 8 { // arrays are copied without a call
				*(*[8]float32)(to[int(at)+i:]) = *(*[8]float32)(from[j*run+i:])
			}
		}
	}
}
