package head

import (
	"math"

	"credence/internal/kernel"
	"credence/internal/special"
)

// The likelihood with raters of ordered classes. Bias and scale act on the logits of the cumulative
// probabilities P_k = p_0 + … + p_k of an item,
//
//	P(v ≤ k | p, r) = (1−g_r) σ(s_r logit P_k − b_r) + g_r Π_rk,    Π_rk = π_r0 + … + π_rk :
//
// b_r > 0 moves all votes of rater r towards the upper end of the scale, s_r > 1 sharpens them. For an item on a
// latent scale, P_k = σ(θ_k − z), the logit is θ_k − z, and for two classes this is the likelihood above
// with s = 1. What is learned about an item remains a mixture of Dirichlet distributions of p, for the rater with
// b = 0, s = 1 and g = 0; the expectation over each is a sum over nodes (orderedNodes).
//
// The mean of b and that of log s over the votes of connected raters are 0. The prior of log s is N(0, ½²).

// scalePrecision is that of the prior of log s, and maxLogScale the largest |log s|.
const scalePrecision, maxLogScale = 4, 2

const simplexS = special.SimplexNodes

var zeroNodes [2 * simplexS]float64

// orderedVote is a vote on ordered classes. Its rater may be a mixture of several, of the same scale and guess rate.
type orderedVote struct {
	class   int
	scale   float64   // s
	guess   float64   // g
	taste   float64   // π of the class
	shrink  []float64 // e^−b of each
	weights []float64 // of these
	count   float64   // number of such votes
	rating  int       // index of the rating, −1 if the rater is not named

	perBias, perScale, guessed []float64 // [2S] derivatives of log P with respect to b and log s; share of P by guesses
	lower, upper               []float64 // [S] (P/(1−P))^s of the classes below, and of those up to the vote's
}

// between returns σ(u) − σ(l) for u ≥ l.
func between(l, u float64) float64 {
	b, cb := logistic(l)
	a, ca := logistic(u)
	if l > 0 {
		return max(cb-ca, 0)
	}
	return max(a-b, 0)
}

// logistic returns σ(x) and σ(−x).
func logistic(x float64) (p, q float64) {
	e := math.Exp(-math.Abs(x))
	p, q = 1/(1+e), e/(1+e)
	if x < 0 {
		p, q = q, p
	}
	return p, q
}

// multiply multiplies product [S] by P of the vote at each node or, if it counts other than one, adds log P to sum [S]; with
// slopes it adds derivatives to those of the grid and fills in the vote's, of the nodes of a half.
func (v *orderedVote) multiply(product, sum []float64, g *special.SimplexGrid, last int, slopes bool, half int) {
	v.lower, v.upper = room(v.lower, simplexS), room(v.upper, simplexS)
	if v.class > 0 {
		g.OddsPower(v.lower, v.class-1, v.scale)
	}
	if v.class < last {
		g.OddsPower(v.upper, v.class, v.scale)
	}
	if slopes {
		v.perBias, v.perScale, v.guessed = room(v.perBias, 2*simplexS), room(v.perScale, 2*simplexS), room(v.guessed, 2*simplexS)
	}
	var below, above []float64 // logits at both ends
	if slopes && v.class > 0 {
		below = g.Logits(v.class - 1)
	}
	if slopes && v.class < last {
		above = g.Logits(v.class)
	}
	sure, guess := 1-v.guess, max(v.guess*v.taste, 1e-12)
	for s := range product {
		q, dl, du := v.between(s, v.shrink[0], last)
		if len(v.shrink) > 1 {
			q, dl, du = v.mean(s, last)
		}
		p := sure*q + guess
		if v.count == 1 {
			product[s] *= p
		} else {
			sum[s] += v.count * math.Log(p)
		}
		if !slopes {
			continue
		}
		f, at := sure/p, half*simplexS+s
		v.perBias[at] = f * (dl - du)
		v.guessed[at] = guess / p
		v.perScale[at] = 0
		if v.class > 0 {
			g.Pulled[(v.class-1)*simplexS+s] -= v.count * f * dl * v.scale
			v.perScale[at] -= f * dl * v.scale * below[s]
		}
		if v.class < last {
			g.Pulled[v.class*simplexS+s] += v.count * f * du * v.scale
			v.perScale[at] += f * du * v.scale * above[s]
		}
	}
}

// mean returns the mean of between over several biases.
func (v *orderedVote) mean(s, last int) (q, dl, du float64) {
	for k, shrink := range v.shrink {
		x, l, u := v.between(s, shrink, last)
		q += v.weights[k] * x
		dl += v.weights[k] * l
		du += v.weights[k] * u
	}
	return q, dl, du
}

// between returns the probability of the vote without guessing at node s, and the derivatives of σ at both ends, for a rater with
// bias b, shrink = e^−b. With odds o, σ = o/(1+o), and differences of odds lose no digits.
func (v *orderedVote) between(s int, shrink float64, last int) (q, dl, du float64) {
	switch v.class {
	case 0:
		o := shrink * v.upper[s]
		q = o / (1 + o)
		return q, 0, q / (1 + o)
	case last:
		o := shrink * v.lower[s]
		q = 1 / (1 + o)
		return q, o * q * q, 0
	}
	l, u := shrink*v.lower[s], shrink*v.upper[s]
	below, above := 1/(1+l), 1/(1+u)
	return max((u-l)*above*below, 0), l * below * below, u * above * above
}

// orderedWork computes the loss of items of ordered classes.
type orderedWork struct {
	h       *raterHead
	nodes   *orderedNodes
	logA    []float64     // [d]
	counts  []float64     // [d]
	weights []float64     // [K]
	like    []float64     // [K]
	slopes  []float64     // [K, d] ∂ log L_k/∂ log α
	votes   []orderedVote // of the item
	scores  []score       // [K, votes]
	shrink  [len(normalNodes)]float64
}

func newOrderedWork(h *raterHead) *orderedWork {
	k, d := h.components, h.classes
	return &orderedWork{h: h, nodes: newOrderedNodes(d), logA: make([]float64, d), counts: make([]float64, d), weights: make([]float64, k),
		like: make([]float64, k), slopes: make([]float64, k*d)}
}

func (w *orderedWork) loss(j int) float64 {
	h := w.h
	k, d, width := h.components, h.classes, h.Outputs()
	out := h.out[j*width:][:width]
	ratings := h.batch.Ratings[h.first[j]:h.first[j+1]]
	w.gather(h.batch.Counts.Item(j), ratings)
	weigh(w.weights, h.exps[j*width:][:k], out[:k])
	w.scores = room(w.scores, k*len(w.votes))
	top := math.Inf(-1)
	for c := range k {
		for i, x := range out[k+c*d:][:d] {
			w.logA[i] = float64(min(max(x, -h.limit), h.limit))
		}
		w.like[c] = w.component(c)
		top = max(top, w.like[c])
	}
	like := 0.0
	for c, l := range w.like {
		w.like[c] = math.Exp(l - top)
		like += w.weights[c] * w.like[c]
	}
	if h.train {
		gradient(h.grad[j*width:][:width], w.weights, w.like, w.slopes, like, h.scale)
		scores := h.scores[h.first[j]:h.first[j+1]]
		clear(scores)
		for l, v := range w.votes {
			if v.rating < 0 {
				continue
			}
			for c := range k {
				part, s := w.weights[c]*w.like[c]/like, w.scores[c*len(w.votes)+l]
				at := &scores[v.rating]
				at.bias += part * s.bias
				at.scale += part * s.scale
				at.guessed += part * s.guessed
			}
			scores[v.rating].guess = scores[v.rating].guessed - v.guess
		}
	}
	return -math.Log(like) - top
}

// gather lists the votes of an item.
func (w *orderedWork) gather(counts []float32, ratings []Rating) {
	h := w.h
	n := 0
	next := func() *orderedVote {
		if n == len(w.votes) {
			w.votes = append(w.votes, orderedVote{})
		}
		n++
		return &w.votes[n-1]
	}
	w.votes = w.votes[:cap(w.votes)]
	for l, r := range ratings {
		v, x := next(), &h.known[r.Rater]
		v.class, v.scale, v.guess, v.rating, v.count = int(r.Class), x.scale, x.guess, l, 1
		v.taste = float64(h.taste[int(r.Rater)*h.classes+v.class])
		v.shrink, v.weights = append(v.shrink[:0], math.Exp(-float64(h.bias[r.Rater]))), append(v.weights[:0], 1)
	}
	tau := math.Sqrt(float64(h.mark[1]))
	for k, x := range normalNodes {
		w.shrink[k] = math.Exp(-tau * x)
	}
	for i, s := range counts {
		w.counts[i] = float64(s)
		left := float64(s)
		for _, r := range ratings {
			if int(r.Class) == i {
				left--
			}
		}
		if left > 0 {
			v := next()
			v.class, v.scale, v.guess, v.rating, v.count, v.taste = i, 1, h.average.guess, -1, left, h.usual[i]
			v.shrink, v.weights = append(v.shrink[:0], w.shrink[:]...), append(v.weights[:0], normalWeights[:]...)
		}
	}
	w.votes = w.votes[:n]
}

// component returns the logarithm of the likelihood under the Dirichlet distribution with the parameters logA and, in
// training, fills in slopes and scores.
func (w *orderedWork) component(c int) float64 {
	d := w.h.classes
	w.nodes.place(w.logA, w.counts)
	for h := range w.nodes.grids {
		grid := w.nodes.grids[h]
		clear(grid.Pulled)
		w.nodes.likelihood(h, len(w.votes), func(l int, product, sum []float64) { w.votes[l].multiply(product, sum, grid, d-1, w.h.train, h) })
	}
	log := posteriorOf(w.nodes.logs)
	if !w.h.train {
		return log
	}
	slopes := w.slopes[c*d:][:d]
	w.nodes.backward(slopes)
	for l := range w.votes {
		v, t := &w.votes[l], score{}
		if v.rating >= 0 {
			for s, p := range w.nodes.logs {
				t.bias += p * v.perBias[s]
				t.scale += p * v.perScale[s]
				t.guessed += p * v.guessed[s]
			}
		}
		w.scores[c*len(w.votes)+l] = t
	}
	return log
}

// orderedNodes computes the expectation of the likelihood T of votes over a Dirichlet distribution with parameters α. Half
// of the nodes are those of α, the others those of α + n, n being the counts of the votes: the posterior for raters
// without bias who never guess, where T is largest. With ρ = Π p_i^n_i/E Π p_i^n_i the ratio of the two
// densities,
//
//	E T = ½ E_α 2T/(1+ρ) + ½ E_{α+n} 2T/(1+ρ),
//
// whose terms are bounded wherever the votes lie.
type orderedNodes struct {
	grids   [2]*special.SimplexGrid // at α and at α + n
	alpha   []float64               // [d]
	n       []float64               // [d]
	after   []float64               // [d] log(α + n)
	part    []float64               // [d] slopes of one grid
	logs    []float64               // [2S] log 2/(1+ρ) of the nodes after place
	share   []float64               // [2S] ρ/(1+ρ)
	product []float64               // [S]
}

func newOrderedNodes(d int) *orderedNodes {
	o := &orderedNodes{logs: make([]float64, 2*simplexS), share: make([]float64, 2*simplexS), product: make([]float64, simplexS)}
	for _, list := range []*[]float64{&o.alpha, &o.n, &o.after, &o.part} {
		*list = make([]float64, d)
	}
	for h := range o.grids {
		o.grids[h] = special.NewSimplexGrid(d)
	}
	return o
}

// place computes the nodes for parameters with the logarithms logA, and votes with the given counts.
func (o *orderedNodes) place(logA, counts []float64) {
	logN, total, m := 0.0, 0.0, 0.0
	for i, l := range logA {
		a := math.Exp(l)
		o.alpha[i], o.n[i], o.after[i] = a, counts[i], math.Log(a+counts[i])
		logN += special.LogRising(a, counts[i])
		total, m = total+a, m+counts[i]
	}
	logN -= special.LogRising(total, m)
	o.grids[0].Place(logA)
	o.grids[1].Place(o.after)
	for h, grid := range o.grids {
		logs, share := o.logs[h*simplexS:][:simplexS], o.share[h*simplexS:][:simplexS]
		grid.LogMass(logs, counts)
		// log 2/(1+ρ) = log 2 − max(log ρ, 0) − log(1 + e^−|log ρ|)
		for s, l := range logs {
			logs[s] = l - logN
			share[s] = -math.Abs(logs[s])
		}
		kernel.ExpLinear(share, share, zeroNodes[:simplexS], 1, 0)
		for s, e := range share {
			o.product[s] = 1 + e
		}
		grid.Log(o.product)
		for s, l := range logs {
			logs[s] = math.Ln2 - max(l, 0) - o.product[s]
			if share[s] /= 1 + share[s]; l > 0 {
				share[s] = 1 - share[s]
			}
		}
	}
}

// votesPerLog is the number of votes whose probabilities, 1e-12 or more, are multiplied before a logarithm is taken.
const votesPerLog = 16

// likelihood adds the log-likelihood of votes to logs of the nodes of a half. vote multiplies product by the probabilities of a vote,
// or adds their logarithms to sum.
func (o *orderedNodes) likelihood(half, votes int, vote func(l int, product, sum []float64)) {
	sum := o.logs[half*simplexS:][:simplexS]
	for first := 0; first < votes; first += votesPerLog {
		for s := range o.product {
			o.product[s] = 1
		}
		for l := first; l < min(first+votesPerLog, votes); l++ {
			vote(l, o.product, sum)
		}
		o.grids[half].Log(o.product)
		for s, x := range o.product {
			sum[s] += x
		}
	}
}

// backward fills slopes [d] with the derivatives with respect to log α of the logarithm of the mean likelihood, given the
// posterior weights of the nodes in logs.
func (o *orderedNodes) backward(slopes []float64) {
	clear(slopes)
	o.grids[0].Backward(slopes, o.logs[:simplexS], o.n, o.share[:simplexS])
	clear(o.part)
	o.grids[1].Backward(o.part, o.logs[simplexS:], o.n, o.share[simplexS:])
	share := 0.0
	for s, p := range o.logs {
		share += p * o.share[s]
	}
	total, m := special.Sum(o.alpha), special.Sum(o.n)
	whole := special.DigammaDiff(total, m)
	for i, a := range o.alpha {
		slopes[i] += o.part[i]*a/(a+o.n[i]) + share*a*(special.DigammaDiff(a, o.n[i])-whole)
	}
}

// posteriorOf replaces log-likelihoods at nodes by the posterior weights of the nodes, and returns the logarithm of the
// mean likelihood.
func posteriorOf(logs []float64) float64 {
	top, sum := math.Inf(-1), 0.0
	for _, l := range logs {
		top = max(top, l)
	}
	kernel.ExpLinear(logs, logs, zeroNodes[:len(logs)], 1, -top)
	for _, x := range logs {
		sum += x
	}
	for s := range logs {
		logs[s] /= sum
	}
	return top + math.Log(sum/float64(len(logs)))
}
