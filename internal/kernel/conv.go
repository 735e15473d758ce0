package kernel

import (
	"fmt"
	"sync"
)

// ConvShape is the geometry of a convolution. Dimensions are D, H, W; a missing
// dimension has size, kernel, stride and dilation 1 and no padding.
type ConvShape struct {
	In, Out  int    // channels
	Size     [3]int // input D, H, W
	Kernel   [3]int
	Stride   [3]int
	Pad      [3]int // zeros on both sides
	Dilation [3]int
}

// OutSize returns the output D, H, W:
//
//	⌊(size + 2·pad − dilation·(kernel − 1) − 1)/stride⌋ + 1
func (s ConvShape) OutSize() [3]int {
	var o [3]int
	for i := range o {
		o[i] = (s.Size[i]+2*s.Pad[i]-s.Dilation[i]*(s.Kernel[i]-1)-1)/s.Stride[i] + 1
	}
	return o
}

// Check reports what is wrong with the shape.
func (s ConvShape) Check() error {
	if s.In < 1 || s.Out < 1 {
		return fmt.Errorf("convolution: %d input and %d output channels", s.In, s.Out)
	}
	for i, name := range [...]string{"depth", "height", "width"} {
		if s.Size[i] < 1 || s.Kernel[i] < 1 || s.Stride[i] < 1 || s.Pad[i] < 0 || s.Dilation[i] < 1 {
			return fmt.Errorf("convolution: %s: size %d, kernel %d, stride %d, padding %d, dilation %d",
				name, s.Size[i], s.Kernel[i], s.Stride[i], s.Pad[i], s.Dilation[i])
		}
		if extent := s.Dilation[i]*(s.Kernel[i]-1) + 1; extent > s.Size[i]+2*s.Pad[i] {
			return fmt.Errorf("convolution: %s: kernel extends over %d, padded input only over %d", name, extent, s.Size[i]+2*s.Pad[i])
		}
	}
	return nil
}

// A convolution is computed in blocks of 16 or 8 output channels held in the
// lanes of vector registers. For one block of cb channels the weights lie as
// [T][cb], T = In·KD·KH·KW taps, and
//
//	y[p][c] = bias[c] + Σ_t w[t][c] · x[pos[p] + off[t]]
//
// where pos[p] is where the window of output position p begins in the (padded)
// input and off[t] is the place of tap t in the window. Stride, dilation and
// the number of dimensions live in these two tables only. The same primitive
// (impl.indexed) computes the weight gradient, with the tables exchanged,
//
//	dw[t][c] += Σ_p dy[p][c] · x[off[t] + pos[p]]
//
// and the input gradient, a convolution of dy with the mirrored kernel.
//
// Conv is the plan of a convolution: tables that depend on the shape alone. It
// is read-only after NewConv; several goroutines may use it, each with its
// own scratch.
type Conv struct {
	shape    ConvShape
	out      [3]int    // output D, H, W
	pool     [3]int    // max-pool window, zeros if there is none
	pooled   [3]int    // pooled D, H, W
	padded   [3]int    // input D, H, W with padding
	taps     int       // T = In·KD·KH·KW
	off      []int32   // [T + maxTile], see padTable
	rows     []int32   // [In·KD·KH] off of the first tap in each kernel row
	tap      tapTable  // off and rows as the forward pass reads them
	rowPos   []int32   // [out D · out H] pos of the first position in each output row
	poolRows []poolRow // output rows in the order of the fused pool
	fast     *winograd // along rows; nil: direct
	tall     *winograd // along columns, too; nil: rows only
	input    func() *inputPlan
}

// NewConv makes the plan of a convolution. pool is the window of the max-pool
// fused with it (ForwardPool, GradSparse): not overlapping, not padded, output
// size rounded down; the zero value means no pool. tiles permits tiles of two dimensions, which are faster
// with errors three times as large, where the shape has them ([ConvShape.Tiles]).
func NewConv(s ConvShape, pool [3]int, tiles bool) (*Conv, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	c := &Conv{shape: s, out: s.OutSize(), pool: pool, taps: s.In * volume(s.Kernel)}
	for i := range c.padded {
		c.padded[i] = s.Size[i] + 2*s.Pad[i]
	}
	if pool != [3]int{} {
		for i := range pool {
			if pool[i] < 1 || pool[i] > c.out[i] {
				return nil, fmt.Errorf("convolution: max-pool window %v does not fit the output %v", pool, c.out)
			}
			c.pooled[i] = c.out[i] / pool[i]
		}
	}
	if max(s.In*volume(c.padded), volume(c.out)) > 1<<30 {
		return nil, fmt.Errorf("convolution: an item of %d×%v values is too large", s.In, c.padded)
	}
	c.rows = s.kernelRows(nil, c.padded)
	for _, row := range c.rows {
		for kw := range s.Kernel[2] {
			c.off = append(c.off, row+int32(kw*s.Dilation[2]))
		}
	}
	c.off = padTable(c.off)
	c.tap = newTapTable(c.off[:c.taps], s.Kernel[2], s.Dilation[2])
	for d := range c.out[0] {
		for h := range c.out[1] {
			c.rowPos = append(c.rowPos, int32((d*s.Stride[0]*c.padded[1]+h*s.Stride[1])*c.padded[2]))
		}
	}
	c.planPool()
	c.fast, c.tall = chooseWinograd(s, tiles)
	c.input = sync.OnceValue(c.planInput)
	return c, nil
}

// kernelRows appends where the rows of a window lie in an input of a size, channel by
// channel.
func (s *ConvShape) kernelRows(rows []int32, size [3]int) []int32 {
	for ci := range s.In {
		for kd := range s.Kernel[0] {
			for kh := range s.Kernel[1] {
				row := ((ci*size[0]+kd*s.Dilation[0])*size[1] + kh*s.Dilation[1]) * size[2]
				rows = append(rows, int32(row))
			}
		}
	}
	return rows
}

// padTable appends maxTile copies of the last entry, so that the table can be
// cut to a multiple of any tile.
func padTable(t []int32) []int32 {
	for range maxTile {
		t = append(t, t[len(t)-1])
	}
	return t
}

// OutSize returns the output D, H, W before pooling.
func (c *Conv) OutSize() [3]int { return c.out }

// PooledSize returns the D, H, W after the fused max-pool.
func (c *Conv) PooledSize() [3]int { return c.pooled }

// maxStrip is the number of positions worked on at a time: their block of
// outputs fits the first-level cache.
const maxStrip = 240

// ConvScratch is the working memory of one worker.
type ConvScratch struct {
	x     []float32 // padded input; the border stays zero
	dy    []float32 // padded output gradient; the border stays zero
	pos   []int32   // [strip] positions
	at    []int32   // [strip] where their results go
	rows  []int32   // [strip] where rows of positions begin
	strip []float32 // [strip][16]
	dw    []float32 // [T][16]
	best  []float32 // [pooled positions][16]
	arg   []int32   // [pooled positions][16]
	bias  [lanes]float32
	db    [lanes]float32

	sparse   *sparseScratch
	winograd *winogradScratch
	tiles    *tileScratch
}

// NewScratch returns working memory for one worker. Memory for the backward
// pass is allocated on first use.
func (c *Conv) NewScratch() *ConvScratch {
	strip := c.stripLen() + maxTile
	s := &ConvScratch{
		pos:   make([]int32, strip),
		at:    make([]int32, strip),
		rows:  make([]int32, strip),
		strip: make([]float32, strip*lanes),
	}
	if c.shape.Pad != [3]int{} {
		// Vectors with masks reach beyond the end. Where no memory has been provided
		// yet, such a load takes hundreds of cycles.
		n := c.shape.In * volume(c.padded)
		x := make([]float32, n+lanes)
		clear(x)
		s.x = x[:n]
	}
	if n := volume(c.pooled); n > 0 {
		s.best = make([]float32, n*lanes)
		s.arg = make([]int32, n*lanes)
	}
	if c.fast != nil {
		s.winograd = new(winogradScratch)
	}
	return s
}

// stripLen is maxStrip, or the length of what cannot be cut if that is longer: one
// window of the pool; a row in minimal filtering.
func (c *Conv) stripLen() int {
	if c.fast != nil {
		return max(maxStrip, c.out[2])
	}
	return max(maxStrip, c.pool[2])
}

// blockWidth returns the number of lanes of the block that begins at channel c0 of
// n, and the number of them that have a channel.
func blockWidth(c0, n int) (lanes, used int) {
	if n-c0 > 8 {
		return 16, min(16, n-c0)
	}
	return 8, n - c0
}

// roundUp returns the smallest multiple of m that is at least n.
func roundUp(n, m int) int { return (n + m - 1) / m * m }

// Pad returns an item's input with its border of zeros, as [Conv.ForwardRows] and
// [Conv.ForwardPoolRows] read it: x itself if there is no padding, otherwise
// memory of s, which stays valid until s is used for anything but these.
func (c *Conv) Pad(x []float32, s *ConvScratch) []float32 {
	if c.shape.Pad == [3]int{} {
		return x
	}
	copyBox(s.x, c.padded, c.shape.Pad, x, c.shape.Size, [3]int{}, c.shape.Size, c.shape.In)
	return s.x
}

// copyBox copies a box of a size from src [channels, fromSize], where it lies at from,
// to dst [channels, toSize] at to.
func copyBox(dst []float32, toSize, to [3]int, src []float32, fromSize, from, size [3]int, channels int) {
	for c := range channels {
		for d := range size[0] {
			at := ((c*toSize[0]+d+to[0])*toSize[1]+to[1])*toSize[2] + to[2]
			in := ((c*fromSize[0]+d+from[0])*fromSize[1]+from[1])*fromSize[2] + from[2]
			active.copyRows(dst[at:], toSize[2], src[in:], fromSize[2], size[1], size[2])
		}
	}
}

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
