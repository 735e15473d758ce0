package tree

import (
	"math"

	"credence/internal/par"
)

// grower grows one tree at a time. Rows are kept in the order of leaves, so that the histograms of a leaf are sums
// over a contiguous range; of two new leaves only the smaller is summed, the other is the difference from their parent.
type grower struct {
	values  []binned
	o       int // outputs
	bins    int // per histogram; the last is that of missing values
	depth   int
	l2      float64
	threads par.Limit

	chosen []int     // values that the tree may split by
	rows   []int32   // in the order of leaves
	spare  []int32   // for partitions
	ends   []int     // [leaves], where the rows of each leaf end
	hist   []float64 // [chosen, 2, leaves/2, bins, O, 2]: of the last level and of this one
	totals []float64 // [leaves, O, 2]
	best   []split   // [chosen]
}

// split is a cut of a value.
type split struct {
	value int
	cut   int
	right bool // whether missing values are to the right
	gain  float64
}

func newGrower(values []binned, o, bins, depth int, l2 float64, threads int) *grower {
	return &grower{values: values, o: o, bins: bins + 1, depth: depth, l2: l2, threads: par.Limit(threads)}
}

// grow returns the splits of a tree for rows with gradients grad [N, O, 2], at most depth of them. It leaves the
// sums of each leaf in totals.
func (g *grower) grow(rows []int32, grad []float32, chosen []int) []split {
	g.rows, g.chosen = append(g.rows[:0], rows...), chosen
	g.ends = append(g.ends[:0], len(rows))
	width := 2 * g.o
	level := 1 << (g.depth - 1) * g.bins * width // of one value
	if need := 2 * len(chosen) * level; len(g.hist) < need {
		g.hist = make([]float64, need)
	}
	if len(g.best) < len(chosen) {
		g.best = make([]split, len(chosen))
	}
	g.sum(grad)
	var splits []split
	for k := range g.depth {
		score := 0.0
		for t := 0; t < len(g.totals); t += 2 {
			score += g.totals[t] * g.totals[t] / (g.totals[t+1] + g.l2)
		}
		g.threads.For(len(chosen), func(c int) {
			at := g.hist[2*c*level : 2*(c+1)*level]
			last, now := at[:level], at[level:]
			if k%2 == 1 {
				last, now = now, last
			}
			g.histograms(now, last, grad, chosen[c], k)
			g.best[c] = g.search(now, chosen[c])
		})
		best := split{gain: score * (1 + 1e-9)}
		for _, s := range g.best[:len(chosen)] {
			if s.gain > best.gain {
				best = s
			}
		}
		if !(best.gain > score*(1+1e-9)) {
			break
		}
		best.gain -= score
		splits = append(splits, best)
		g.partition(best)
		g.sum(grad)
	}
	return splits
}

// histograms sets now [leaves, bins, O, 2] to the sums of the gradients by bin of a value, of the leaves of level k.
func (g *grower) histograms(now, last []float64, grad []float32, value, k int) {
	size := g.bins * 2 * g.o
	if k == 0 {
		g.add(now[:size], grad, value, g.rows)
		return
	}
	start := 0
	half := len(g.ends) / 2 // leaves p and p + half have the parent p
	for p := range half {
		left, right := g.rows[start:g.ends[2*p]], g.rows[g.ends[2*p]:g.ends[2*p+1]]
		start = g.ends[2*p+1]
		a, b := now[2*p*size:(2*p+1)*size], now[(2*p+1)*size:(2*p+2)*size]
		parent := last[p*size : (p+1)*size]
		if len(left) > len(right) {
			left, a, b = right, b, a
		}
		g.add(a, grad, value, left)
		for i, v := range parent {
			b[i] = v - a[i]
		}
	}
}

// add sets hist [bins, O, 2] to the sums of the gradients of rows by their bin.
func (g *grower) add(hist []float64, grad []float32, value int, rows []int32) {
	clear(hist)
	bins, last, width := g.values[value].bins, g.bins-1, 2*g.o
	if width == 4 {
		for _, r := range rows {
			b := min(int(bins[r]), last)
			h, v := hist[4*b:4*b+4:4*b+4], grad[4*r:4*r+4:4*r+4]
			h[0] += float64(v[0])
			h[1] += float64(v[1])
			h[2] += float64(v[2])
			h[3] += float64(v[3])
		}
		return
	}
	for _, r := range rows {
		b := min(int(bins[r]), last)
		h, v := hist[b*width:(b+1)*width], grad[int(r)*width:(int(r)+1)*width]
		for k := 0; k+1 < len(v) && k+1 < len(h); k += 2 {
			h[k] += float64(v[k])
			h[k+1] += float64(v[k+1])
		}
	}
}

// search returns the best cut of a value, with the score ΣG²/(H + l2) of all leaves after it.
func (g *grower) search(hist []float64, value int) split {
	v := &g.values[value]
	n, width := len(v.cuts), 2*g.o
	if n == 0 {
		return split{gain: math.Inf(-1)}
	}
	var room [2 * mostBins]float64
	low, high := room[:n], room[n:2*n] // scores with missing values to the left and to the right
	left := make([]float64, 2*width)
	size := g.bins * width
	for leaf := range g.ends {
		h, total := hist[leaf*size:(leaf+1)*size], g.totals[leaf*width:(leaf+1)*width]
		gone := h[size-width:]
		some := v.missing && gone[1] != 0
		a, b := left[:width], left[width:]
		clear(left)
		copy(a, gone)
		scoreA, scoreB := g.score(a, total), g.score(b, total)
		for c := range n {
			if at := h[c*width : (c+1)*width]; at[1] != 0 || at[0] != 0 {
				for k, x := range at {
					b[k] += x
				}
				if scoreB = g.score(b, total); some {
					for k, x := range at {
						a[k] += x
					}
					scoreA = g.score(a, total)
				}
			}
			if high[c] += scoreB; some {
				low[c] += scoreA
			} else {
				low[c] += scoreB
			}
		}
	}
	best := split{value: value, gain: math.Inf(-1)}
	for c := range n {
		if low[c] > best.gain {
			best.cut, best.right, best.gain = c, false, low[c]
		}
		if v.missing && high[c] > best.gain {
			best.cut, best.right, best.gain = c, true, high[c]
		}
	}
	return best
}

// score returns ΣG²/(H + l2) over the outputs of a leaf with sums total that is divided into left and the rest.
func (g *grower) score(left, total []float64) float64 {
	sum := 0.0
	for k := 0; k+1 < len(left) && k+1 < len(total); k += 2 {
		gl, hl := left[k], left[k+1]+g.l2
		gr, hr := total[k]-gl, total[k+1]-left[k+1]+g.l2
		sum += (gl*gl*hr + gr*gr*hl) / (hl * hr)
	}
	return sum
}

// isRight reports whether a bin is right of a cut.
func (s *split) isRight(bin uint8) bool {
	if bin == missingBin {
		return s.right
	}
	return int(bin) > s.cut
}

// partition divides every leaf, in order: leaf p becomes the leaves 2p and 2p + 1. Rows keep their order.
func (g *grower) partition(s split) {
	bins := g.values[s.value].bins
	var ends []int
	start := 0
	for _, end := range g.ends {
		g.spare = g.spare[:0]
		at := start
		for _, r := range g.rows[start:end] {
			if s.isRight(bins[r]) {
				g.spare = append(g.spare, r)
			} else {
				g.rows[at] = r
				at++
			}
		}
		copy(g.rows[at:end], g.spare)
		ends = append(ends, at, end)
		start = end
	}
	g.ends = ends
}

// sum sets totals to the sums of the gradients of each leaf.
func (g *grower) sum(grad []float32) {
	width := 2 * g.o
	g.totals = append(g.totals[:0], make([]float64, len(g.ends)*width)...)
	start := 0
	for leaf, end := range g.ends {
		t := g.totals[leaf*width : (leaf+1)*width]
		for _, r := range g.rows[start:end] {
			for k, v := range grad[int(r)*width : (int(r)+1)*width] {
				t[k] += float64(v)
			}
		}
		start = end
	}
}
