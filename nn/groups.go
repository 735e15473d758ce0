package nn

import "credence/internal/kernel"

// groups splits the items of a batch into runs that are processed separately, each
// with its own sums of the parameters' gradients. The division depends on shapes
// alone.
type groups struct {
	work    int // multiply-adds of an item
	count   int
	each    int
	items   int
	weights int       // values of the weight's gradient, as the layer lays it out
	biases  int       // values of the bias
	sums    []float32 // [groups, weights + biases]
}

// maxGroups bounds the number of partial sums.
const maxGroups = 16

// bind allocates the sums for up to batch items.
func (g *groups) bind(batch, weights, biases int) {
	g.weights, g.biases = weights, biases
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

// sum returns the sums of all groups, added in order. They take the place of those of the first group.
func (g *groups) sum() (dw, db []float32) {
	dw, db = g.partial(0)
	for i := 1; i < g.count; i++ {
		dwi, dbi := g.partial(i)
		kernel.Add(dw, dw, dwi)
		kernel.Add(db, db, dbi)
	}
	return dw, db
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
