package nn

import (
	"fmt"

	"credence/internal/kernel"
)

// Dense is a fully connected layer, y = W·x + b.
//
//	I inputs, O outputs
//	x, dx       [N, I]
//	y, dy       [N, O]
//	weight      [O, I]
//	bias        [O]
type Dense struct {
	Out    int
	In     int  // inputs expected; zero means any
	NoBias bool // leave b out

	in           int
	weight, bias *Param
	relu         *ReLU // run here, in place, if Sequential fused it
	work         *workspace
	fwd, bwd     func(worker, i int)
	n, workers   int   // that the tiles are for
	yTiles       tiles // y, split for the forward pass
	wTiles       tiles // dW
	xTiles       tiles // dx
	thin         bool
	dwt          []float32 // [I, O], when I is small
	y, x, dx, dy []float32

	// In a chain, weights are packed once for all items, or, of few items, items are transposed instead.
	packed, packedBack []float32
	few                bool
}

// Build implements [Layer].
func (l *Dense) Build(b *Builder, in Shape) (Shape, error) {
	switch {
	case l.Out < 1:
		return nil, fmt.Errorf("out %d: expected at least 1", l.Out)
	case len(in) != 1:
		return nil, fmt.Errorf("expected a flat input, found %v: put a flatten before it", in)
	case l.In != 0 && l.In != in[0]:
		return nil, fmt.Errorf("expected %d inputs, found %v", l.In, in)
	}
	if err := checkSize("weight", Shape{l.Out, in[0]}, maxValues); err != nil {
		return nil, err
	}
	l.in = in[0]
	l.weight = b.Weight("weight", Shape{l.Out, l.in}, l.in, l.Out)
	if !l.NoBias {
		l.bias = b.Const("bias", Shape{l.Out}, 0)
	}
	l.work = b.workspace()
	l.thin = l.in < 8
	if l.thin {
		b.OnBackward(func(int) { l.dwt = make([]float32, l.in*l.Out) })
	}
	l.fwd, l.bwd = l.forward, l.backward
	return Shape{l.Out}, nil
}

// Forward implements [Layer].
func (l *Dense) Forward(p *Pass, y, x []float32) {
	l.split(p)
	l.y, l.x = y, x
	p.ForWorker(l.yTiles.count, l.fwd)
}

// split lays the three products out in tiles for the items and cores of a pass.
func (l *Dense) split(p *Pass) {
	n, workers := p.Items, p.Workers()
	if l.n == n && l.workers == workers {
		return
	}
	l.n, l.workers = n, workers
	l.yTiles = tile(n, l.Out, l.in, workers)
	l.wTiles = tile(l.Out, l.in, n, workers)
	if l.thin {
		l.wTiles = tile(l.in, l.Out, n, workers)
	}
	l.xTiles = tile(n, l.in, l.Out, workers)
}

func (l *Dense) forward(worker, i int) {
	r0, rows, c0, cols := l.yTiles.at(i)
	kernel.Gemm(rows, cols, l.in,
		kernel.Matrix{Data: l.y[r0*l.Out+c0:], Stride: l.Out},
		kernel.Matrix{Data: l.x[r0*l.in:], Stride: l.in},
		kernel.Matrix{Data: l.weight.Value[c0*l.in:], Stride: l.in, Trans: true},
		l.biases(c0), l.work.gemm[worker])
	if l.relu == nil {
		return
	}
	if cols == l.Out { // whole rows lie together
		rows, cols = 1, rows*cols
	}
	for r := range rows {
		y := l.y[(r0+r)*l.Out+c0:][:cols]
		kernel.ReLU.Forward(y, y)
	}
}

// biases returns the values of the bias from output c0 on, nil if there is none.
func (l *Dense) biases(c0 int) []float32 {
	if l.bias == nil {
		return nil
	}
	return l.bias.Value[c0:]
}

// Backward implements [Layer]. dW = dyᵀ·x, db = Σ dy, dx = dy·W, all tiles of
// the three in one loop.
func (l *Dense) Backward(p *Pass, dx, dy, y, x []float32) {
	l.split(p)
	if l.relu != nil {
		l.relu.Backward(p, dy, dy, y, y)
	}
	l.dx, l.dy, l.x = dx, dy, x
	n, work := l.wTiles.count, l.Out*l.in*l.n // multiply-adds
	if dx != nil {
		n += l.xTiles.count
		work *= 2
	}
	if l.bias != nil {
		n++
	}
	if work < splitWork {
		for i := range n {
			l.backward(0, i)
		}
	} else {
		p.ForWorker(n, l.bwd)
	}
	if l.thin {
		l.transposeGrad()
	}
}

func (l *Dense) backward(worker, i int) {
	// Tiles of dx are spread evenly among those of dW: a core that gets the first half of
	// the pieces gets the first half of the items, as in other layers.
	x, all := 0, l.wTiles.count
	if l.dx != nil {
		x, all = l.xTiles.count, all+l.xTiles.count
	}
	if i == all {
		l.biasGrad()
		return
	}
	before := i * x / all // tiles of dx
	if (i+1)*x/all == before {
		l.weightGrad(worker, i-before)
		return
	}
	r0, rows, c0, cols := l.xTiles.at(before)
	kernel.Gemm(rows, cols, l.Out,
		kernel.Matrix{Data: l.dx[r0*l.in+c0:], Stride: l.in},
		kernel.Matrix{Data: l.dy[r0*l.Out:], Stride: l.Out},
		kernel.Matrix{Data: l.weight.Value[c0:], Stride: l.in}, nil, l.work.gemm[worker])
}

// weightGrad computes tile i of dW. A narrow dW would leave most lanes of the kernel empty: its transpose xᵀ·dy is
// computed instead.
func (l *Dense) weightGrad(worker, i int) {
	r0, rows, c0, cols := l.wTiles.at(i)
	if l.thin {
		kernel.Gemm(rows, cols, l.n,
			kernel.Matrix{Data: l.dwt[r0*l.Out+c0:], Stride: l.Out},
			kernel.Matrix{Data: l.x[r0:], Stride: l.in, Trans: true},
			kernel.Matrix{Data: l.dy[c0:], Stride: l.Out}, nil, l.work.gemm[worker])
		return
	}
	kernel.Gemm(rows, cols, l.n,
		kernel.Matrix{Data: l.weight.Grad[r0*l.in+c0:], Stride: l.in},
		kernel.Matrix{Data: l.dy[r0:], Stride: l.Out, Trans: true},
		kernel.Matrix{Data: l.x[c0:], Stride: l.in}, nil, l.work.gemm[worker])
}

// transposeGrad sets a narrow dW from its transpose.
func (l *Dense) transposeGrad() {
	for o := range l.Out {
		for i := range l.in {
			l.weight.Grad[o*l.in+i] = l.dwt[i*l.Out+o]
		}
	}
}

func (l *Dense) biasGrad() {
	clear(l.bias.Grad)
	kernel.ColSums(l.bias.Grad, l.dy, l.n, l.Out)
}

// maxPacked is the largest number of weights of a dense layer in a chain: they should stay in the
// second-level cache from block to block.
const maxPacked = 1 << 17

// unit implements [itemwise].
func (l *Dense) unit(int) (items, work int) {
	if work = l.Out * l.in; work > maxPacked {
		return 0, 0
	}
	return 1, work
}

// begin implements [itemwise].
func (l *Dense) begin(p *Pass, y, x []float32) {
	l.y, l.x = y, x
	l.few = p.Items*(l.in+l.Out) <= l.in*l.Out
}

// fewRows is the number of items of a product without packed weights.
const fewRows = 16

// pack implements [itemwise]: the weights, transposed or not, are the right factor of products with blocks of items.
func (l *Dense) pack(back bool) {
	to, k, n := &l.packed, l.in, l.Out
	if back {
		to, k, n = &l.packedBack, l.Out, l.in
	}
	if l.few && !(back && kernel.GemmPacks(fewRows, l.Out, l.matrix())) {
		return
	}
	if *to == nil {
		*to = make([]float32, kernel.PackedLen(k, n))
	}
	kernel.PackMatrix(*to, kernel.Matrix{Data: l.weight.Value, Stride: l.in, Trans: !back}, k, n)
}

// forwardItems implements [itemwise].
func (l *Dense) forwardItems(worker, lo, hi int) {
	y, x := l.y[lo*l.Out:hi*l.Out], kernel.Matrix{Data: l.x[lo*l.in:], Stride: l.in}
	if l.few {
		w := l.matrix()
		w.Trans = true
		kernel.GemmFlipped(hi-lo, l.Out, l.in, y, x, w, l.biases(0), l.work.gemm[worker])
	} else {
		kernel.GemmPacked(hi-lo, l.Out, l.in, kernel.Matrix{Data: y, Stride: l.Out}, x, l.packed, l.biases(0), l.work.gemm[worker])
	}
	if l.relu != nil {
		kernel.ReLU.Forward(y, y)
	}
}

// beginBack implements [itemwise].
func (l *Dense) beginBack(p *Pass, dy, y, x []float32) {
	l.split(p)
	l.dy, l.y, l.x = dy, y, x
}

// backwardItems implements [itemwise]: dx = dy·W, and the derivative of a ReLU in dy.
func (l *Dense) backwardItems(worker, lo, hi int, dx, dy []float32) {
	if l.relu != nil {
		kernel.ReLU.Backward(dy, dy, l.y[lo*l.Out:hi*l.Out])
	}
	if dx == nil {
		return
	}
	n, to, from, w := hi-lo, kernel.Matrix{Data: dx, Stride: l.in}, kernel.Matrix{Data: dy, Stride: l.Out}, l.matrix()
	if !l.few || kernel.GemmPacks(fewRows, l.Out, w) {
		kernel.GemmPacked(n, l.in, l.Out, to, from, l.packedBack, nil, l.work.gemm[worker])
		return
	}
	for i := 0; i < n; i += fewRows {
		to.Data, from.Data = dx[i*l.in:], dy[i*l.Out:]
		kernel.Gemm(min(fewRows, n-i), l.in, l.Out, to, from, w, nil, l.work.gemm[worker])
	}
}

// matrix returns W.
func (l *Dense) matrix() kernel.Matrix { return kernel.Matrix{Data: l.weight.Value, Stride: l.in} }

// keepsGrad implements [itemwise].
func (l *Dense) keepsGrad() bool { return true }

// gradPieces implements [itemwise]: tiles of dW, or all of a narrow one, and the bias.
func (l *Dense) gradPieces() int {
	n := l.wTiles.count
	if l.thin {
		n = 1
	}
	if l.bias != nil {
		n++
	}
	return n
}

// gradPiece implements [itemwise].
func (l *Dense) gradPiece(worker, i int) {
	switch {
	case l.bias != nil && i == l.gradPieces()-1:
		l.biasGrad()
	case l.thin:
		for t := range l.wTiles.count {
			l.weightGrad(worker, t)
		}
		l.transposeGrad()
	default:
		l.weightGrad(worker, i)
	}
}

// Embedding maps each of F categorical inputs to a vector: input f
// is a whole number in 0 … Sizes[f]−1, stored as a float32, and selects a row
// of a table. A code outside its range, or a missing one (NaN), selects the
// zero vector.
//
//	x     [N, F]
//	y, dy [N, F·Width]
//	table [Σ Sizes, Width]
type Embedding struct {
	Sizes Ints // categories of each input
	Width int  // length of a vector

	first []int // row of the table at which each input starts
	table *Param
}

// Build implements [Layer].
func (l *Embedding) Build(b *Builder, in Shape) (Shape, error) {
	if l.Width < 1 {
		return nil, fmt.Errorf("width %d: expected at least 1", l.Width)
	}
	if len(in) != 1 || in[0] != len(l.Sizes) {
		return nil, fmt.Errorf("expected %d categorical inputs, found %v", len(l.Sizes), in)
	}
	rows := 0
	for f, n := range l.Sizes {
		if n < 1 {
			return nil, fmt.Errorf("input %d has %d categories: expected at least 1", f, n)
		}
		l.first = append(l.first, rows)
		rows = min(rows+min(n, maxValues), maxValues)
	}
	if err := checkSize("table", Shape{rows, l.Width}, maxValues); err != nil {
		return nil, err
	}
	l.table = b.Weight("table", Shape{rows, l.Width}, l.Width, l.Width)
	return Shape{len(l.Sizes) * l.Width}, nil
}

// row returns the row of the table for value v of input f, or −1.
func (l *Embedding) row(f int, v float32) int {
	if !(v >= 0 && v < float32(l.Sizes[f])) {
		return -1
	}
	return (l.first[f] + int(v)) * l.Width
}

// Forward implements [Layer].
func (l *Embedding) Forward(_ *Pass, y, x []float32) {
	for i, v := range x {
		to := y[i*l.Width:][:l.Width]
		if at := l.row(i%len(l.Sizes), v); at >= 0 {
			copy(to, l.table.Value[at:])
		} else {
			clear(to)
		}
	}
}

// Backward implements [Layer]. The input is a code and has no gradient: dx is
// filled with zeros.
func (l *Embedding) Backward(_ *Pass, dx, dy, _, x []float32) {
	clear(dx)
	clear(l.table.Grad)
	for i, v := range x {
		at := l.row(i%len(l.Sizes), v)
		if at < 0 {
			continue
		}
		g := l.table.Grad[at:][:l.Width]
		for k, d := range dy[i*l.Width:][:l.Width] {
			g[k] += d
		}
	}
}
