package kernel

// The pass by channels for blocks of 8 channels: with channels last, the taps of a kernel row lie side by side, and
// vectors of 16 hold two of them.

// kernelRun returns the number of taps that lie side by side.
func (c *Conv) kernelRun() int {
	if c.shape.Dilation[2] > 1 {
		return 1
	}
	return c.shape.Kernel[2]
}

// channelRows returns where the kernel rows of one channel begin in a window.
func (c *Conv) channelRows() []int32 { return c.rows[:c.shape.Kernel[0]*c.shape.Kernel[1]] }

// dotsRuns reports whether sparseDotRuns computes weight gradients in blocks of cb channels.
func (c *Conv) dotsRuns(cb int) bool {
	run := c.kernelRun()
	return active.sparseDotRuns != nil && cb == 8 && (run == 3 || run == 5) && len(c.channelRows())%run == 0
}

// winnerList is a list of winners, in scan order: where their windows begin, and their gradients.
type winnerList struct {
	pos []int32
	g   []float32
}

// dotsTwo reports whether sparseDotTwo computes weight gradients by rows.
func (c *Conv) dotsTwo() bool {
	n := len(c.rows)
	return active.sparseDotTwo != nil && (n == 3 || n == 5) && c.shape.Dilation[2] == 1 && c.shape.Kernel[2] <= 8
}

// sparseDotTwoGeneric computes sparseDotGeneric for two lists of winners,
//
//	dw[(i·len(rows) + r)·kw + l] += g_i[j] · x[pos_i[j] + rows[r] + l],   sum[i] += g_i[j],   i < 2
//
// len(rows) is 3 or 5, and kw at most 8.
func sparseDotTwoGeneric(dw, sum, x []float32, rows []int32, kw int, a, b winnerList) {
	n := len(rows) * kw
	sparseDotGeneric(dw[:n], x, rows, kw, a.pos, a.g)
	sparseDotGeneric(dw[n:2*n], x, rows, kw, b.pos, b.g)
	sum[0], sum[1] = addAll(sum[0], a.g), addAll(sum[1], b.g)
}

// sparseDotRunsGeneric computes, for r < len(rows), l < kw, c < 8 and j = 0 … len(pos)−1 in order,
//
//	dw[(r·kw + l)·8 + c] += g[j] · x[(pos[j] + rows[r] + l)·8 + c],   sum[0] += g[j]
//
// kw is 3 or 5, and len(rows) a multiple of it.
func sparseDotRunsGeneric(dw, sum, x []float32, rows []int32, kw int, pos []int32, g []float32) {
	for r, row := range rows {
		d := dw[r*kw*8 : (r+1)*kw*8]
		for j, p := range pos {
			for i, v := range x[int(p+row)*8:][:kw*8] {
				d[i] += float32(g[j] * v)
			}
		}
	}
	sum[0] = addAll(sum[0], g)
}
