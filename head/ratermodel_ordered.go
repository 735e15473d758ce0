package head

import (
	"math"

	"credence/internal/special"
	"credence/mixture"
)

// Likelihood and posterior of votes on ordered classes, by sums over the nodes of each component.

// raterNodes holds the nodes of one component after another, and the chances of raters there.
type raterNodes struct {
	c      *RaterModel
	grid   *special.SimplexGrid
	logA   []float64
	logits []float64 // [d−1] of one node
	p      []float64 // [d] of one node
}

func (c *RaterModel) nodes() *raterNodes {
	d := c.Classes
	return &raterNodes{c, special.NewSimplexGrid(d), make([]float64, d), make([]float64, d-1), make([]float64, d)}
}

// place moves the nodes to those of a Dirichlet distribution.
func (n *raterNodes) place(alpha []float64) {
	for i, a := range alpha {
		n.logA[i] = math.Log(a)
	}
	n.grid.Place(n.logA)
}

// chances fills p [d] with the probabilities that a rater votes for each class at node s.
func (n *raterNodes) chances(p []float64, rater int32, s int) {
	for k := range n.logits {
		n.logits[k] = n.grid.Logits(k)[s]
	}
	if rater < 0 {
		n.c.average.AtLogits(p, n.logits)
		return
	}
	scale, b, g := math.Exp(n.c.LogScale[rater]), n.c.Bias[rater], n.c.Guess[rater]
	taste := n.c.Taste[int(rater)*n.c.Classes:]
	lo := math.Inf(-1)
	for i := range p {
		hi := math.Inf(1)
		if i < len(n.logits) {
			hi = scale*n.logits[i] - b
		}
		q := between(lo, hi)
		p[i] = (1-g)*q + g*taste[i]
		lo = hi
	}
}

// add adds to sum [S] the log-likelihood of votes at each node.
func (n *raterNodes) add(sum []float64, votes []Rating) {
	for _, v := range votes {
		if v.Rater < 0 {
			for s := range sum {
				n.chances(n.p, v.Rater, s)
				sum[s] += math.Log(max(n.p[v.Class], 1e-12))
			}
			continue
		}
		scale, b, g := math.Exp(n.c.LogScale[v.Rater]), n.c.Bias[v.Rater], n.c.Guess[v.Rater]
		guess, class := g*n.c.Taste[int(v.Rater)*n.c.Classes+int(v.Class)], int(v.Class)
		for s := range sum {
			lo, hi := math.Inf(-1), math.Inf(1)
			if class > 0 {
				lo = scale*n.grid.Logits(class - 1)[s] - b
			}
			if class < n.c.Classes-1 {
				hi = scale*n.grid.Logits(class)[s] - b
			}
			sum[s] += math.Log(max((1-g)*between(lo, hi)+guess, 1e-12))
		}
	}
}

// logOrdered implements LogVotes for ordered classes.
func (c *RaterModel) logOrdered(dist *mixture.Dirichlet, votes []Rating) float64 {
	n, o := c.nodes(), newOrderedNodes(c.Classes)
	like, counts := make([]float64, dist.K()), make([]float64, c.Classes)
	for _, v := range votes {
		counts[v.Class]++
	}
	top := math.Inf(-1)
	for k := range like {
		weight, alpha := dist.Component(k)
		for i, a := range alpha {
			n.logA[i] = math.Log(a)
		}
		o.place(n.logA, counts)
		for h, grid := range o.grids {
			n.grid = grid
			n.add(o.logs[h*simplexS:][:simplexS], votes)
		}
		like[k] = math.Log(weight) + posteriorOf(o.logs)
		top = max(top, like[k])
	}
	sum := 0.0
	for _, l := range like {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum)
}

// orderedAtOnce is the number of votes that a component is updated by at a time: its nodes are those before the update.
const orderedAtOnce = 2

// updateOrdered implements Update for ordered classes.
func (c *RaterModel) updateOrdered(dist *mixture.Dirichlet, votes []Rating) (*mixture.Dirichlet, error) {
	n := c.nodes()
	var weights []float64
	var alphas [][]float64
	top := math.Inf(-1)
	for k := range dist.K() {
		weight, alpha := dist.Component(k)
		log := math.Log(weight)
		for rest := votes; len(rest) > 0; {
			some := rest[:min(orderedAtOnce, len(rest))]
			rest = rest[len(some):]
			var l float64
			l, alpha = n.update(alpha, some)
			log += l
		}
		weights, alphas = append(weights, log), append(alphas, alpha)
		top = max(top, log)
	}
	for k, l := range weights {
		weights[k] = math.Exp(l - top)
	}
	return merge(weights, alphas)
}

// update returns the log-likelihood of votes under a Dirichlet distribution, and the Dirichlet distribution with the mean
// and the trace of the covariance of the posterior. Sums over nodes are of the differences from the posterior for
// raters without bias who never guess, which is known.
func (n *raterNodes) update(alpha []float64, votes []Rating) (float64, []float64) {
	d := len(alpha)
	n.place(alpha)
	logs, neutral := make([]float64, simplexS), make([]float64, simplexS)
	n.add(logs, votes)
	p := make([]float64, d)
	after := make([]float64, d)
	copy(after, alpha)
	for _, v := range votes {
		after[v.Class]++
		for s := range neutral {
			n.grid.Probabilities(p, s)
			neutral[s] += math.Log(max(p[v.Class], 1e-12))
		}
	}
	log := posteriorOf(logs)
	posteriorOf(neutral)
	total := special.Sum(after)
	mean, raw := make([]float64, d), make([]float64, d)
	square, rawSquare := 0.0, 0.0
	for i, a := range after {
		mean[i] = a / total
		square += a * (a + 1) / (total * (total + 1))
	}
	for s, w := range logs {
		n.grid.Probabilities(p, s)
		for i, x := range p {
			mean[i] += (w - neutral[s]) * x
			square += (w - neutral[s]) * x * x
			raw[i] += w * x
			rawSquare += w * x * x
		}
	}
	for _, m := range mean {
		if !(m > 1e-6) { // where differences leave nothing, the sums themselves
			mean, square = raw, rawSquare
			break
		}
	}
	g, trace := 1.0, square
	for _, m := range mean {
		g -= m * m
		trace -= m * m
	}
	whole := total
	if trace > 0 && g > trace {
		whole = min(g/trace-1, 1e12)
	}
	for i := range mean {
		mean[i] = min(max(mean[i]*whole, 1e-12), 1e12)
	}
	return log, mean
}

// orderedPairs fills in the means over pairs of votes of Pairs.
func (c *RaterModel) orderedPairs(shown, claimed []float64, dist *mixture.Dirichlet, votes []Rating) {
	n := c.nodes()
	d, m, k := c.Classes, len(votes), dist.K()
	chances := make([]float64, k*simplexS*m*d)
	means := make([]float64, m*d)
	row := func(k, s, u int) []float64 { return chances[((k*simplexS+s)*m+u)*d:][:d] }
	for k := range k {
		weight, alpha := dist.Component(k)
		n.place(alpha)
		for s := range simplexS {
			for u, v := range votes {
				p := row(k, s, u)
				n.chances(p, v.Rater, s)
				for i, x := range p {
					means[u*d+i] += weight / simplexS * x
				}
			}
		}
	}
	pairs := float64(m * (m - 1))
	for i := range shown {
		e, e2 := 0.0, 0.0
		for u, v := range votes {
			x := -means[u*d+i]
			if int(v.Class) == i {
				x++
			}
			e, e2 = e+x, e2+x*x
		}
		shown[i] = (e*e - e2) / pairs
		for k := range k {
			weight, _ := dist.Component(k)
			for s := range simplexS {
				f, f2 := 0.0, 0.0
				for u := range votes {
					x := row(k, s, u)[i] - means[u*d+i]
					f, f2 = f+x, f2+x*x
				}
				claimed[i] += weight / simplexS * (f*f - f2) / pairs
			}
		}
	}
}
