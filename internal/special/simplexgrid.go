package special

import "math"

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
	Logit  []float64 // [d−1, S] logit P_k
	Pulled []float64 // [d−1, S] derivatives with respect to logit
}

// NewSimplexGrid returns a grid for d classes.
func NewSimplexGrid(d int) *SimplexGrid {
	g := &SimplexGrid{d: d, level: make([]int, d*SimplexNodes)}
	for _, list := range []*[]float64{&g.x, &g.slope, &g.top, &g.mass, &g.under, &g.above, &g.Logit, &g.Pulled} {
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
	for s := range SimplexNodes {
		top := math.Inf(-1)
		for i := range d {
			top = max(top, g.x[i*SimplexNodes+g.level[i*SimplexNodes+s]])
		}
		g.top[s] = top
		sum := 0.0
		for i := range d {
			at := i*SimplexNodes + s
			g.mass[at] = math.Exp(g.x[i*SimplexNodes+g.level[at]] - top)
			sum += g.mass[at]
			g.under[at] = sum
		}
		sum = 0
		for i := d - 1; i >= 0; i-- {
			at := i*SimplexNodes + s
			sum += g.mass[at]
			g.above[at] = sum
			if i > 0 {
				l := math.Log(g.under[at-SimplexNodes] / sum)
				g.Logit[at-SimplexNodes] = min(max(l, -MaxLogit), MaxLogit)
			}
		}
	}
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
	for s := range logs {
		logs[s] -= m * math.Log(g.above[s])
	}
}

// Backward adds to slopes [d] the derivatives with respect to log α of Σ_s post_s f_s, where Pulled has the derivatives
// of f with respect to the logits, and −share [S] is that with respect to Σ_i n_i log p_i.
func (g *SimplexGrid) Backward(slopes, post, n, share []float64) {
	d, m := g.d, Sum(n)
	for s, w := range post {
		if w == 0 {
			continue
		}
		below, rest := 0.0, 0.0 // Σ over k < i of Pulled/above, Σ over k ≥ i of Pulled/under
		for k := range d - 1 {
			at := k*SimplexNodes + s
			if math.Abs(g.Logit[at]) < MaxLogit {
				rest += g.Pulled[at] / g.under[at]
			}
		}
		for i := range d {
			at := i*SimplexNodes + s
			pull := g.mass[at]*(rest-below) - share[s]*(n[i]-m*g.mass[at]/g.above[s])
			slopes[i] += w * pull * g.slope[i*SimplexNodes+g.level[at]]
			if i == d-1 {
				break
			}
			if math.Abs(g.Logit[at]) < MaxLogit {
				rest -= g.Pulled[at] / g.under[at]
				below += g.Pulled[at] / g.above[at+SimplexNodes]
			}
		}
	}
}
