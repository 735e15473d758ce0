package kernel

// The input gradient,
//
//	dx[i, q] = Σ_{o,k} w[o, i, k] · dy[o, p],   p·stride + k·dilation − pad = q,
//
// is a convolution of dy for each residue of q modulo the stride: a phase.
// With q = stride·u + r, the taps k that reach the phase are those for which
// r + pad − k·dilation is a multiple of the stride, and p = u + e(k) with
//
//	e(k) = (r + pad − k·dilation)/stride
//
// Taps run over o, then over k from the last to the first, that is over p in
// scan order: the order in which the sparse pass adds its contributions.
type phase struct {
	start [3]int  // r
	count [3]int  // number of u in each dimension
	taps  []int32 // [T′] index of w[o, 0, k] as o·In·KD·KH·KW + k
	off   []int32 // [T′] place of the tap in the padded dy
	base  int     // of the phase in the packed weights
}

// dyPadding says how dy lies in its padded copy.
type dyPadding struct {
	size [3]int // D, H, W of the copy
	lo   [3]int // zeros before
}

// planInput lists the phases.
func (c *Conv) planInput() {
	s := c.shape
	var hi [3]int
	each3(s.Stride, func(r [3]int) {
		for i := range r {
			last := (s.Size[i] - 1 - r[i]) / s.Stride[i]
			for k := range s.Kernel[i] {
				if e, ok := s.reach(i, r[i], k); ok && r[i] < s.Size[i] {
					c.dyPad.lo[i] = max(c.dyPad.lo[i], -e)
					hi[i] = max(hi[i], last+e+1-c.out[i])
				}
			}
		}
	})
	for i := range hi {
		c.dyPad.size[i] = c.dyPad.lo[i] + c.out[i] + hi[i]
	}
	base := 0
	each3(s.Stride, func(r [3]int) {
		f := phase{start: r, base: base}
		for i := range r {
			f.count[i] = (s.Size[i] - r[i] + s.Stride[i] - 1) / s.Stride[i]
		}
		if volume(f.count) == 0 {
			return
		}
		for o := range s.Out {
			each3(s.Kernel, func(k [3]int) {
				var e [3]int
				for i := range k {
					k[i] = s.Kernel[i] - 1 - k[i]
					v, ok := s.reach(i, r[i], k[i])
					if !ok {
						return
					}
					e[i] = v + c.dyPad.lo[i]
				}
				f.taps = append(f.taps, int32(o*c.taps+(k[0]*s.Kernel[1]+k[1])*s.Kernel[2]+k[2]))
				f.off = append(f.off, int32(((o*c.dyPad.size[0]+e[0])*c.dyPad.size[1]+e[1])*c.dyPad.size[2]+e[2]))
			})
		}
		base += c.phaseLen(&f)
		c.phases = append(c.phases, f)
	})
}

// reach returns e(k) of dimension i for residue r, and whether tap k reaches it.
func (s *ConvShape) reach(i, r, k int) (e int, ok bool) {
	v := r + s.Pad[i] - k*s.Dilation[i]
	return floorDiv(v, s.Stride[i]), v%s.Stride[i] == 0
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// each3 calls f for every index of a box in scan order.
func each3(n [3]int, f func([3]int)) {
	for a := range n[0] {
		for b := range n[1] {
			for c := range n[2] {
				f([3]int{a, b, c})
			}
		}
	}
}

// inputByRows reports whether GradInput holds positions rather than input
// channels in vectors: for few channels and rows that are not strided.
func (c *Conv) inputByRows() bool {
	return c.shape.In <= maxRowChannels && c.shape.Stride == [3]int{1, 1, 1} && c.shape.Size[2] >= 8
}

// phaseLen is the number of values of the packed weights of a phase.
func (c *Conv) phaseLen(f *phase) int {
	if c.inputByRows() {
		return c.shape.In * len(f.taps)
	}
	return packedLen(c.shape.In, len(f.taps))
}

// PackedInputLen is the number of values of the weights packed for GradInput.
func (c *Conv) PackedInputLen() int {
	n := 0
	for i := range c.phases {
		n += c.phaseLen(&c.phases[i])
	}
	return n
}

// PackInput lays the weights w [Out, In, KD, KH, KW] out as GradInput reads
// them: for each phase, blocks of cb = 16 (at the end 8) input channels, each
// [T′][cb], or one block with cb = In if vectors hold positions.
func (c *Conv) PackInput(dst, w []float32) {
	checkLen("Conv.PackInput", len(dst), c.PackedInputLen())
	checkLen("Conv.PackInput", len(w), c.shape.Out*c.taps)
	k := volume(c.shape.Kernel)
	for i := range c.phases {
		f := &c.phases[i]
		for c0 := 0; c0 < c.shape.In; c0 += lanes {
			cb := blockWidth(c0, c.shape.In)
			if c.inputByRows() {
				cb = c.shape.In
			}
			used := min(cb, c.shape.In-c0)
			d := dst[f.base+c0*len(f.taps):]
			for t, tap := range f.taps {
				row := d[t*cb : (t+1)*cb]
				clear(row)
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
	checkLen("Conv.GradInput", len(dx), c.shape.In*volume(c.shape.Size))
	checkLen("Conv.GradInput", len(dy), c.shape.Out*volume(c.out))
	checkLen("Conv.GradInput", len(packed), c.PackedInputLen())
	if c.dyPad.size != c.out {
		if s.dy == nil {
			s.dy = make([]float32, c.shape.Out*volume(c.dyPad.size))
		}
		copyInterior(s.dy, c.dyPad.size, c.dyPad.lo, dy, c.out, c.shape.Out)
		dy = s.dy
	}
	s.bias = [lanes]float32{}
	if c.inputByRows() {
		c.rowsInput(dx, dy, packed, s)
		return
	}
	for i := range c.phases {
		f := &c.phases[i]
		for c0 := 0; c0 < c.shape.In; c0 += lanes {
			cb := blockWidth(c0, c.shape.In)
			w := packed[f.base+c0*len(f.taps):]
			c.phaseInput(dx, dy, w, f, c0, cb, s)
		}
	}
}

// phaseInput computes one phase of one block of input channels.
func (c *Conv) phaseInput(dx, dy, w []float32, f *phase, c0, cb int, s *ConvScratch) {
	plane := volume(c.shape.Size)
	used := min(cb, c.shape.In-c0)
	total := volume(f.count)
	for p := 0; p < total; p += maxStrip {
		n := min(maxStrip, total-p)
		row, u := p/f.count[2], p%f.count[2]
		for j := 0; j < n; row, u = row+1, 0 {
			at := (row/f.count[1]*c.dyPad.size[1] + row%f.count[1]) * c.dyPad.size[2]
			for ; u < f.count[2] && j < n; u++ {
				s.pos[j] = int32(at + u)
				j++
			}
		}
		active.indexed(s.strip, s.bias[:], dy, padPositions(s.pos, n, tile(cb)), f.off, w[:len(f.off)*cb], cb)
		if len(c.phases) == 1 {
			active.unblock(dx[c0*plane+p:], plane, s.strip, n, cb, used)
		} else {
			c.scatterPhase(dx[c0*plane:], f, p, n, cb, used, s.strip)
		}
	}
}

// rowsInput computes the only phase of an unstrided convolution with few input
// channels. A row is cut into runs of as many positions as a vector holds, the
// last one shifted to end with the row.
func (c *Conv) rowsInput(dx, dy, w []float32, s *ConvScratch) {
	f := &c.phases[0]
	in, size := c.shape.In, c.shape.Size
	run := active.rowLanes
	if size[2] < run {
		run = 8
	}
	tile := active.rowTile(in, run)
	n := 0
	flush := func() {
		for ; n%tile != 0; n++ {
			s.pos[n], s.at[n] = s.pos[n-1], s.at[n-1]
		}
		if n > 0 {
			active.indexedRows(dx, volume(size), s.bias[:], dy, s.pos[:n], s.at[:n], f.off, w, in, run)
		}
		n = 0
	}
	for row := range size[0] * size[1] {
		from := (row/size[1]*c.dyPad.size[1] + row%size[1]) * c.dyPad.size[2]
		for u := 0; ; u = min(u+run, size[2]-run) {
			if n == maxStrip {
				flush()
			}
			s.pos[n], s.at[n] = int32(from+u), int32(row*size[2]+u)
			n++
			if u == size[2]-run {
				break
			}
		}
	}
	flush()
}

// scatterPhase writes positions p … p+n−1 of a phase to their places in dx.
func (c *Conv) scatterPhase(dx []float32, f *phase, p, n, cb, used int, strip []float32) {
	size, stride := c.shape.Size, c.shape.Stride
	plane := volume(size)
	for j := range n {
		row, u := (p+j)/f.count[2], (p+j)%f.count[2]
		d := row/f.count[1]*stride[0] + f.start[0]
		h := row%f.count[1]*stride[1] + f.start[1]
		at := (d*size[1]+h)*size[2] + u*stride[2] + f.start[2]
		for l, v := range strip[j*cb : j*cb+used] {
			dx[l*plane+at] = v
		}
	}
}
