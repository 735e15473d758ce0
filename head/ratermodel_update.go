package head

import (
	"math"
	"slices"

	"credence/internal/special"
	"credence/mixture"
)

// betaPosterior is the posterior of one Beta component: its weight times the likelihood, and its expectations.
type betaPosterior struct {
	weight    float64
	mean      float64 // of p
	less      float64 // of 1 − p
	product   float64 // of p(1−p)
	prior     [2]float64
	unchanged bool // narrower than any grid: votes change only the weight
}

// cast is a vote that may be known not to be a guess.
type cast struct {
	Rating
	sure bool
}

// asCast returns votes that may all be guesses.
func (c *RaterModel) asCast(votes []Rating) []cast {
	list := make([]cast, len(votes))
	for k, v := range votes {
		list[k].Rating = v
	}
	return list
}

// way is one combination of votes that may have been guesses: the votes that were not, and its probability.
type way struct {
	votes  []cast
	weight float64
}

// mostGuesses is the maximum number of votes that are split into guesses and other votes.
const mostGuesses = 5

// ways returns all combinations, for two classes. Votes of raters who hardly ever guess are not split.
func (c *RaterModel) ways(votes []Rating) []way {
	list := []way{{nil, 1}}
	apart := 0
	for _, v := range c.asCast(votes) {
		if v.Rater < 0 || c.Guess[v.Rater] < rareGuess || apart == mostGuesses {
			for k := range list {
				list[k].votes = append(list[k].votes, v)
			}
			continue
		}
		apart++
		g := c.Guess[v.Rater]
		v.sure = true
		for k, n := 0, len(list); k < n; k++ {
			list = append(list, way{slices.Clone(list[k].votes), list[k].weight * g / 2})
			list[k].votes = append(list[k].votes, v)
			list[k].weight *= 1 - g
		}
	}
	return list
}

// posterior returns the posterior of each component, for two classes.
func (c *RaterModel) posterior(dist *mixture.Dirichlet, votes []cast) []betaPosterior {
	shift, anyUnknown := 0.0, false
	var counts [2]float64
	factors := make([]float64, len(votes)) // e^b of each vote's rater
	for k, v := range votes {
		counts[v.Class]++
		if v.Rater >= 0 {
			shift = max(shift, math.Abs(c.Bias[v.Rater]))
			factors[k] = math.Exp(c.Bias[v.Rater])
		} else {
			shift, anyUnknown = max(shift, 3), true
		}
	}
	var list []betaPosterior
	var nodes []float64
	beta := dist.Marginal(1)
	for k := range beta.K() {
		w, a, b := beta.Component(k)
		win := special.NewLogitWindow(a, b, math.Log(a/b), counts[0], counts[1], shift+math.Log1p(max(counts[0], counts[1])))
		nodes = room(nodes, win.Nodes())
		q := win.Weights(nodes)
		p := betaPosterior{prior: [2]float64{a, b}, unchanged: win.A < a}
		var unknown []float64
		if anyUnknown {
			unknown = c.unknownChances(win.Level)
		}
		add := func(weight, odds float64, node int) { // node is an index into unknown
			for k, v := range votes {
				x := 0.0
				if v.Rater < 0 {
					x = unknown[node]
				} else if x = 1 - 1/(1+odds*factors[k]); !v.sure {
					g := c.Guess[v.Rater]
					x = (1-g)*x + g/2
				}
				if v.Class == 0 {
					x = 1 - x
				}
				weight *= x
			}
			less := 1 / (1 + odds)
			at := 1.0
			if !math.IsInf(odds, 1) {
				at = odds * less
			}
			p.weight += weight
			p.mean += weight * at
			p.less += weight * less
			p.product += weight * at * less
		}
		add(q[0], 0, 0)
		for i, odds := range win.Grid.Odds[win.Lo : win.Hi+1] {
			add(q[1+i], odds, 1+win.Lo+i)
		}
		add(q[len(q)-1], math.Inf(1), len(win.Grid.Odds)+1)
		if p.weight > 0 {
			p.mean, p.less, p.product = p.mean/p.weight, p.less/p.weight, p.product/p.weight
			p.weight *= w
			list = append(list, p)
		}
	}
	return list
}

// beta returns the parameters of the Beta distribution with the posterior's mean and variance:
//
//	E p(1−p) = μ(1−μ) κ/(κ+1),    κ = a + b.
func (p *betaPosterior) beta() (a, b float64) {
	if p.unchanged {
		return p.prior[0], p.prior[1]
	}
	whole := p.mean * p.less
	kappa := 1e12
	if rest := whole - p.product; rest > 0 {
		kappa = p.product / rest
	}
	within := func(x float64) float64 { return min(max(x, 1e-12), 1e12) }
	return within(p.mean * kappa), within(p.less * kappa)
}

// logExpansion implements LogVotes for more than two classes.
func (c *RaterModel) logExpansion(dist *mixture.Dirichlet, votes []Rating) float64 {
	w := &manyWork{like: make([]float64, 1)}
	for i, own := range c.byClass(votes) {
		if len(own) > 0 {
			w.voted = append(w.voted, votedClass{class: i, votes: own})
			w.voted[len(w.voted)-1].ready()
		}
	}
	like := 0.0
	for k := range dist.K() {
		weight, alpha := dist.Component(k)
		like += weight * w.component(0, alpha)
	}
	return math.Log(like)
}

// byClass returns the votes for each class.
func (c *RaterModel) byClass(votes []Rating) [][]genuine {
	list := make([][]genuine, c.Classes)
	for _, v := range votes {
		sure, guess := c.factors(v)
		list[v.Class] = append(list[v.Class], genuine{sure: sure, guess: guess})
	}
	return list
}

// term collects the combinations of guesses that leave the same counts: the number of votes for each class
// that were not guesses, and the sum of the probabilities of these combinations.
type term struct {
	counts []float64
	weight float64
}

// terms returns the likelihood of votes as a polynomial in p, Σ weight Π p_i^counts_i.
func (c *RaterModel) terms(votes []Rating) []term {
	terms := []term{{make([]float64, c.Classes), 1}}
	for class, own := range c.byClass(votes) {
		if len(own) == 0 {
			continue
		}
		e := make([]float64, len(own)+1)
		multiply(e, own, -1)
		var next []term
		for _, t := range terms {
			for n, x := range e {
				if x == 0 {
					continue
				}
				counts := slices.Clone(t.counts)
				counts[class] = float64(n)
				next = append(next, term{counts, t.weight * x})
			}
		}
		terms = next
	}
	return terms
}

// maxComponents is the maximum number of components after an update, and maxVotesAtOnce the number of votes
// that are multiplied out at a time.
const maxComponents, maxVotesAtOnce = 64, 4

// expand implements Update for more than two classes.
func (c *RaterModel) expand(dist *mixture.Dirichlet, votes []Rating) (*mixture.Dirichlet, error) {
	for some := range slices.Chunk(votes, maxVotesAtOnce) {
		var err error
		if dist, err = c.expandSome(dist, some); err != nil {
			return nil, err
		}
	}
	return dist, nil
}

// expandSome is expand for at most maxVotesAtOnce votes.
func (c *RaterModel) expandSome(dist *mixture.Dirichlet, votes []Rating) (*mixture.Dirichlet, error) {
	var weights []float64
	var alpha [][]float64
	top := math.Inf(-1)
	for _, t := range c.terms(votes) {
		after, err := dist.Update(t.counts)
		if err != nil {
			return nil, err
		}
		l, err := dist.LogVotes(t.counts)
		if err != nil {
			return nil, err
		}
		l += math.Log(t.weight)
		for k := range after.K() {
			w, a := after.Component(k)
			weights, alpha = append(weights, l+math.Log(w)), append(alpha, a)
			top = max(top, weights[len(weights)-1])
		}
	}
	for k, l := range weights {
		weights[k] = math.Exp(l - top) // NaN if all are impossible
	}
	return merge(weights, alpha)
}

// Pairs compares the error of an item's distribution as shown by pairs of votes with the variance that the
// distribution claims, class by class: it returns the means over pairs u, v of different votes of
//
//	(e_u − m_u)(e_v − m_v)   and   Cov(P_u, P_v),
//
// with P_u the probability, given p, that the rater of u votes for the class, m_u its mean, and e_u 1 if
// u is for the class. If the distribution is right, the second is the expectation of the first for any
// raters. With fewer than two votes both are nil.
func (c *RaterModel) Pairs(dist *mixture.Dirichlet, votes []Rating) (shown, claimed []float64, err error) {
	if err := c.check(votes); err != nil || len(votes) < 2 {
		return nil, nil, err
	}
	n := float64(len(votes))
	shown, claimed = make([]float64, c.Classes), make([]float64, c.Classes)
	if c.Classes == 2 {
		s, v := c.twoPairs(dist, votes)
		for i := range shown {
			shown[i], claimed[i] = s/(n*(n-1)), v/(n*(n-1))
		}
		return shown, claimed, nil
	}
	if c.Ordered {
		c.orderedPairs(shown, claimed, dist, votes)
		return shown, claimed, nil
	}
	mean, variance := dist.Mean(nil), dist.Variance(nil)
	for i := range shown {
		var e, e2, f, f2 float64
		for _, v := range votes {
			sure, guess := c.factors(Rating{Rater: v.Rater, Class: int32(i)})
			x := -(sure*mean[i] + guess)
			if int(v.Class) == i {
				x++
			}
			e, e2, f, f2 = e+x, e2+x*x, f+sure, f2+sure*sure
		}
		shown[i] = (e*e - e2) / (n * (n - 1))
		claimed[i] = variance[i] * (f*f - f2) / (n * (n - 1))
	}
	return shown, claimed, nil
}

// twoPairs returns the sums over ordered pairs, for two classes.
func (c *RaterModel) twoPairs(dist *mixture.Dirichlet, votes []Rating) (shown, claimed float64) {
	type node struct{ weight, odds float64 }
	var nodes []node
	var buffer []float64
	beta := dist.Marginal(1)
	for k := range beta.K() {
		w, a, b := beta.Component(k)
		win := special.NewLogitWindow(a, b, math.Log(a/b), 0, 0, 3)
		buffer = room(buffer, win.Nodes())
		q := win.Weights(buffer)
		nodes = append(nodes, node{w * q[0], 0}, node{w * q[len(q)-1], math.Inf(1)})
		for i, odds := range win.Grid.Odds[win.Lo : win.Hi+1] {
			nodes = append(nodes, node{w * q[1+i], odds})
		}
	}
	means := make([]float64, len(votes))
	chances := make([]float64, len(votes)*len(nodes))
	e, e2 := 0.0, 0.0
	for u, v := range votes {
		own := chances[u*len(nodes):][:len(nodes)]
		for i, x := range nodes {
			own[i] = c.chance(v.Rater, x.odds)
			means[u] += x.weight * own[i]
		}
		d := float64(v.Class) - means[u]
		e, e2 = e+d, e2+d*d
	}
	for i, x := range nodes {
		f, f2 := 0.0, 0.0
		for u := range votes {
			d := chances[u*len(nodes)+i] - means[u]
			f, f2 = f+d, f2+d*d
		}
		claimed += x.weight * (f*f - f2)
	}
	return e*e - e2, claimed
}
