package nn

import (
	"math"

	"credence/internal/kernel"
)

// tiles is a division of an [m, n] matrix product into pieces of rows and
// columns. Each element is the same chain of multiply-adds in any tile, so that the
// division may depend on the number of cores.
type tiles struct {
	m, n       int
	rows, cols int // of a tile
	across     int // tiles side by side
	count      int
}

const (
	panelCols = 16      // columns the kernel computes together
	panelRows = 12      // rows the kernel computes together
	tileWork  = 1 << 17 // least multiply-adds of a tile
	splitWork = 1 << 20 // multiply-adds, below which a loop is done before help arrives
	maxTiles  = 64
	tilesEach = 4 // tiles per core: enough to balance the load
)

// tile divides an m×n product over k among the given number of cores. Each tile reads all of its rows of the
// left and packs all of its columns of the right matrix; of t tiles, a across,
// that is a·m + (t/a)·n in all, which is least for a² = t·n/m.
func tile(m, n, k, workers int) tiles {
	want := 1.0
	if work := float64(m) * float64(n) * float64(k); work >= splitWork && workers > 1 {
		want = min(math.Floor(work/tileWork), maxTiles, float64(tilesEach*workers))
	}
	t := tiles{m: m, n: n, rows: max(m, 1)}
	panels := pieces(n, panelCols)
	across := max(1, int(math.Round(math.Sqrt(want*float64(n)/float64(t.rows)))))
	t.cols = pieces(panels, min(across, panels, int(want))) * panelCols
	t.across = pieces(n, t.cols)
	if down := int(want) / t.across; down > 1 {
		t.rows = pieces(pieces(m, down), panelRows) * panelRows
	}
	t.count = t.across * pieces(m, t.rows)
	return t
}

// work is the multiply-adds of the whole product over k.
func (t *tiles) work(k int) int { return t.m * t.n * k }

// at returns first row, rows, first column and columns of piece i.
func (t *tiles) at(i int) (r0, rows, c0, cols int) {
	r0, c0 = i/t.across*t.rows, i%t.across*t.cols
	return r0, min(t.rows, t.m-r0), c0, min(t.cols, t.n-c0)
}

// groups splits the items of a batch into runs that are processed separately, each
// with its own sums of the parameters' gradients. The division depends on shapes
// alone.
type groups struct {
	work    int // multiply-adds of an item
	count   int
	each    int
	items   int
	weights int       // values of the weight
	biases  int       // values of the bias
	sums    []float32 // [groups, weights + biases]
}

// maxGroups bounds the number of partial sums.
const maxGroups = 16

// bind allocates the sums for up to batch items.
func (g *groups) bind(batch int, weight, bias *Param) {
	g.weights, g.biases = weight.Size(), 0
	if bias != nil {
		g.biases = bias.Size()
	}
	g.sums = make([]float32, min(batch, maxGroups)*(g.weights+g.biases))
}

// split divides n items.
func (g *groups) split(n int) {
	if g.items == n {
		return
	}
	g.items = n
	want := min(n, maxGroups)
	switch {
	case g.work >= splitWork:
	case n*g.work < splitWork:
		want = 1
	default:
		want = min(want, n*g.work/tileWork)
	}
	g.each = pieces(n, want)
	g.count = pieces(n, g.each)
}

// at returns the items of group i.
func (g *groups) at(i int) (lo, hi int) { return i * g.each, min((i+1)*g.each, g.items) }

// partial returns group i's sums of weight and bias gradients; the latter is
// nil if there is no bias.
func (g *groups) partial(i int) (dw, db []float32) {
	p := g.sums[i*(g.weights+g.biases):][:g.weights+g.biases]
	if g.biases > 0 {
		db = p[g.weights:]
	}
	return p[:g.weights], db
}

// sum sets the gradients to the sums of all groups, added in order.
func (g *groups) sum(weight, bias *Param) {
	var biasGrad []float32
	if bias != nil {
		biasGrad = bias.Grad
	}
	for i := range g.count {
		dw, db := g.partial(i)
		if i == 0 {
			copy(weight.Grad, dw)
			copy(biasGrad, db)
			continue
		}
		kernel.Add(weight.Grad, weight.Grad, dw)
		kernel.Add(biasGrad, biasGrad, db)
	}
}

// cut divides the forward pass of a convolution: into the groups of items, or,
// of fewer items than make groups for all cores, each item into rows. Each output
// is the same sum wherever it is computed.
type cut struct {
	count  int
	groups *groups
	rows   int // of an item
	each   int // rows of a piece; all of them if items are not cut
}

// span is the indices lo … hi−1.
type span struct{ lo, hi int }

// split divides the items of g, each with the given number of rows.
func (c *cut) split(g *groups, rows int) {
	c.groups, c.rows, c.each, c.count = g, rows, rows, g.count
	if g.items >= maxGroups {
		return
	}
	if per := min(pieces(2*maxGroups, g.items), g.work/(splitWork/2), rows); per > 1 {
		c.each = pieces(rows, per)
		c.count = g.items * pieces(rows, c.each)
	}
}

// at returns the items of piece i and their rows.
func (c *cut) at(i int) (items, rows span) {
	if c.each == c.rows {
		lo, hi := c.groups.at(i)
		return span{lo, hi}, span{0, c.rows}
	}
	per := pieces(c.rows, c.each)
	j, lo := i/per, i%per*c.each
	return span{j, j + 1}, span{lo, min(lo+c.each, c.rows)}
}
