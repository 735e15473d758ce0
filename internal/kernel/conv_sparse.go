package kernel

import "math/bits"

// sparseSlack is how far sparseAdd may write behind a kernel row.
const sparseSlack = 16

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
func (c *Conv) GradSparse(dw, db, dx, g []float32, arg []int32, x, w []float32, s *ConvScratch) {
	plane := volume(c.pooled)
	checkLen("Conv.GradSparse", len(dw), c.shape.Out*c.taps)
	checkLen("Conv.GradSparse", len(g), c.shape.Out*plane)
	checkLen("Conv.GradSparse", len(arg), c.shape.Out*plane)
	checkLen("Conv.GradSparse", len(x), c.shape.In*volume(c.shape.Size))
	if s.count == nil {
		s.count = make([]int32, len(c.rowPos)+1)
		s.winPos = make([]int32, plane)
		s.winG = make([]float32, plane)
	}
	if dx != nil {
		checkLen("Conv.GradSparse", len(dx), c.shape.In*volume(c.shape.Size))
		checkLen("Conv.GradSparse", len(w), c.shape.Out*c.taps)
		if s.dx == nil {
			s.dx = make([]float32, c.shape.In*volume(c.padded)+sparseSlack)
		}
		clear(s.dx)
	}
	x = c.padInput(x, s)
	rows, kw := c.rows, c.shape.Kernel[2]
	if c.shape.Dilation[2] > 1 {
		rows, kw = c.off[:c.taps], 1 // taps of a row are not neighbours
	}
	for o := range c.shape.Out {
		pos, gs := c.winners(g[o*plane:(o+1)*plane], arg[o*plane:(o+1)*plane], s)
		if db != nil {
			sum := db[o]
			for _, v := range gs {
				sum += v
			}
			db[o] = sum
		}
		active.sparseDot(dw[o*c.taps:(o+1)*c.taps], x, rows, kw, pos, gs)
		if dx != nil {
			active.sparseAdd(s.dx, w[o*c.taps:(o+1)*c.taps], rows, kw, pos, gs)
		}
	}
	if dx != nil {
		copyOut(dx, c.shape.Size, s.dx, c.padded, c.shape.Pad, c.shape.In)
	}
}

// winners lists the positions of one channel through which a gradient passes,
// in scan order: where each one's window begins in the padded input, and its
// gradient. Windows of a row are met in the order of their positions; so a
// stable counting sort by output row is enough.
func (c *Conv) winners(g []float32, arg []int32, s *ConvScratch) (pos []int32, gs []float32) {
	count := s.count
	clear(count)
	for j, v := range g {
		if v != 0 {
			count[c.rowOf(arg[j])+1]++
		}
	}
	for r := 1; r < len(count); r++ {
		count[r] += count[r-1]
	}
	width, stride := int32(c.out[2]), int32(c.shape.Stride[2])
	for j, v := range g {
		if v == 0 {
			continue
		}
		row := c.rowOf(arg[j])
		at := count[row]
		count[row] = at + 1
		s.winPos[at] = c.rowPos[row] + (arg[j]-int32(row)*width)*stride
		s.winG[at] = v
	}
	n := count[len(count)-1]
	return s.winPos[:n], s.winG[:n]
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

// copyOut copies the interior of src [ch, srcSize], at offset lo, to dst
// [ch, size].
func copyOut(dst []float32, size [3]int, src []float32, srcSize, lo [3]int, ch int) {
	for ci := range ch {
		for d := range size[0] {
			for h := range size[1] {
				from := ((ci*srcSize[0]+d+lo[0])*srcSize[1]+h+lo[1])*srcSize[2] + lo[2]
				at := ((ci*size[0]+d)*size[1] + h) * size[2]
				copy(dst[at:at+size[2]], src[from:from+size[2]])
			}
		}
	}
}
