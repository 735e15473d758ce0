package nn

import (
	"fmt"
	"math"

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
	var bias []float32
	if l.bias != nil {
		bias = l.bias.Value[c0:]
	}
	kernel.Gemm(rows, cols, l.in,
		kernel.Matrix{Data: l.y[r0*l.Out+c0:], Stride: l.Out},
		kernel.Matrix{Data: l.x[r0*l.in:], Stride: l.in},
		kernel.Matrix{Data: l.weight.Value[c0*l.in:], Stride: l.in, Trans: true},
		bias, l.work.gemm[worker])
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
		for o := range l.Out {
			for i := range l.in {
				l.weight.Grad[o*l.in+i] = l.dwt[i*l.Out+o]
			}
		}
	}
}

func (l *Dense) backward(worker, i int) {
	s := l.work.gemm[worker]
	// Tiles of dx are spread evenly among those of dW: a core that gets the first half of
	// the pieces gets the first half of the items, as in other layers.
	x, all := 0, l.wTiles.count
	if l.dx != nil {
		x, all = l.xTiles.count, all+l.xTiles.count
	}
	if i == all {
		clear(l.bias.Grad)
		kernel.ColSums(l.bias.Grad, l.dy, l.n, l.Out)
		return
	}
	before := i * x / all // tiles of dx
	if (i+1)*x/all == before {
		r0, rows, c0, cols := l.wTiles.at(i - before)
		// A narrow dW would leave most lanes of the kernel empty: its
		// transpose xᵀ·dy is computed instead.
		if l.thin {
			kernel.Gemm(rows, cols, l.n,
				kernel.Matrix{Data: l.dwt[r0*l.Out+c0:], Stride: l.Out},
				kernel.Matrix{Data: l.x[r0:], Stride: l.in, Trans: true},
				kernel.Matrix{Data: l.dy[c0:], Stride: l.Out}, nil, s)
			return
		}
		kernel.Gemm(rows, cols, l.n,
			kernel.Matrix{Data: l.weight.Grad[r0*l.in+c0:], Stride: l.in},
			kernel.Matrix{Data: l.dy[r0:], Stride: l.Out, Trans: true},
			kernel.Matrix{Data: l.x[c0:], Stride: l.in}, nil, s)
		return
	}
	r0, rows, c0, cols := l.xTiles.at(before)
	kernel.Gemm(rows, cols, l.Out,
		kernel.Matrix{Data: l.dx[r0*l.in+c0:], Stride: l.in},
		kernel.Matrix{Data: l.dy[r0*l.Out:], Stride: l.Out},
		kernel.Matrix{Data: l.weight.Value[c0:], Stride: l.in}, nil, s)
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

// at returns first row, rows, first column and columns of piece i.
func (t *tiles) at(i int) (r0, rows, c0, cols int) {
	r0, c0 = i/t.across*t.rows, i%t.across*t.cols
	return r0, min(t.rows, t.m-r0), c0, min(t.cols, t.n-c0)
}
