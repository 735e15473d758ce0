package kernel

import "slices"

// The input gradient,
//
//	dx[i, q] = Σ_{o,k} w[o, i, k] · dy[o, p],   p·stride + k·dilation − pad = q,
//
// is a convolution of dy for each residue r of q modulo the stride. With
// q = stride·u + r, the taps k that reach the residue are those for which
// r + pad − k·dilation is a multiple of the stride, and p = u + e(k) with
//
//	e(k) = (r + pad − k·dilation)/stride
//
// Taps with p outside of dy contribute nothing. So the positions are cut into
// boxes, over which the set of taps with a valid depth and height of p does not
// change; only in width, dy is padded with zeros.
//
// Taps run over o, then over k from the last to the first, that is over p in
// scan order: the order in which the sparse pass adds its contributions.
type inputBox struct {
	from  [3]int  // first u
	start [3]int  // first q
	count [3]int  // number of u in each dimension, in height of groups of rows
	rows  int     // rows in a group, see addPairs
	taps  []int32 // [T′, rows] index of w[o, 0, k] as o·In·KD·KH·KW + k, or -1
	off   []int32 // [T′] place of the tap in the padded dy
	tap   tapTable
	base  int // of the box in the packed weights
}

// span is a range of u with the taps that reach it, last one first.
type span struct {
	lo, hi int
	taps   []int
}

// reach returns e(k) of dimension i for residue r, and whether tap k reaches it.
func (s *ConvShape) reach(i, r, k int) (e int, ok bool) {
	v := r + s.Pad[i] - k*s.Dilation[i]
	e = v / s.Stride[i]
	return e, v == e*s.Stride[i]
}

// spans cuts the u of residue r in dimension i into ranges with the same taps,
// or makes one range with every tap that reaches it if clip is not set.
func (s *ConvShape) spans(i, r, out int, clip bool) []span {
	var list []span
	for u := range max(0, (s.Size[i]-r+s.Stride[i]-1)/s.Stride[i]) {
		var taps []int
		for k := s.Kernel[i] - 1; k >= 0; k-- {
			if e, ok := s.reach(i, r, k); ok && (!clip || u+e >= 0 && u+e < out) {
				taps = append(taps, k)
			}
		}
		if n := len(list); n > 0 && slices.Equal(list[n-1].taps, taps) {
			list[n-1].hi = u + 1
		} else {
			list = append(list, span{u, u + 1, taps})
		}
	}
	return list
}

// inputPlan has the tables of GradInput, in addition to the plan of the forward pass. It
// is created on first use: a first layer does not need it.
type inputPlan struct {
	boxes  []inputBox
	dySize [3]int // output D, H, W with padding
	dyLo   int    // zeros before a row of dy
	packed int    // number of values of the packed weights
}

// planInput lists the boxes and how far dy is padded in width.
func (c *Conv) planInput() *inputPlan {
	s, f := &c.shape, new(inputPlan)
	lo, hi := 0, 0
	for r := range s.Stride[2] {
		for _, w := range s.spans(2, r, c.out[2], false) {
			for _, k := range w.taps {
				e, _ := s.reach(2, r, k)
				lo, hi = max(lo, -e), max(hi, w.hi+e-c.out[2])
			}
		}
	}
	f.dyLo = lo
	f.dySize = [3]int{c.out[0], c.out[1], lo + c.out[2] + hi}
	for i := range volume(s.Stride) { // residues in scan order
		r := [3]int{i / (s.Stride[1] * s.Stride[2]), i / s.Stride[2] % s.Stride[1], i % s.Stride[2]}
		for _, d := range s.spans(0, r[0], c.out[0], true) {
			for _, h := range s.spans(1, r[1], c.out[1], true) {
				for _, w := range s.spans(2, r[2], c.out[2], false) {
					c.addPairs(f, r, [3]span{d, h, w})
				}
			}
		}
	}
	return f
}

// addPairs appends the boxes of residue r and the given spans. With very few
// channels in rows, two neighbouring rows of dx are computed together, as if
// they were channels: each row of dy that is read serves both, with kernel rows
// one apart. A last row without a neighbour is a separate box.
func (c *Conv) addPairs(f *inputPlan, r [3]int, sp [3]span) {
	s := &c.shape
	n := sp[1].hi - sp[1].lo
	if !c.inputByRows() || 2*s.In > maxRowChannels || s.Stride[1] > 1 || s.Dilation[1] > 1 || n < 2 {
		c.addBox(f, r, sp, 1)
		return
	}
	even := sp
	even[1].hi = sp[1].lo + n/2*2
	c.addBox(f, r, even, 2)
	if n%2 != 0 {
		sp[1].lo = sp[1].hi - 1
		c.addBox(f, r, sp, 1)
	}
}

// addBox appends the box of residue r and the given spans, in groups of rows.
func (c *Conv) addBox(f *inputPlan, r [3]int, sp [3]span, rows int) {
	s := &c.shape
	b := inputBox{base: f.packed, rows: rows}
	for i := range sp {
		b.from[i] = sp[i].lo
		b.start[i] = sp[i].lo*s.Stride[i] + r[i]
		b.count[i] = sp[i].hi - sp[i].lo
	}
	b.count[1] /= rows
	heights := len(sp[1].taps)
	for o := range s.Out {
		for _, kd := range sp[0].taps {
			ed, _ := s.reach(0, r[0], kd)
			for i := range heights + rows - 1 {
				eh, _ := s.reach(1, r[1], sp[1].taps[min(i, heights-1)])
				eh += max(0, i-heights+1)
				for _, kw := range sp[2].taps {
					ew, _ := s.reach(2, r[2], kw)
					for j := range rows {
						tap := -1
						if i-j >= 0 && i-j < heights {
							tap = o*c.taps + (kd*s.Kernel[1]+sp[1].taps[i-j])*s.Kernel[2] + kw
						}
						b.taps = append(b.taps, int32(tap))
					}
					b.off = append(b.off, int32(((o*f.dySize[0]+ed)*f.dySize[1]+eh)*f.dySize[2]+ew+f.dyLo))
				}
			}
		}
	}
	b.tap = newTapTable(b.off, max(1, len(sp[2].taps)), s.Dilation[2]*s.Stride[2])
	if c.inputByRows() {
		f.packed += s.In * len(b.taps)
	} else {
		f.packed += packedLen(s.In, len(b.off))
	}
	f.boxes = append(f.boxes, b)
}

// inputByRows reports whether GradInput holds positions rather than input
// channels in vectors: for few channels and rows that are not strided.
func (c *Conv) inputByRows() bool {
	return c.shape.In <= maxRowChannels && c.shape.Stride[2] == 1 && c.shape.Size[2] >= 8
}

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
		copyBox(s.dy, f.dySize, [3]int{0, 0, f.dyLo}, dy, c.out, [3]int{}, c.out, c.shape.Out)
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
	const enough = 100 // taps, compared with which loading and storing sums is cheap
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
