package kernel

import "math"

// The fused pass for few output channels and windows of 2×2: with positions, not channels, in the
// lanes, vectors are filled better, and pooled outputs are stored where they belong. Sums are the
// same chains of multiply-adds as those of poolBlock.

// Limits of poolRows: windows of a row that it works on at a time, and channels for which it is used.
const (
	minPoolRun, maxPoolRun = 8, 16
	maxPoolChannels        = 8 // weights are packed in blocks of 8
)

// poolsRows reports whether poolRows computes the fused pass.
func (c *Conv) poolsRows(act Activation) bool {
	return active.poolRows != nil && c.fast == nil && act <= ReLU && c.pool == [3]int{1, 2, 2} &&
		c.shape.Out <= maxPoolChannels && c.shape.Stride[2] == 1 && c.pooled[2] >= minPoolRun
}

// forwardPoolFew computes the pooled rows lo … hi−1 by poolRows: depth by depth, each row cut into tiles of about
// equal length, and the channels into groups.
func (c *Conv) forwardPoolFew(y []float32, arg []int32, x, packed, bias []float32, act Activation, lo, hi int, s *ConvScratch) {
	wide, plane, out := c.pooled[2], volume(c.pooled), c.shape.Out
	tiles, groups := (wide+maxPoolRun-1)/maxPoolRun, (out+maxRowChannels-1)/maxRowChannels
	b := c.blockBias(bias, 0, s)
	p := poolRun{ld: plane, step: wide, pitch: c.shape.Stride[1] * c.padded[2], wide: c.out[2], floor: float32(math.Inf(-1))}
	if act == ReLU {
		p.floor = 0
	}
	for lo < hi {
		z, h := lo/c.pooled[1], lo%c.pooled[1]
		p.rows = min(hi-lo, c.pooled[1]-h)
		row := z*c.out[1] + 2*h
		for i := range tiles {
			w0 := i * wide / tiles
			p.n, p.pos = (i+1)*wide/tiles-w0, row*c.out[2]+2*w0
			from := x[int(c.rowPos[row])+2*w0:]
			for j := range groups {
				c0, end := j*out/groups, (j+1)*out/groups
				to := c0*plane + lo*wide + w0
				active.poolRows(y[to:], arg[to:], from, c.off[:c.taps], packed[c0:], b[c0:end], p)
			}
		}
		lo += p.rows
	}
}

// poolRun is where poolRows reads and writes: see poolRowsGeneric.
type poolRun struct {
	rows, n     int // pooled rows, and windows of each
	ld, step    int // of outputs, from channel to channel and from row to row
	pitch, wide int // from output row to output row in the input and in positions
	pos         int // the first position
	floor       float32
}

// poolRowsGeneric computes, for r < rows, i < n (8 … 16) and c < len(bias) ≤ 6, and for h < 2, l < 2 in order,
//
//	v = bias[c] + Σ_t w[t·8 + c] · x[(2r + h)·pitch + 2i + l + off[t]]
//	if v > best or v is NaN or it is the first:  best, at = v, pos + (2r + h)·wide + 2i + l
//
// and sets y[c·ld + r·step + i] = max(best, floor), arg[c·ld + r·step + i] = at.
func poolRowsGeneric(y []float32, arg []int32, x []float32, off []int32, w, bias []float32, p poolRun) {
	for c, start := range bias {
		for r := range p.rows {
			for i := range p.n {
				best, at := float32(math.Inf(-1)), p.pos+2*r*p.wide+2*i
				for q := range 4 {
					h, l := 2*r+q/2, 2*i+q%2
					v := start
					for t, o := range off {
						v += float32(w[t*maxPoolChannels+c] * x[h*p.pitch+l+int(o)])
					}
					if v > best || v != v {
						best, at = v, p.pos+h*p.wide+l
					}
				}
				to := c*p.ld + r*p.step + i
				y[to], arg[to] = max(best, p.floor), int32(at)
			}
		}
	}
}
