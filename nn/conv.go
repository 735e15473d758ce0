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
	packedBack   []float32 // weights for the input gradient
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
	b.OnBackward(func(batch int) { l.groups.bind(batch, l.weightGrads(), len(l.biases())) })
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
	l.begin(p, y, x)
	l.pack(false)
	l.cut.split(&l.groups, l.plan.Rows())
	p.ForWorker(l.cut.count, l.fwd)
}

// begin implements [itemwise].
func (l *Conv) begin(p *Pass, y, x []float32) {
	l.y, l.x = y, x
	l.plan = l.planFor(p.Train)
	l.groups.split(p.Items)
	for len(l.plan.scratch) < p.Workers() { // for all that may run
		l.plan.scratch = append(l.plan.scratch, &convScratch{ConvScratch: l.plan.NewScratch()})
	}
	for _, s := range l.plan.scratch {
		s.item = -1
	}
}

// pack implements [itemwise].
func (l *Conv) pack(back bool) {
	if !back {
		l.plan.Pack(l.plan.packed, l.weight.Value)
		return
	}
	length, lay := l.plan.PackedInputLen, l.plan.PackInput
	if l.pool != nil {
		length, lay = l.shape.SparseLen, l.plan.PackSparse
	}
	if l.packedBack == nil {
		l.packedBack = make([]float32, length())
	}
	lay(l.packedBack, l.weight.Value)
}

// weightGrads returns the number of values of the weight's gradient as the backward pass lays it out.
func (l *Conv) weightGrads() int {
	if l.pool != nil {
		return l.shape.SparseLen()
	}
	return l.weight.Size()
}

// unit implements [itemwise].
func (l *Conv) unit(n int) (items, work int) {
	l.groups.split(n)
	return l.groups.each, l.groups.work
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
	l.forwardRows(worker, items, rows)
}

// forwardItems implements [itemwise].
func (l *Conv) forwardItems(worker, lo, hi int) {
	l.forwardRows(worker, span{lo, hi}, span{0, l.plan.Rows()})
}

// forwardRows computes rows of some items.
func (l *Conv) forwardRows(worker int, items, rows span) {
	s := l.plan.scratch[worker]
	for j := items.lo; j < items.hi; j++ {
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
	l.beginBack(p, dy, y, x)
	if dx != nil {
		l.pack(true)
	}
	l.dx, l.dy = dx, dy
	p.ForWorker(l.groups.count, l.bwd)
	l.gradPiece(0, 0)
}

func (l *Conv) backward(worker, g int) {
	lo, hi := l.groups.at(g)
	var dx []float32
	if l.dx != nil {
		dx = l.dx[lo*l.in : hi*l.in]
	}
	out := l.outputs()
	l.backwardItems(worker, lo, hi, dx, l.dy[lo*out:hi*out])
}

// outputs returns the number of values of an item's output, after the pool.
func (l *Conv) outputs() int {
	if l.pool != nil {
		return l.pool.out
	}
	return l.out
}

// beginBack implements [itemwise].
func (l *Conv) beginBack(_ *Pass, _, y, x []float32) { l.y, l.x = y, x }

// backwardItems implements [itemwise]: the gradients of some groups.
func (l *Conv) backwardItems(worker, lo, hi int, dx, dy []float32) {
	s, out := l.plan.scratch[worker].ConvScratch, l.outputs()
	for at := lo; at < hi; at += l.groups.each {
		end := min(at+l.groups.each, hi)
		dw, db := l.groups.partial(at / l.groups.each)
		clear(dw)
		clear(db)
		var to []float32
		if dx != nil {
			to = dx[(at-lo)*l.in : (end-lo)*l.in]
		}
		l.backwardGroup(span{at, end}, dw, db, to, dy[(at-lo)*out:(end-lo)*out], s)
	}
}

// backwardGroup adds the gradients of some items to dw and db, and sets dx, of these items alone as is dy.
func (l *Conv) backwardGroup(items span, dw, db, dx, dy []float32, s *kernel.ConvScratch) {
	x := l.x[items.lo*l.in : items.hi*l.in]
	if l.pool != nil {
		z := l.pool.out
		if l.act != kernel.Identity {
			l.act.Backward(dy, dy, l.y[items.lo*z:items.hi*z])
		}
		l.plan.GradSparse(dw, db, dx, dy, l.pool.arg[items.lo*z:items.hi*z], x, l.packedBack, s)
		return
	}
	for j := range items.hi - items.lo {
		dy := dy[j*l.out:][:l.out]
		l.plan.GradWeight(dw, db, dy, x[j*l.in:][:l.in], s)
		if dx != nil {
			l.plan.GradInput(dx[j*l.in:][:l.in], dy, l.packedBack, s)
		}
	}
}

// keepsGrad implements [itemwise].
func (l *Conv) keepsGrad() bool { return false }

// gradPieces implements [itemwise].
func (l *Conv) gradPieces() int { return 1 }

// gradPiece implements [itemwise].
func (l *Conv) gradPiece(_, _ int) {
	dw, db := l.groups.sum()
	if l.pool != nil {
		l.plan.UnpackSparse(l.weight.Grad, dw)
	} else {
		copy(l.weight.Grad, dw)
	}
	if l.bias != nil {
		copy(l.bias.Grad, db)
	}
}
