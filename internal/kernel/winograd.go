package kernel

import "math"

// Minimal filtering (Toom and Cook; Winograd 1980) computes m neighboring
// outputs of a row of k taps with t = m + k − 1 products where the direct
// convolution takes m·k. Input and taps are evaluated at t points, multiplied
// there, and m coefficients are interpolated:
//
//	y = Aᵀ [ (G w) ⊙ (Bᵀ x) ],   w [k], x [t], y [m]
//
// Taps of other kernel rows and input channels add up between the products and
// Aᵀ, so that Aᵀ is paid for once per output. With points a_0 … a_{t−2} and ∞,
//
//	Aᵀ[p, j] = a_j^p                              ∞: 1 for p = m−1
//	G[j, l]  = a_j^l / Π_{i≠j} (a_j − a_i)        ∞: 1 for l = k−1
//	Bᵀ[j, ·] = coefficients of Π_{i≠j} (z − a_i)  ∞: of Π_i (z − a_i)
//
// The points are fractions whose powers and coefficients float32 holds exactly,
// so that only G is rounded. Among those with small denominators they were
// chosen by the error of 125 taps on normal data: in the root mean square 0.3,
// 0.5 and 0.8·10⁻⁶ of that of the outputs for t = 6, 8 and 9, at most 2·10⁻⁶ of
// the largest output; the direct sum has 0.2·10⁻⁶. A NaN or an infinity makes
// all m outputs of its tiles NaN.

// positivePoints are the positive points for t; their opposites are points, too,
// and so are ∞ and, for even t, 0.
var positivePoints = map[int][]float64{
	6: {5. / 8, 3. / 2}, 8: {1. / 2, 1, 2}, 9: {1. / 4, 5. / 8, 1, 2},
}

// winogradSizes are the supported numbers t of products.
var winogradSizes = [...]int{6, 8, 9}

// winogradTaps and winogradPoints are the numbers of taps and of products of a row at most.
const (
	winogradTaps   = 7
	winogradPoints = 9
)

// winogradPowers is the number of outputs of a tile at most, m = 7 for k = 3.
const winogradPowers = 7

// winograd is the plan of a convolution along rows by minimal filtering. Points
// are in the order 0 (if t is even), a, −a for each positive point a, ∞.
type winograd struct {
	m, k, t int
	in      []float32   // [t, 16]: in[i·16 + j] = Bᵀ[j, i], zeros for j ≥ t
	powers  []float32   // [winogradPowers, pairs]: a^p
	weights [][]float64 // [t][k]: G
}

func newWinograd(m, k int) *winograd {
	t := m + k - 1
	f := &winograd{m: m, k: k, t: t, in: make([]float32, t*lanes)}
	var points []float64
	if t%2 == 0 {
		points = append(points, 0)
	}
	for _, a := range positivePoints[t] {
		points = append(points, a, -a)
	}
	for p := range winogradPowers {
		for _, a := range positivePoints[t] {
			f.powers = append(f.powers, float32(math.Pow(a, float64(p))))
		}
	}
	for j := range t {
		norm, poly := 1.0, []float64{1}
		for i, b := range points {
			if i == j {
				continue
			}
			if j < len(points) {
				norm *= points[j] - b
			}
			poly = append(poly, 0) // times z − b
			for q := len(poly) - 1; q >= 0; q-- {
				poly[q] *= -b
				if q > 0 {
					poly[q] += poly[q-1]
				}
			}
		}
		for i, v := range poly {
			f.in[i*lanes+j] = float32(v)
		}
		row := make([]float64, k)
		row[k-1] = 1
		if j < len(points) {
			for l := range row {
				row[l] = math.Pow(points[j], float64(l)) / norm
			}
		}
		f.weights = append(f.weights, row)
	}
	return f
}

// chooseWinograd returns the plans along rows and columns that take least time for
// a convolution: nil for both if the direct one does, nil for columns if tiles of
// one row do, or unless tiles is set. It depends on the shape and the instruction
// set, and not on a pool, so that the convolution fused with one gives the same bits.
func chooseWinograd(s ConvShape, tiles bool) (fast, tall *winograd) {
	k, wide := s.Kernel[2], s.OutSize()[2]
	if s.Stride[2] != 1 || s.Dilation[2] != 1 || k < 3 || k > winogradTaps {
		return nil, nil
	}
	if m := tallTiles(s); tiles && m > 0 {
		return newWinograd(m, k), newWinograd(tallOutputs, tallTaps)
	}
	rows := float64(s.In * s.Kernel[0] * s.Kernel[1])
	blocks := float64(roundUp(s.Out, 8)) / lanes
	best, bestCost := 0, winogradGain*float64(wide*k)*rows*blocks
	for _, t := range winogradSizes {
		m := t - k + 1
		if m < 2 || m > wide {
			continue
		}
		tile := blocks*(float64(t)*rows+winogradOutputCost*float64(t+m)) + winogradInputCost*float64(s.In*t)
		if cost := tile * float64((wide+m-1)/m); cost < bestCost {
			best, bestCost = m, cost
		}
	}
	if best == 0 {
		return nil, nil
	}
	return newWinograd(best, k), nil
}

// What the transforms of a tile cost, in products of vectors for each value, and
// the part of the direct convolution's time that is a gain: with these, of 400
// shapes with rows of 8 to 64 positions none that is chosen took longer than
// directly by more than measurements vary, with AVX2 or AVX-512.
const (
	winogradOutputCost = 3
	winogradInputCost  = 2.5
	winogradGain       = 0.8
)

// tiles returns the number of tiles that compute the first n of wide positions.
// They begin at multiples of m, but for one that ends with the row.
func (f *winograd) tiles(n, wide int) int {
	return min((n+f.m-1)/f.m, (wide+f.m-1)/f.m)
}

// start returns where tile z begins in a row of wide positions.
func (f *winograd) start(z, wide int) int { return min(z*f.m, wide-f.m) }

// pack lays out the weights of one block of channels for the products: from the
// taps w [channels, rows·k] to dst [t][rows][cb], absent channels zero.
func (f *winograd) pack(dst, w []float32, rows, cb, channels int) {
	clear(dst[:f.t*rows*cb])
	var g [winogradTaps][winogradPoints]float64 // transposed, so that the sums of all points advance together
	for j, row := range f.weights {
		for l, v := range row {
			g[l][j] = v
		}
	}
	for c := range channels {
		for r := range rows {
			var s0, s1, s2, s3, s4, s5, s6, s7, s8 float64
			for l, v := range w[(c*rows+r)*f.k:][:f.k] {
				x, row := float64(v), &g[l]
				s0 += row[0] * x
				s1 += row[1] * x
				s2 += row[2] * x
				s3 += row[3] * x
				s4 += row[4] * x
				s5 += row[5] * x
				s6 += row[6] * x
				s7 += row[7] * x
				s8 += row[8] * x
			}
			at, sums := r*cb+c, [winogradPoints]float64{s0, s1, s2, s3, s4, s5, s6, s7, s8}
			for _, sum := range sums[:f.t] {
				dst[at] = float32(sum)
				at += rows * cb
			}
		}
	}
}

// winogradInputGeneric evaluates n rows of an input, which lie ld apart, at the
// points: for r < n, z < len(starts) and j < t,
//
//	v[(r·len(starts) + z)·t + j] = Σ_{i<t} in[i·16 + j] · x[r·ld + starts[z] + i]
//
// It may write up to 16 − t elements more.
func winogradInputGeneric(v, x []float32, n, ld int, starts []int32, in []float32, t int) {
	for r := range n {
		for z, at := range starts {
			from, to := x[r*ld+int(at):][:t], v[(r*len(starts)+z)*t:][:t]
			for j := range to {
				sum := float32(0)
				for i, xv := range from {
					sum += float32(in[i*lanes+j] * xv)
				}
				to[j] = sum
			}
		}
	}
}

// winogradOutputGeneric interpolates tiles of m outputs from products at t
// points: for i < len(o) in order, p < m and c < cb (8 or 16),
//
//	out[(o[i] + p)·cb + c] = bias[c] + Σ_{j<t} Aᵀ[p, j] · prod[(j·ld + i)·cb + c]
//
// where the two products of opposite points are added first if p is even,
// subtracted if it is odd. powers is [p][points/2].
func winogradOutputGeneric(out, bias, prod []float32, ld int, o []int32, powers []float32, m, t, cb int) {
	half, zero := (t-1)/2, (t+1)%2
	for i, to := range o {
		at := func(j, c int) float32 { return prod[(j*ld+i)*cb+c] }
		for p := range m {
			y := out[(int(to)+p)*cb:][:cb]
			for c := range y {
				sum := bias[c]
				if p == 0 && zero == 1 {
					sum += at(0, c)
				}
				for q, a := range powers[p*half : (p+1)*half] {
					plus, minus := at(zero+2*q, c), at(zero+2*q+1, c)
					if p%2 == 1 {
						minus = -minus
					}
					sum += float32(a * (plus + minus))
				}
				if p == m-1 {
					sum += at(t-1, c)
				}
				y[c] = sum
			}
		}
	}
}

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

// firstCache is the number of values that fit a common first-level cache.
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

// layoutSlab allocates slabs with the given numbers of depths and heights, and rows of wide
// positions.
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
