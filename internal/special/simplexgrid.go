package special

import (
	"math"

	"credence/internal/kernel"
)

// SimplexGrid holds the nodes of a Dirichlet distribution.
type SimplexGrid struct {
	d      int
	level  []int     // [d, S]
	x      []float64 // [d, S] logarithms of Gamma quantiles, by level
	slope  []float64 // [d, S] ∂x/∂log α, by level
	top    []float64 // [S] largest x of a node
	mass   []float64 // [d, S] e^x by node, the largest of a node 1
	under  []float64 // [d, S] sums of mass of the classes up to i
	above  []float64 // [d, S] sums of mass of the classes from i
	logit  []float64 // [d−1, S] logit P_k, of those in known
	known  []bool    // [d−1]
	Pulled []float64 // [d−1, S] derivatives with respect to logit
	zeros  []float64 // [d, S]
	work   []float64 // [2, S]
}

// NewSimplexGrid returns a grid for d classes.
func NewSimplexGrid(d int) *SimplexGrid {
	g := &SimplexGrid{d: d, level: make([]int, d*SimplexNodes), known: make([]bool, d-1), work: make([]float64, 2*SimplexNodes)}
	for _, list := range []*[]float64{&g.x, &g.slope, &g.top, &g.mass, &g.under, &g.above, &g.logit, &g.Pulled, &g.zeros} {
		*list = make([]float64, d*SimplexNodes)
	}
	for i := range d {
		for s := range SimplexNodes {
			g.level[i*SimplexNodes+s] = SimplexLevel(i, s)
		}
	}
	return g
}

// MaxLogit is the largest |logit| of a cumulative probability at a node.
const MaxLogit = 60

// Place computes the nodes for parameters with the logarithms logA [d].
func (g *SimplexGrid) Place(logA []float64) {
	d := g.d
	for i, a := range logA {
		LogGammaNodes(a, g.x[i*SimplexNodes:][:SimplexNodes], g.slope[i*SimplexNodes:][:SimplexNodes])
	}
	clear(g.known)
	for i := range d {
		x, level, under := g.x[i*SimplexNodes:][:SimplexNodes], g.level[i*SimplexNodes:][:SimplexNodes], g.under[i*SimplexNodes:][:SimplexNodes]
		for s, l := range level {
			under[s] = x[l]
			if i == 0 || x[l] > g.top[s] {
				g.top[s] = x[l]
			}
		}
	}
	for i := range d {
		for s, top := range g.top[:SimplexNodes] {
			g.under[i*SimplexNodes+s] -= top
		}
	}
	kernel.ExpLinear(g.mass, g.under, g.zeros, 1, 0)
	for i := range d {
		under, above := g.under[i*SimplexNodes:][:SimplexNodes], g.above[(d-1-i)*SimplexNodes:][:SimplexNodes]
		copy(under, g.mass[i*SimplexNodes:])
		copy(above, g.mass[(d-1-i)*SimplexNodes:])
		if i == 0 {
			continue
		}
		for s := range SimplexNodes {
			under[s] += g.under[(i-1)*SimplexNodes+s]
			above[s] += g.above[(d-i)*SimplexNodes+s]
		}
	}
}

// Logits returns logit P_k at the nodes, [S]. They are computed when they are first needed: logarithms are most of the work,
// and votes need only those next to their classes.
func (g *SimplexGrid) Logits(k int) []float64 {
	row := g.logit[k*SimplexNodes:][:SimplexNodes]
	if g.known[k] {
		return row
	}
	g.known[k] = true
	under, above := g.under[k*SimplexNodes:], g.above[(k+1)*SimplexNodes:]
	for s := range row {
		row[s] = min(max(under[s]/above[s], 1e-200), 1e200)
	}
	g.logs(row, row)
	for s, l := range row {
		row[s] = min(max(l, -MaxLogit), MaxLogit)
	}
	return row
}

// Log replaces x [S], from 1e-300 to 1e300, by its logarithms.
func (g *SimplexGrid) Log(x []float64) { g.logs(x, x) }

// logs sets dst to the logarithms of x: by the kernel of log-gamma functions, which gives both, at half the time of math.Log.
func (g *SimplexGrid) logs(dst, x []float64) {
	gamma, in := g.work[:SimplexNodes], g.work[SimplexNodes:]
	copy(in, x)
	kernel.LogGamma(gamma, dst, in)
}

// OddsPower fills dst [S] with e^(scale·logit P_k).
func (g *SimplexGrid) OddsPower(dst []float64, k int, scale float64) {
	kernel.ExpLinear(dst, g.Logits(k), g.zeros[:SimplexNodes], scale, 0)
}

// Probabilities fills p [d] with the class probabilities of node s.
func (g *SimplexGrid) Probabilities(p []float64, s int) {
	for i := range p {
		p[i] = g.mass[i*SimplexNodes+s] / g.above[s]
	}
}

// LogMass fills logs [S] with Σ_i n_i log p_i at the nodes.
func (g *SimplexGrid) LogMass(logs, n []float64) {
	clear(logs)
	m := Sum(n)
	for i, x := range n {
		if x == 0 {
			continue
		}
		for s := range logs {
			logs[s] += x * (g.x[i*SimplexNodes+g.level[i*SimplexNodes+s]] - g.top[s])
		}
	}
	whole := g.logit[(g.d-1)*SimplexNodes:] // the last row is free
	g.logs(whole, g.above[:SimplexNodes])
	for s := range logs {
		logs[s] -= m * whole[s]
	}
}

// Backward adds to slopes [d] the derivatives with respect to log α of Σ_s post_s f_s, where Pulled has the derivatives
// of f with respect to the logits, which it overwrites, and −share [S] is that with respect to Σ_i n_i log p_i.
func (g *SimplexGrid) Backward(slopes, post, n, share []float64) {
	m := Sum(n)
	below, rest := g.work[:SimplexNodes], g.work[SimplexNodes:] // Σ over k < i of Pulled/above, Σ over k ≥ i of Pulled/under
	clear(g.work)
	for k, known := range g.known {
		if known {
			for s := range rest {
				if at := k*SimplexNodes + s; math.Abs(g.logit[at]) < MaxLogit {
					g.Pulled[at] /= g.under[at]
					rest[s] += g.Pulled[at]
				} else {
					g.Pulled[at] = 0
				}
			}
		}
	}
	for i := range g.d {
		mass, slope, level := g.mass[i*SimplexNodes:][:SimplexNodes], g.slope[i*SimplexNodes:][:SimplexNodes], g.level[i*SimplexNodes:][:SimplexNodes]
		sum := 0.0
		for s, w := range post {
			pull := mass[s]*(rest[s]-below[s]+share[s]*m/g.above[s]) - share[s]*n[i]
			sum += w * pull * slope[level[s]]
		}
		slopes[i] += sum
		if i < g.d-1 && g.known[i] {
			for s := range rest {
				at := i*SimplexNodes + s
				rest[s] -= g.Pulled[at]
				below[s] += g.Pulled[at] * g.under[at] / g.above[at+SimplexNodes]
			}
		}
	}
}
