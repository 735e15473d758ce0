package kernel

// GradWeight adds the weight and bias gradients of one item:
//
//	dw[o, i, k] += Σ_p dy[o, p] · x[i, p·stride + k·dilation − pad]
//	db[o]       += Σ_p dy[o, p]
//
// with dw [Out, In, KD, KH, KW], db [Out] or nil, dy [Out, OutSize] and x
// [In, Size]. Each sum is one chain over p in scan order.
func (c *Conv) GradWeight(dw, db, dy, x []float32, s *ConvScratch) {
	plane := volume(c.out)
	checkLen("Conv.GradWeight", c.shape.Out*c.taps, len(dw))
	checkLen("Conv.GradWeight", c.shape.Out*plane, len(dy))
	checkLen("Conv.GradWeight", c.shape.In*volume(c.shape.Size), len(x))
	if s.dw == nil {
		s.dw = make([]float32, len(c.off)*lanes)
	}
	x = c.Pad(x, s)
	for c0 := 0; c0 < c.shape.Out; c0 += lanes {
		cb, used := blockWidth(c0, c.shape.Out)
		off := c.off[:roundUp(c.taps, tile(cb))]
		active.block(s.dw, dw[c0*c.taps:], c.taps, c.taps, cb, used)
		sum := s.db[:cb]
		if db != nil {
			copy(sum, db[c0:c0+used])
		}
		for p := 0; p < plane; p += maxStrip {
			n := min(maxStrip, plane-p)
			pos := c.positions(s.pos, p, n)
			active.block(s.strip, dy[c0*plane+p:], plane, n, cb, used)
			active.indexed(s.dw, nil, x, off, pos, s.strip, cb)
			active.blockSum(sum, s.strip, n, cb)
		}
		active.unblock(dw[c0*c.taps:], c.taps, s.dw, c.taps, cb, used)
		if db != nil {
			copy(db[c0:c0+used], sum)
		}
	}
}

// positions fills dst with the window origins of the n output positions from
// p0 on in scan order.
func (c *Conv) positions(dst []int32, p0, n int) []int32 {
	row, w := p0/c.out[2], p0%c.out[2]
	stride := int32(c.shape.Stride[2])
	for j := 0; j < n; row, w = row+1, 0 {
		at := c.rowPos[row] + int32(w)*stride
		for ; w < c.out[2] && j < n; w++ {
			dst[j] = at
			at += stride
			j++
		}
	}
	return dst[:n]
}
