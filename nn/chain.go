package nn

// itemwise is a layer that computes each item by itself, so that a core can take some items through several such layers
// before it turns to others: they stay in its cache, and cores meet once per chain instead of once per layer.
type itemwise interface {
	Layer

	// unit returns the number of items that must stay together in a batch of n, and the
	// multiply-adds per item; no items if the layer cannot be part of a chain.
	unit(n int) (items, work int)

	// begin prepares forwardItems, all but the weights.
	begin(p *Pass, y, x []float32)

	// pack lays the weights out, for forwardItems or, if back is set, for the input gradients
	// of backwardItems. Both may run at the same time.
	pack(back bool)

	// forwardItems computes items lo … hi−1 of y.
	forwardItems(worker, lo, hi int)

	// beginBack prepares backwardItems, all but the weights. dy is the whole batch's if keepsGrad, else nil.
	beginBack(p *Pass, dy, y, x []float32)

	// backwardItems takes the gradients dy [hi−lo, out] of items lo … hi−1 and sets dx [hi−lo, in],
	// unless that is nil. It may use dy as scratch.
	backwardItems(worker, lo, hi int, dx, dy []float32)

	// keepsGrad reports whether gradPiece reads the dy that backwardItems left.
	keepsGrad() bool

	// gradPieces returns the number of pieces into which the gradients of the parameters are cut,
	// gradPiece computes one of them, after all items.
	gradPieces() int
	gradPiece(worker, i int)
}

// chain is a run of itemwise stages of a Sequential.
//
// A pass takes block after block of items through all of them. Outputs do not depend on blocks: each is the same
// sum wherever it is computed. Nor do gradients of parameters: a block consists of whole groups, whose
// sums are added in order.
type chain struct {
	seq        *Sequential
	first, end int // its stages

	block        int            // items of a block in the current pass
	kept         [][]float32    // [stages] gradients of outputs that gradPiece reads, [N, out]
	scratch      [][2][]float32 // of each worker: the other gradients of a block, which alternate
	widest       int            // values of an item that scratch has
	starts       []int          // [stages] the first piece of each stage's gradients
	p            *Pass
	y, x, dx, dy []float32

	trains         bool // whether the current pass has packed the weights for the backward pass
	packs          func(i int)
	fwd, bwd, grad func(worker, i int)
}

// Blocks per core: enough to balance the load, and few enough that products have some items. Blocks with more work than blockWork are not made larger.
const (
	blocksEach = 2
	blockWork  = 1 << 24
)

// findChains finds the chains of l's stages.
func (l *Sequential) findChains(b *Builder) {
	if b.unfused {
		return
	}
	for i := 0; i < len(l.stages); i++ {
		c := &chain{seq: l, first: i, end: i}
		for c.end < len(l.stages) && l.stages[c.end].itemwise() {
			c.end++
		}
		if c.end-c.first < 2 {
			continue
		}
		c.packs, c.fwd, c.bwd, c.grad = c.pack, c.forwardBlock, c.backwardBlock, c.gradPiece
		for k := c.first; k < c.end; k++ {
			l.stages[k].chain = c
		}
		b.OnBackward(c.bind)
		i = c.end - 1
	}
}

// itemwise reports whether a stage can be part of a chain.
func (s *stage) itemwise() bool {
	_, ok := s.layer.(itemwise)
	return ok
}

// layer returns the layer of stage i of the Sequential.
func (c *chain) layer(i int) itemwise { return c.seq.stages[i].layer.(itemwise) }

// bind allocates the gradients of whole batches; the last stage's come from outside.
func (c *chain) bind(batch int) {
	c.kept, c.widest = make([][]float32, c.end-c.first), 0
	for i := c.first; i < c.end-1; i++ {
		out := c.seq.stages[i].out
		if c.layer(i).keepsGrad() {
			c.kept[i-c.first] = make([]float32, batch*out)
		} else {
			c.widest = max(c.widest, out)
		}
	}
}

// split chooses the blocks of a pass. It reports whether there are enough of them: if not, layers run one after
// the other, some of them cutting items, too.
func (c *chain) split(p *Pass) bool {
	unit, work := 1, 0
	for i := c.first; i < c.end; i++ {
		u, w := c.layer(i).unit(p.Items)
		if u == 0 || u > 1 && unit > 1 && u != unit {
			return false
		}
		unit, work = max(unit, u), work+w
	}
	workers := p.Workers()
	if p.Items*work < splitWork {
		return false
	}
	c.block = unit
	if unit*work < blockWork {
		units := pieces(p.Items, unit)
		c.block = max(1, units/(blocksEach*workers)) * unit
		if unit == 1 && c.block > panelRows {
			c.block = pieces(c.block, panelRows) * panelRows
		}
	}
	return pieces(p.Items, c.block) >= workers
}

// span returns the items of block i.
func (c *chain) span(i int) (lo, hi int) { return i * c.block, min((i+1)*c.block, c.p.Items) }

// input returns the inputs of stage i.
func (c *chain) input(i int) []float32 {
	if i == c.first {
		return c.x
	}
	return c.seq.output(i-1, c.p, c.y)
}

// forward computes the outputs of the stages; y is that of the Sequential.
func (c *chain) forward(p *Pass, y, x []float32) {
	c.p, c.y, c.x = p, y, x
	for i := c.first; i < c.end; i++ {
		c.layer(i).begin(p, c.seq.output(i, p, y), c.input(i))
	}
	c.trains = p.Train
	packs := c.end - c.first
	if p.Train { // the first stage's input gradients are mostly not wanted
		packs += packs - 1
	}
	p.For(packs, c.packs)
	p.ForWorker(pieces(p.Items, c.block), c.fwd)
}

// pack lays weights out: those of each stage for the forward pass, then, from the last stage on, for the backward pass.
func (c *chain) pack(i int) {
	if at := c.first + i; at < c.end {
		c.layer(at).pack(false)
	} else {
		c.layer(2*c.end - 1 - at).pack(true)
	}
}

func (c *chain) forwardBlock(worker, b int) {
	lo, hi := c.span(b)
	for i := c.first; i < c.end; i++ {
		c.layer(i).forwardItems(worker, lo, hi)
	}
}

// backward is that of the stages; y and x are those of the last forward pass, dx may be nil.
func (c *chain) backward(p *Pass, dx, dy, y, x []float32) {
	c.p, c.y, c.x, c.dx, c.dy = p, y, x, dx, dy
	for len(c.scratch) < p.Workers() {
		c.scratch = append(c.scratch, [2][]float32{})
	}
	n := 0
	c.starts = c.starts[:0]
	for i := c.first; i < c.end; i++ {
		var grads []float32
		switch l := c.layer(i); {
		case i == c.end-1:
			grads = dy
		case l.keepsGrad():
			grads = c.kept[i-c.first][:p.Items*c.seq.stages[i].out]
		}
		c.layer(i).beginBack(p, grads, c.seq.output(i, p, y), c.input(i))
		if i > c.first && !c.trains || i == c.first && dx != nil {
			c.layer(i).pack(true)
		}
		c.starts = append(c.starts, n)
		n += c.layer(i).gradPieces()
	}
	p.ForWorker(pieces(p.Items, c.block), c.bwd)
	p.ForWorker(n, c.grad)
}

func (c *chain) backwardBlock(worker, b int) {
	lo, hi := c.span(b)
	out := c.seq.stages[c.end-1].out
	dy := c.dy[lo*out : hi*out]
	for i := c.end - 1; i >= c.first; i-- {
		dx := c.gradient(worker, i, lo, hi)
		c.layer(i).backwardItems(worker, lo, hi, dx, dy)
		dy = dx
	}
}

// gradient returns where the input gradients of stage i for items lo … hi−1 go: to memory of the whole batch where they are
// read again, else to that of the worker.
func (c *chain) gradient(worker, i, lo, hi int) []float32 {
	in := c.seq.stages[i].in
	if i == c.first {
		if c.dx == nil {
			return nil
		}
		return c.dx[lo*in : hi*in]
	}
	if kept := c.kept[i-1-c.first]; kept != nil {
		return kept[lo*in : hi*in]
	}
	s := &c.scratch[worker][i%2]
	if len(*s) < c.block*c.widest {
		*s = make([]float32, c.block*c.widest)
	}
	return (*s)[:(hi-lo)*in]
}

// gradPiece computes piece n of the gradients of all parameters.
func (c *chain) gradPiece(worker, n int) {
	i := len(c.starts) - 1
	for c.starts[i] > n {
		i--
	}
	c.layer(c.first+i).gradPiece(worker, n-c.starts[i])
}
