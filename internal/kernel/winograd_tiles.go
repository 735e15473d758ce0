package kernel

// Minimal filtering in two dimensions: with c.tall, tiles are boxes of mh × mw outputs, and input, taps and
// products have th·tw points, those of the row for each point of the column. Only taps of other depths and
// channels are left to add up between the transforms:
//
//	y = Ahᵀ [ Σ (Gh w Gwᵀ) ⊙ (Bhᵀ x Bw) ] Aw,   w [kh, kw], x [th, tw], y [mh, mw]
//
// Tiles lie in a grid over the whole output, with the last of a row and of a column moved back to end with
// it, so that an output is the same sum whichever rows are asked for.
//
// Transformed input lies in slices, one for each depth of the input: v is
// [In][slots][tile rows][th][tiles][tw]. There are as many slots as depths that a window reaches over, and
// each depth is transformed once for a band of tile rows.

// tileScratch is the working memory of one worker for tiles.
type tileScratch struct {
	v     []float32
	depth []int     // [slots] the input depth in each slot, −1 if there is none
	panel []float32 // input rows of a tile, in panels of 16 columns
	mixed []float32 // [th][columns] the points of the columns
	mid   []float32 // [tw][tiles][mh][16]
	strip []float32 // [mh][tiles·mw][16]
	rows  []int32   // [In·KD] where slices lie in v
	to    []int32   // [tiles][mh] where outputs of rows go in strip
	best  []float32 // [channel blocks][windows of a band][16]
	arg   []int32

	starts []int32 // [tiles] where tiles begin in a row
}

// The sizes of tiles that pay. The errors of both dimensions multiply: on normal data they are at most 6·10⁻⁶ of the largest
// output, and with nine points and five outputs they would exceed 10⁻⁵.
const (
	tallPoints  = 8 // th = tw
	tallTaps    = 5 // kh
	tallOutputs = tallPoints - tallTaps + 1
)

// tallWeights is the number of weights of a block of channels up to which tiles pay: they stay in the
// first-level cache.
const tallWeights = firstCache * 3 / 4

// bandBytes bounds the transformed input of a band, if that is more than the least number of tile rows.
const bandBytes = 256 << 10

// tallTiles returns the width of tiles of two dimensions, 0 if they are not for such a convolution: where
// a product is a sum of few taps, tiles of one row take less time unless depths share the transformed input.
func tallTiles(s ConvShape) int {
	m, out := tallPoints-s.Kernel[2]+1, s.OutSize()
	switch taps := s.In * s.Kernel[0]; {
	case active.columnTiles == 0, s.Kernel[1] != tallTaps, s.Kernel[2] < tallTaps, s.Kernel[2] >= tallPoints,
		s.Stride[1] != 1 || s.Stride[2] != 1, s.Dilation[1] != 1 || s.Dilation[2] != 1,
		roundUp(s.Out, 8)%lanes != 0, out[1] < tallOutputs || out[2] < 4*m,
		s.Kernel[0] < 3, taps*tallPoints*tallPoints*lanes > tallWeights:
		return 0
	}
	return m
}

// Tiles reports whether [NewConv] has tiles of two dimensions for the shape.
func (s ConvShape) Tiles() bool { return tallTiles(s) > 0 }

// band is what a pass over the depths works on: tile rows ty0 … ty1−1, of which the output rows r0 … r1−1 are used.
type band struct{ r0, r1, ty0, ty1 int }

// tileSink is what becomes of outputs: stored, or pooled if arg is there.
type tileSink struct {
	y    []float32
	arg  []int32
	act  Activation
	grid [3]int
	win  [3]int
}

// forwardTiles computes the rows lo … hi−1 of windows in the sink's grid.
func (c *Conv) forwardTiles(k *tileSink, x, packed, bias []float32, lo, hi int, s *ConvScratch) {
	for lo < hi {
		z, h := lo/k.grid[1], lo%k.grid[1]
		depths, heights := 1, min(hi-lo, k.grid[1]-h)
		if h == 0 && heights == k.grid[1] {
			depths = (hi - lo) / heights
		}
		lo += depths * heights
		each := c.bandWindows(k)
		for end := h + heights; h < end; {
			next := min(end, (h/each+1)*each)
			c.forwardBand(k, x, packed, bias, z, z+depths, h, next, s)
			h = next
		}
	}
}

// bandWindows returns how many rows of windows make a band: a whole number of tile rows if there are
// enough, as many as fit bandBytes.
func (c *Conv) bandWindows(k *tileSink) int {
	m, win := c.tall.m, k.win[1]
	unit := m / gcd(m, win)
	tiles := c.fast.tiles(k.grid[2]*k.win[2], c.out[2])
	row := c.shape.In * c.slots() * c.tall.t * tiles * c.fast.t * 4 // bytes of a tile row
	n := unit
	for n < k.grid[1] && ((n+unit)*win+m-1)/m*row <= bandBytes {
		n += unit
	}
	return n
}

// slots is the number of input depths that a window reaches over.
func (c *Conv) slots() int { return c.shape.Dilation[0]*(c.shape.Kernel[0]-1) + 1 }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// forwardBand computes the windows z0 … z1−1, h0 … h1−1.
func (c *Conv) forwardBand(k *tileSink, x, packed, bias []float32, z0, z1, h0, h1 int, s *ConvScratch) {
	b := band{r0: h0 * k.win[1], r1: h1 * k.win[1]}
	b.ty0, b.ty1 = b.r0/c.tall.m, (b.r1-1)/c.tall.m+1
	t := c.layoutBand(&b, k, h1-h0, s)
	for z := z0; z < z1; z++ {
		for d := z * k.win[0]; d < (z+1)*k.win[0]; d++ {
			c.transformSlices(x, d, &b, t)
			for c0 := 0; c0 < c.shape.Out; c0 += lanes {
				c.depthTiles(k, packed, bias, c0, d, z, h0, &b, s)
			}
		}
		if k.arg != nil {
			c.storeWindows(k, z, h0, h1, t)
		}
	}
}

// layoutBand provides memory for a band.
func (c *Conv) layoutBand(b *band, k *tileSink, windows int, s *ConvScratch) *tileScratch {
	f, tall := c.fast, c.tall
	if s.tiles == nil {
		s.tiles = &tileScratch{depth: make([]int, c.slots()), rows: make([]int32, c.shape.In*c.shape.Kernel[0])}
	}
	t := s.tiles
	for i := range t.depth {
		t.depth[i] = -1
	}
	tiles := f.tiles(k.grid[2]*k.win[2], c.out[2])
	t.starts = t.starts[:0]
	for z := range tiles {
		t.starts = append(t.starts, int32(f.start(z, c.out[2])))
	}
	columns := roundUp(c.padded[2], lanes)
	grow(&t.panel, tall.t*columns)
	grow(&t.mixed, tall.t*columns)
	grow(&t.v, c.shape.In*len(t.depth)*c.slice(b, tiles))
	grow(&t.mid, f.t*active.columnTiles*tall.m*lanes)
	grow(&t.strip, tall.m*tiles*f.m*lanes)
	t.to = t.to[:0]
	for i := range tiles * tall.m {
		t.to = append(t.to, int32((i%tall.m*tiles+i/tall.m)*f.m))
	}
	if k.arg != nil {
		n := roundUp(c.shape.Out, lanes) * windows * k.grid[2]
		grow(&t.best, n)
		grow(&t.arg, n)
	}
	return t
}

// grow makes a slice have at least n elements; their values are lost if it has not.
func grow[T any](x *[]T, n int) {
	if len(*x) < n {
		*x = make([]T, n)
	}
}

// slice is the number of values of a slice of a band, and of those that winogradInput may write behind it.
func (c *Conv) slice(b *band, tiles int) int {
	return (b.ty1-b.ty0)*c.tall.t*tiles*c.fast.t + lanes
}

// transformSlices transforms what output depth d reads of x, except slices that are there already, and fills
// t.rows.
func (c *Conv) transformSlices(x []float32, d int, b *band, t *tileScratch) {
	slice := c.slice(b, len(t.starts))
	for kd := range c.shape.Kernel[0] {
		depth := d*c.shape.Stride[0] + kd*c.shape.Dilation[0]
		slot := depth % len(t.depth)
		for ci := range c.shape.In {
			at := (ci*len(t.depth) + slot) * slice
			t.rows[ci*c.shape.Kernel[0]+kd] = int32(at)
			if t.depth[slot] != depth {
				c.transformSlice(t.v[at:], x[(ci*c.padded[0]+depth)*c.padded[1]*c.padded[2]:], b, t)
			}
		}
		t.depth[slot] = depth
	}
}

// transformSlice transforms the tile rows of a band of one channel at one depth: first the columns, as a
// product with the matrix of points, 16 positions of a row at a time, then the rows.
func (c *Conv) transformSlice(v, x []float32, b *band, t *tileScratch) {
	f, tall, wide := c.fast, c.tall, c.padded[2]
	columns := roundUp(wide, lanes)
	for ty := b.ty0; ty < b.ty1; ty++ {
		from := tall.start(ty, c.out[1]) * wide
		active.packRows(t.panel, x[from:], wide, tall.t, wide)
		for q := 0; q < columns; q += len(noBias) {
			n := min(len(noBias), columns-q)
			active.gemmPanels(t.mixed[q:], columns, tall.in, 1, lanes, t.panel[q*tall.t:], lanes, lanes*tall.t, noBias[:n], tall.t, n, tall.t)
		}
		active.winogradInput(v, t.mixed, tall.t, columns, t.starts, f.in, f.t)
		v = v[tall.t*len(t.starts)*f.t:]
	}
}

// depthTiles computes output depth d of a band for the channels from c0 on.
func (c *Conv) depthTiles(k *tileSink, packed, bias []float32, c0, d, z, h0 int, b *band, s *ConvScratch) {
	t, plane := s.tiles, volume(c.out)
	_, used := blockWidth(c0, c.shape.Out)
	start := c.blockBias(bias, c0, s)
	pitch := len(t.starts) * c.fast.m * lanes
	windows := (b.r1/k.win[1] - h0) * k.grid[2]
	for ty := b.ty0; ty < b.ty1; ty++ {
		c.convolveTiles(start, packed[c0*c.packedTaps():], ty-b.ty0, t)
		if k.act > ReLU {
			k.act.Forward(t.strip[:c.tall.m*pitch], t.strip[:c.tall.m*pitch])
		}
		for p := range c.tall.m {
			r := c.tall.start(ty, c.out[1]) + p
			if r < max(b.r0, ty*c.tall.m) || r >= b.r1 {
				continue // of the tile before it, or not asked for
			}
			row, pos := t.strip[p*pitch:], (d*c.out[1]+r)*c.out[2]
			if k.arg == nil {
				active.unblock(k.y[c0*plane+pos:], plane, row, c.out[2], lanes, used)
				continue
			}
			at := c0*windows + (r/k.win[1]-h0)*k.grid[2]*lanes
			first := d == z*k.win[0] && r%k.win[1] == 0
			active.foldMax(t.best[at:], t.arg[at:], row, k.grid[2], k.win[2], lanes, int32(pos), first)
		}
	}
}

// storeWindows stores the maxima of the windows z, h0 … h1−1.
func (c *Conv) storeWindows(k *tileSink, z, h0, h1 int, t *tileScratch) {
	plane, n := volume(k.grid), (h1-h0)*k.grid[2]
	at := (z*k.grid[1] + h0) * k.grid[2]
	for c0 := 0; c0 < c.shape.Out; c0 += lanes {
		_, used := blockWidth(c0, c.shape.Out)
		best, arg := t.best[c0*n:][:n*lanes], t.arg[c0*n:][:n*lanes]
		if k.act == ReLU {
			ReLU.Forward(best, best)
		}
		active.unblock(k.y[c0*plane+at:], plane, best, n, lanes, used)
		active.unblock(int32AsFloat(k.arg[c0*plane+at:]), plane, int32AsFloat(arg), n, lanes, used)
	}
}

// convolveTiles computes tile row ty of the band into t.strip, where tile z has columns z·mw … of mh rows.
func (c *Conv) convolveTiles(bias, w []float32, ty int, t *tileScratch) {
	f, m, tiles := c.fast, c.tall.m, len(t.starts)
	step := tiles * f.t // from point to point of a column
	v := t.v[ty*c.tall.t*step:]
	for z := 0; z < tiles; z += active.columnTiles {
		n := min(active.columnTiles, tiles-z)
		active.winogradColumns(t.mid, v[z*f.t:], f.t, n, step, t.rows, w, c.tall.powers)
		active.winogradOutput(t.strip, bias, t.mid, n*m, t.to[z*m:(z+n)*m], f.powers, f.m, f.t, lanes)
	}
	// The last tile may have been moved back: its first columns are those of the tile before it.
	if moved := (tiles-1)*f.m - int(t.starts[tiles-1]); moved > 0 {
		for p := range m {
			last := t.strip[((p+1)*tiles-1)*f.m*lanes:][:f.m*lanes]
			copy(last, last[moved*lanes:])
		}
	}
}

// winogradColumnsGeneric computes products at the points of a column, of tiles side by side, and interpolates the column: for
// j < n, z < tiles, i < 8, p < 4 and c < 16,
//
//	P[i] = Σ_{r<len(b)} v[((j·8 + i)·len(b) + r)·16 + c] · x[j + i·step + z·8 + b[r]]
//	mid[((j·tiles + z)·4 + p)·16 + c] = Σ_i Aᵀ[p, i] · P[i]
//
// as winogradOutputGeneric does.
func winogradColumnsGeneric(mid, x []float32, n, tiles, step int, b []int32, v, powers []float32) {
	const t, m = tallPoints, tallOutputs
	var prod [t * lanes]float32
	var zero [lanes]float32
	for j := range n {
		for z := range tiles {
			for i := range t {
				at := [1]int32{int32(j + i*step + z*t)}
				indexedGeneric(prod[i*lanes:], zero[:], x, at[:], b, v[(j*t+i)*len(b)*lanes:], lanes)
			}
			winogradOutputGeneric(mid[(j*tiles+z)*m*lanes:], zero[:], prod[:], 1, []int32{0}, powers, m, t, lanes)
		}
	}
}

// packTiles lays out the weights of one block of channels for tiles: from the taps w [channels, In·KD, kh, kw]
// to dst [tw][th][In·KD][16], absent channels zero.
func (c *Conv) packTiles(dst, w []float32, channels int) {
	f, tall := c.fast, c.tall
	taps := c.shape.In * c.shape.Kernel[0]
	clear(dst[:f.t*tall.t*taps*lanes])
	var half [tallPoints * tallTaps]float64 // [tw][kh]
	for o := range channels {
		for r := range taps {
			box := w[(o*taps+r)*tall.k*f.k:]
			for j, g := range f.weights {
				for h := range tall.k {
					sum := 0.0
					for l, v := range box[h*f.k : (h+1)*f.k] {
						sum += g[l] * float64(v)
					}
					half[j*tall.k+h] = sum
				}
			}
			for j := range f.t {
				for i, g := range tall.weights {
					sum := 0.0
					for h, v := range half[j*tall.k : (j+1)*tall.k] {
						sum += g[h] * v
					}
					dst[((j*tall.t+i)*taps+r)*lanes+o] = float32(sum)
				}
			}
		}
	}
}
