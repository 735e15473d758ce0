package kernel

// winogradScratch is the working memory of one worker for minimal filtering. A
// slab is a box of input rows, transformed: v is [In][depths][heights][tiles][t].
type winogradScratch struct {
	v      []float32
	prod   []float32 // [t][tiles of a strip][16]
	rows   []int32   // [In·KD·KH] where kernel rows lie in v
	starts []int32   // [tiles] where tiles begin in a row
	pos    []int32   // [tiles of a strip] where they lie in v
	at     []int32   // [tiles of a strip] where their outputs go
	zero   [lanes]float32

	wide, tiles     int    // positions and tiles of a row, as v is laid out
	depths, heights int    // of slabs at most
	from            [2]int // first depth and height of the slab
	count, tile     int    // rows for which per was found, and with which tile
	per             int    // rows of a strip
}

// firstCache is how many values fit a common first-level cache.
const firstCache = 32 << 10 / 4

// slabBytes is how much memory a transformed slab may take, if it is not a
// single row of outputs or of windows: half of a common second-level cache.
var slabBytes = 512 << 10

// transformSlab transforms what rows of outputs read of x: of rows lo … hi−1 as many as
// fit a slab. It returns the end of these. Rows are those of windows of the given
// size that lie in a grid: of the pool, or of single positions. Without minimal
// filtering there is nothing to do for all of them.
func (c *Conv) transformSlab(x []float32, lo, hi int, grid, window [3]int, s *ConvScratch) (end int) {
	if c.fast == nil {
		return hi
	}
	f, w, shape := c.fast, s.winograd, &c.shape
	wide := grid[2] * window[2]
	tiles := f.tiles(wide, c.out[2])
	// reach returns how many input positions n windows span in dimension i.
	reach := func(i, n int) int {
		return (n*window[i]-1)*shape.Stride[i] + shape.Dilation[i]*(shape.Kernel[i]-1) + 1
	}
	fits := func(depths, heights int) bool {
		return shape.In*reach(0, depths)*reach(1, heights)*tiles*f.t*4 <= slabBytes
	}
	z, h := lo/grid[1], lo%grid[1]
	depths, heights := 1, min(hi-lo, grid[1]-h)
	for heights > 1 && !fits(1, heights) {
		heights--
	}
	if h == 0 && heights == grid[1] {
		for lo+(depths+1)*heights <= hi && fits(depths+1, heights) {
			depths++
		}
	}
	nd, nh := reach(0, depths), reach(1, heights)
	if w.wide != wide || w.depths < nd || w.heights < nh {
		c.layoutSlab(wide, max(w.depths, nd), max(w.heights, nh), w)
	}
	w.from = [2]int{z * window[0] * shape.Stride[0], h * window[1] * shape.Stride[1]}
	for ci := range shape.In {
		for d := range nd {
			from := ((ci*c.padded[0]+w.from[0]+d)*c.padded[1] + w.from[1]) * c.padded[2]
			to := (ci*w.depths + d) * w.heights * tiles * f.t
			active.winogradInput(w.v[to:], x[from:], nh, c.padded[2], w.starts, f.in, f.t)
		}
	}
	return lo + depths*heights
}

// layoutSlab makes room for slabs of so many depths and heights, and rows of so
// many positions.
func (c *Conv) layoutSlab(wide, depths, heights int, w *winogradScratch) {
	f := c.fast
	w.wide, w.tiles, w.depths, w.heights = wide, f.tiles(wide, c.out[2]), depths, heights
	if n := c.shape.In*depths*heights*w.tiles*f.t + lanes; n > len(w.v) {
		w.v = make([]float32, n)
	}
	if n := max(1, maxStrip/wide)*w.tiles + maxTile; n > len(w.pos) {
		w.pos, w.at = make([]int32, n), make([]int32, n)
		w.prod = make([]float32, f.t*n*lanes)
	}
	w.starts = w.starts[:0]
	for z := range w.tiles {
		w.starts = append(w.starts, int32(f.start(z, c.out[2])))
	}
	w.rows = c.shape.kernelRows(w.rows[:0], [3]int{depths, heights, w.tiles * f.t})
	w.count = 0
}

// stripRows returns how many of count rows make a strip: as many as leave least
// of the last tile of the indexed primitive unused.
func (c *Conv) stripRows(count, tile int, w *winogradScratch) int {
	if w.count == count && w.tile == tile {
		return w.per
	}
	limit := max(1, min(count, maxStrip/w.wide))
	w.count, w.tile, w.per = count, tile, limit
	least := 0
	for per := limit; per > 0; per-- {
		work := count/per*roundUp(per*w.tiles, tile) + roundUp(count%per*w.tiles, tile)
		if least == 0 || work < least {
			least, w.per = work, per
		}
	}
	return w.per
}

// convolveFast computes a strip of output rows, given by their indices, of the
// slab in s: for each row r of len(rows) and j < wide, with p = r·wide + j,
//
//	strip[p·cb + c] = output j of row rows[r] of channel c
func (c *Conv) convolveFast(bias []float32, rows []int32, w []float32, cb int, s *ConvScratch) {
	f, ws := c.fast, s.winograd
	n := 0
	add := func(z0, z1 int) {
		for r, row := range rows {
			d := int(row)/c.out[1]*c.shape.Stride[0] - ws.from[0]
			h := int(row)%c.out[1]*c.shape.Stride[1] - ws.from[1]
			for z := z0; z < z1; z++ {
				ws.pos[n] = int32(((d*ws.heights+h)*ws.tiles + z) * f.t)
				ws.at[n] = int32(r*ws.wide) + ws.starts[z]
				n++
			}
		}
	}
	// A tile that ends with the row shares positions with the one before it, whose
	// outputs stay, and may reach into the next row: it comes first.
	end := ws.tiles
	if int(ws.starts[end-1]) < (end-1)*f.m {
		end--
		add(end, end+1)
	}
	add(0, end)
	pos := padPositions(ws.pos, n, tile(cb))
	taps := len(ws.rows)
	// All points read the same cache lines of v: no more kernel rows at a time than
	// the first-level cache holds.
	group, start := max(8, firstCache/(len(pos)*f.t)), ws.zero[:]
	for r := 0; r < taps; r += group {
		rows := ws.rows[r:min(r+group, taps)]
		for j := range f.t {
			active.indexed(ws.prod[j*len(pos)*cb:], start, ws.v[j:], pos, rows, w[(j*taps+r)*cb:], cb)
		}
		start = nil
	}
	active.winogradOutput(s.strip, bias, ws.prod, len(pos), ws.at[:n], f.powers, f.m, f.t, cb)
}
