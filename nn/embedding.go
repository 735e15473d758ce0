package nn

import "fmt"

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
		return nil, fmt.Errorf("width %d, want at least 1", l.Width)
	}
	if len(in) != 1 || in[0] != len(l.Sizes) {
		return nil, fmt.Errorf("expected %d categorical inputs, got %v", len(l.Sizes), in)
	}
	rows := 0
	for f, n := range l.Sizes {
		if n < 1 {
			return nil, fmt.Errorf("input %d has %d categories, want at least 1", f, n)
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
