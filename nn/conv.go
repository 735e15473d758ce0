package nn

import (
	"cmp"
	"fmt"

	"credence/internal/kernel"
)

// Conv is a convolution (a cross-correlation, as usual in the field) in
// 1, 2 or 3 dimensions, as many as the input has.
//
//	C input, O output channels, s input, p output positions, k kernel positions
//	x, dx    [N, C, s]
//	y, dy    [N, O, p]
//	weight   [O, C, k]
//	bias     [O]
//
// Backward splits items into fixed groups; each group sums its weight gradients,
// and the groups' sums are added in order. Forward cuts few items into rows, too.
//
// [Sequential] fuses it with a non-decreasing activation and a max-pool of windows
// that neither overlap nor are padded: the output at full resolution is never
// stored, and the backward pass visits only the largest position of each window. The
// result is bit-identical to that of separate layers; p are then pooled positions.
type Conv struct {
	Out      int
	Kernel   Ints
	Stride   Ints // empty means 1
	Pad      Ints // zeros on both sides
	Dilation Ints // empty means 1
	In       int  // channels expected; zero means any
	Dims     int  // spatial dimensions expected; zero means any
	NoBias   bool

	shape        kernel.ConvShape
	pool         *MaxPool          // fused with it, or nil
	act          kernel.Activation // fused with it, or Identity
	last         bool              // whether the activation comes after the pool
	plans        [2]*convPlan      // to predict and, if that differs, to train
	plan         *convPlan         // that of the last forward pass
	weight, bias *Param
	in, out      int       // values of an item
	groups       groups    // of the backward pass
	cut          cut       // of the forward pass
	packedInput  []float32 // weights for the input gradient
	fwd, bwd     func(worker, g int)
	y, x, dx, dy []float32
}

// Build implements [Layer].
func (l *Conv) Build(b *Builder, in Shape) (Shape, error) {
	c, dims, size, err := space(in, l.Dims)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Out < 1:
		return nil, fmt.Errorf("out %d: expected at least 1", l.Out)
	case l.In != 0 && l.In != c:
		return nil, fmt.Errorf("expected %d channels, found %d (%v)", l.In, c, in)
	}
	s := kernel.ConvShape{In: c, Out: l.Out, Size: size}
	var errs [4]error
	s.Kernel, errs[0] = l.Kernel.each("kernel", dims, 0, 1, 1)
	s.Stride, errs[1] = l.Stride.each("stride", dims, 1, 1, 1)
	s.Pad, errs[2] = l.Pad.each("pad", dims, 0, 0, 0)
	s.Dilation, errs[3] = l.Dilation.each("dilation", dims, 1, 1, 1)
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	shape := append(Shape{l.Out, c}, s.Kernel[3-dims:]...)
	if err := checkSize("weight", shape, maxValues); err != nil {
		return nil, err
	}
	padded := Shape{c}
	for i, n := range size {
		padded = append(padded, n+2*s.Pad[i])
	}
	if err := checkSize("padded input", padded, maxValues); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	l.shape = s
	to := s.OutSize()
	out := unspace(l.Out, dims, to)
	l.in, l.out = in.Size(), out.Size()
	taps := shape.Size() / l.Out
	l.weight = b.Weight("weight", shape, taps, taps/c*l.Out)
	if !l.NoBias {
		l.bias = b.Const("bias", Shape{l.Out}, 0)
	}
	l.groups.work = l.out * taps
	b.hold(padded.Size() + to[0]*to[1]) // of a core: the padded input and a table of rows
	b.OnBackward(func(batch int) { l.groups.bind(batch, l.weight, l.bias) })
	l.fwd, l.bwd = l.forward, l.backward
	return out, nil
}

// convPlan is a plan with its weights and memory.
type convPlan struct {
	*kernel.Conv
	packed  []float32 // weights for the forward pass
	scratch []*convScratch
}

// convScratch is the working memory of one worker.
type convScratch struct {
	*kernel.ConvScratch
	item int       // the item of the padded input x, −1 if there is none
	x    []float32 // that input
}

// planFor returns the plan of a pass. Tiles of two dimensions are for training alone, where their errors, three times as large as
// those of tiles of a row, are far below the noise of a batch: predictions keep the digits.
func (l *Conv) planFor(train bool) *convPlan {
	at := &l.plans[0]
	tiles := train && l.shape.Tiles()
	if tiles {
		at = &l.plans[1]
	}
	if *at == nil {
		var window [3]int
		if l.pool != nil {
			window = l.pool.shape.Window
		}
		plan, err := kernel.NewConv(l.shape, window, tiles)
		if err != nil {
			panic("nn: " + err.Error()) // Build has checked the shape
		}
		*at = &convPlan{Conv: plan, packed: make([]float32, plan.PackedLen())}
	}
	return *at
}

// Forward implements [Layer].
func (l *Conv) Forward(p *Pass, y, x []float32) {
	l.y, l.x = y, x
	l.plan = l.planFor(p.Train)
	l.groups.split(p.Items)
	l.cut.split(&l.groups, l.plan.Rows())
	for len(l.plan.scratch) < p.Workers() { // for all that may run
		l.plan.scratch = append(l.plan.scratch, &convScratch{ConvScratch: l.plan.NewScratch()})
	}
	for _, s := range l.plan.scratch {
		s.item = -1
	}
	l.plan.Pack(l.plan.packed, l.weight.Value)
	p.ForWorker(l.cut.count, l.fwd)
}

// pad returns the padded input of item j. It is computed once for all pieces of an item
// that a worker gets.
func (l *Conv) pad(s *convScratch, j int, x []float32) []float32 {
	if s.item != j {
		s.item, s.x = j, l.plan.Pad(x[j*l.in:][:l.in], s.ConvScratch)
	}
	return s.x
}

// biases returns the values of the bias, nil if there is none.
func (l *Conv) biases() []float32 {
	if l.bias == nil {
		return nil
	}
	return l.bias.Value
}

func (l *Conv) forward(worker, i int) {
	items, rows := l.cut.at(i)
	for j := items.lo; j < items.hi; j++ {
		s := l.plan.scratch[worker]
		if l.pool != nil {
			l.forwardPool(s, j, rows)
			continue
		}
		l.plan.ForwardRows(l.y[j*l.out:][:l.out], l.pad(s, j, l.x), l.plan.packed, l.biases(), rows.lo, rows.hi, s.ConvScratch)
	}
}

// forwardPool computes pooled rows of item j.
func (l *Conv) forwardPool(s *convScratch, j int, rows span) {
	z, act := l.pool.out, l.act
	if l.last {
		act = kernel.Identity
	}
	y := l.y[j*z:][:z]
	l.plan.ForwardPoolRows(y, l.pool.arg[j*z:][:z], l.pad(s, j, l.x), l.plan.packed, l.biases(), act,
		rows.lo, rows.hi, s.ConvScratch)
	if l.last && l.act != kernel.Identity {
		plane, wide := z/l.Out, l.pool.shape.OutSize()[2]
		for o := range l.Out {
			pooled := y[o*plane+rows.lo*wide : o*plane+rows.hi*wide]
			l.act.Forward(pooled, pooled)
		}
	}
}

// Backward implements [Layer].
func (l *Conv) Backward(p *Pass, dx, dy, y, x []float32) {
	if dx != nil && l.pool == nil {
		if l.packedInput == nil {
			l.packedInput = make([]float32, l.plan.PackedInputLen())
		}
		l.plan.PackInput(l.packedInput, l.weight.Value)
	}
	l.dx, l.dy, l.y, l.x = dx, dy, y, x
	p.ForWorker(l.groups.count, l.bwd)
	l.groups.sum(l.weight, l.bias)
}

func (l *Conv) backward(worker, g int) {
	lo, hi := l.groups.at(g)
	dw, db := l.groups.partial(g)
	clear(dw)
	clear(db)
	if l.pool != nil {
		l.backwardPool(worker, lo, hi, dw, db)
		return
	}
	for j := lo; j < hi; j++ {
		dy := l.dy[j*l.out:][:l.out]
		l.plan.GradWeight(dw, db, dy, l.x[j*l.in:][:l.in], l.plan.scratch[worker].ConvScratch)
		if l.dx != nil {
			l.plan.GradInput(l.dx[j*l.in:][:l.in], dy, l.packedInput, l.plan.scratch[worker].ConvScratch)
		}
	}
}

// backwardPool adds the gradients of items lo … hi−1 to dw and db, and sets dx.
func (l *Conv) backwardPool(worker, lo, hi int, dw, db []float32) {
	z := l.pool.out
	dy := l.dy[lo*z : hi*z]
	if l.act != kernel.Identity {
		l.act.Backward(dy, dy, l.y[lo*z:hi*z])
	}
	var dx []float32
	if l.dx != nil {
		dx = l.dx[lo*l.in : hi*l.in]
	}
	l.plan.GradSparse(dw, db, dx, dy, l.pool.arg[lo*z:hi*z], l.x[lo*l.in:hi*l.in], l.weight.Value,
		l.plan.scratch[worker].ConvScratch)
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
