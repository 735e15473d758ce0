package mixture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"credence/internal/special"
)

// AverageRater maps class probabilities p to p̄, the probabilities that a rater drawn at random votes for
// each class. Each p̄_i is an increasing function of p_i alone, so quantiles and intervals of p are
// mapped to those of p̄ by mapping their ends.
//
// For two classes, with z = log(p/(1−p)), raters of weight w_r with the bias b_r and the guess rate g_r
// vote for the second class with the probability
//
//	p̄ = Σ_r w_r ((1−g_r) σ(z + b_r) + g_r/2);
//
// for more classes raters have no bias, and p̄_i = (1−ḡ) p_i + Σ_r w_r g_r π_ri.
//
// Raters of ordered classes have biases on their scale, see [NewOrderedAverage]. Then p̄_i depends on all of p, At and
// Inverse do not apply, and p̄ is reported by its approximate distribution, Dist.
//
// It is safe for concurrent use.
type AverageRater struct {
	scale  float64   // 1 − ḡ
	offset []float64 // [d] Σ_r w_r g_r π_ri
	shares []float64 // shares of groups of raters, for two classes; they sum to scale
	odds   []float64 // e^b of each group
	shift  float64   // largest |b|
	tables []averageTable

	cumulative []float64 // mean of (1−g) σ(s l − b) at logits l of the grid, for ordered classes
}

// averageTable holds p̄ of the second class at the nodes of a grid.
type averageTable struct {
	once   sync.Once
	values []float64
}

// averageGroups is the number of bins that raters of similar bias are pooled into. If there are more raters,
// biases within a bin differ by at most a 64th of their range, and the error of p̄ is less than a tenth of
// the square of that.
const averageGroups = 64

// NewAverage returns the average of raters with the given weights, not all 0, and guess rates. For two
// classes raters have biases; for more, the distributions of their guesses, taste [R, d].
func NewAverage(classes int, weights, biases, taste, guesses []float64) (*AverageRater, error) {
	n := len(weights)
	if len(guesses) != n || classes == 2 && len(biases) != n || classes > 2 && len(taste) != n*classes {
		return nil, fmt.Errorf("average of %d raters: found %d biases, %d guess rates and %d tastes", n, len(biases), len(guesses), len(taste))
	}
	whole := special.Sum(weights)
	if !(whole > 0) || math.IsInf(whole, 1) {
		return nil, fmt.Errorf("average of raters: expected weights with a positive finite sum, found %v", whole)
	}
	a := &AverageRater{offset: make([]float64, classes)}
	order := make([]int, 0, n)
	for r, w := range weights {
		g := guesses[r]
		if !(g >= 0 && g < 1) || !(w >= 0) {
			return nil, fmt.Errorf("average of raters: rater %d: expected a guess rate from 0 to 1 and a weight, found %v and %v", r, g, w)
		}
		a.scale += w / whole * (1 - g)
		for i := range a.offset {
			says := 0.5
			if classes > 2 {
				says = taste[r*classes+i]
			}
			a.offset[i] += w / whole * g * says
		}
		if w > 0 {
			order = append(order, r)
		}
	}
	if classes == 2 {
		a.group(order, weights, biases, guesses, whole)
		a.tables = make([]averageTable, len(special.LogitGrids()))
	}
	return a, nil
}

// group pools raters of similar bias; all have positive weight.
func (a *AverageRater) group(order []int, weights, biases, guesses []float64, whole float64) {
	slices.SortFunc(order, func(x, y int) int { return cmp.Or(cmp.Compare(biases[x], biases[y]), x-y) })
	low, high := biases[order[0]], biases[order[len(order)-1]]
	a.shift = max(math.Abs(low), math.Abs(high))
	bin := -1
	var sums []float64 // Σ share·bias of each group
	for _, r := range order {
		share := weights[r] / whole * (1 - guesses[r])
		at := len(a.shares)
		if len(order) > averageGroups {
			at = min(int((biases[r]-low)/(high-low)*averageGroups), averageGroups-1)
			if high == low {
				at = 0
			}
		}
		if at != bin {
			bin = at
			a.shares, sums = append(a.shares, 0), append(sums, 0)
		}
		a.shares[len(a.shares)-1] += share
		sums[len(sums)-1] += share * biases[r]
	}
	for k, share := range a.shares {
		a.odds = append(a.odds, math.Exp(sums[k]/share))
	}
}

// At returns p̄ of a class with the probability p.
func (a *AverageRater) At(class int, p float64) float64 {
	if a.shares == nil {
		return a.scale*p + a.offset[class]
	}
	q := 1 - p
	if class == 0 {
		p, q = q, p
	}
	mean := 0.0 // over the groups, for the given class
	for k, share := range a.shares {
		x := p * a.odds[k]
		term := x
		if class == 0 {
			term = q
		}
		mean += share * term / (q + x)
	}
	return mean + a.offset[class]
}

// Inverse returns the p that At maps to x, or 0 or 1 if x is out of range.
func (a *AverageRater) Inverse(class int, x float64) float64 {
	if a.shares == nil {
		return min(max((x-a.offset[class])/a.scale, 0), 1)
	}
	if x <= a.At(class, 0) {
		return 0
	}
	if x >= a.At(class, 1) {
		return 1
	}
	lo, hi := bisect(-750, 750, func(logit float64) bool { return a.At(class, special.Sigmoid(logit)) < x })
	return special.Sigmoid(lo + (hi-lo)/2)
}

// table returns p̄ of the second class at the nodes of a grid.
func (a *AverageRater) table(level int) []float64 {
	t := &a.tables[level]
	t.once.Do(func() {
		odds := special.LogitGrids()[level].Odds
		t.values = make([]float64, len(odds))
		for i, o := range odds {
			x := a.offset[1]
			for k, share := range a.shares {
				x += share * (1 - 1/(1+o*a.odds[k]))
			}
			t.values[i] = x
		}
	})
	return t.values
}

// Moments appends the means and the variances of p̄ of all classes, given the distribution of p.
func (a *AverageRater) Moments(means, variances []float64, dist *Dirichlet) ([]float64, []float64) {
	if a.cumulative != nil {
		dist = a.Dist(dist)
		return dist.Mean(means), dist.Variance(variances)
	}
	if a.shares == nil {
		for i, m := range dist.Mean(nil) {
			means = append(means, a.scale*m+a.offset[i])
		}
		for _, v := range dist.Variance(nil) {
			variances = append(variances, a.scale*a.scale*v)
		}
		return means, variances
	}
	mean, variance := a.second(dist.Marginal(1))
	return append(means, 1-mean, mean), append(variances, variance, variance)
}

// class returns the mean and the variance of p̄_i, given the distribution of p_i.
func (a *AverageRater) class(i int, dist *Beta) (mean, variance float64) {
	switch {
	case a.shares == nil:
		mean, variance = dist.Moments()
		return a.scale*mean + a.offset[i], a.scale * a.scale * variance
	case i == 0:
		mean, variance = a.second(dist.Reflect())
		return 1 - mean, variance
	}
	return a.second(dist)
}

// second returns the mean and the variance of p̄ of the second of two classes.
func (a *AverageRater) second(dist *Beta) (mean, variance float64) {
	center := a.At(1, dist.Mean())
	first, square := 0.0, 0.0
	for k := range dist.K() {
		w, x, y := dist.Component(k)
		m, s := a.component(x, y, center)
		first += w * m
		square += w * s
	}
	return center + first, max(0, square-first*first)
}

// component returns E(p̄ − center) and E(p̄ − center)² of the second class if p is Beta(x, y).
func (a *AverageRater) component(x, y, center float64) (m, s float64) {
	var buffer [256]float64
	win := special.NewLogitWindow(x, y, math.Log(x/y), 0, 0, a.shift)
	nodes := buffer[:]
	if n := win.Nodes(); n > len(nodes) {
		nodes = make([]float64, n)
	}
	q := win.Weights(nodes)
	add := func(q, at float64) {
		e := at - center
		m += q * e
		s += q * e * e
	}
	add(q[0], a.offset[1])
	for i, at := range a.table(win.Level)[win.Lo : win.Hi+1] {
		add(q[1+i], at)
	}
	add(q[len(q)-1], a.offset[1]+a.scale)
	return m, s
}

// Dist returns an approximation of the distribution of p̄: each component becomes the Dirichlet distribution with
// the means and the trace of the covariance that p̄ has in it. It is for computations that need a whole
// distribution, such as the probability of votes by unknown raters; means, quantiles and intervals are computed
// exactly without it.
func (a *AverageRater) Dist(dist *Dirichlet) *Dirichlet {
	d := dist.Classes()
	out := dist.like()
	var grid *special.SimplexGrid
	if a.cumulative != nil {
		grid = special.NewSimplexGrid(d)
	}
	for k := range dist.weights {
		alpha, mean, trace := dist.row(k), out.row(k), 0.0
		total := special.Sum(alpha)
		if grid != nil {
			trace = a.orderedMoments(mean, grid, alpha, total)
		} else if a.shares != nil {
			center := a.At(1, alpha[1]/total)
			m, s := a.component(alpha[1], alpha[0], center)
			mean[1] = center + m
			mean[0] = 1 - mean[1]
			trace = 2 * max(0, s-m*m)
		} else {
			for i, x := range alpha {
				mean[i] = a.scale*x/total + a.offset[i]
			}
			trace = a.scale * a.scale * simplexVariance(alpha, total) / (total + 1)
		}
		whole := maxParameter
		if g := simplexVariance(mean, 1); trace > 0 && g > trace {
			whole = min(g/trace-1, maxParameter)
		}
		for i := range mean {
			mean[i] = min(max(mean[i]*whole, minParameter), maxParameter)
		}
	}
	return out
}

// mapped returns the interval of p̄ for an interval of p. The guess rates, and so how close p̄ comes to 0 and 1,
// are themselves estimates: the image of an end at 0 or 1 is moved outwards by the resolution, but not beyond
// 0 or 1.
func (c *ReportedClass) mapped(i Interval) Interval {
	m := Interval{c.average.At(c.class, i.Lo), c.average.At(c.class, i.Hi)}
	if i.Lo == 0 {
		m.Lo = max(0, m.Lo-c.resolution)
	}
	if i.Hi == 1 {
		m.Hi = min(1, m.Hi+c.resolution)
	}
	return m
}

// reported returns the reported interval for an interval of p; that of p̄ contains its mean. AtLeast is set if the
// interval of p lies within the resolution.
func (c *ReportedClass) reported(of Interval) ReportedInterval {
	e := c.resolution
	i := ReportedInterval{of, e > 0 && (of.Hi <= e || of.Lo >= 1-e)}
	if c.average != nil {
		mean, _ := c.Moments()
		i.Interval = c.mapped(i.Interval)
		i.Lo, i.Hi = min(i.Lo, mean), max(i.Hi, mean)
	}
	return i
}

// Moments returns the mean and the variance of the reported probability.
func (c *ReportedClass) Moments() (mean, variance float64) {
	switch {
	case c.average != nil:
		return c.average.class(c.class, c.Dist)
	case c.Dist == nil:
		return c.tables.mean, c.tables.variance
	}
	return c.Dist.Moments()
}

// QuantileBoth returns the q-quantile x of the reported probability, and 1 − x.
func (c *ReportedClass) QuantileBoth(q float64) (x, complement float64) {
	if c.mirrors != nil && c.mirrors.tables != nil {
		x, complement = c.mirrors.QuantileBoth(1 - q)
		return complement, x
	}
	x, complement = c.quantile(q, 1-q)
	if c.average != nil {
		x = c.average.At(c.class, x)
		complement = 1 - x
	}
	return x, complement
}

// CDF returns the probability that the reported probability is at most x.
func (c *ReportedClass) CDF(x float64) float64 {
	lower, _ := c.tails(x)
	return lower
}

// Survival returns the probability that the reported probability exceeds x.
func (c *ReportedClass) Survival(x float64) float64 {
	_, upper := c.tails(x)
	return upper
}

func (c *ReportedClass) tails(x float64) (lower, upper float64) {
	if c.average != nil {
		if x < c.average.At(c.class, 0) {
			return 0, 1
		}
		x = c.average.Inverse(c.class, x)
	}
	return c.Dist.tails(x)
}

// Parameters returns the numbers of the map from p to p̄, for programs that repeat it elsewhere: for two classes
//
//	p̄_1 = offset_1 + Σ_g shares_g σ(z + log odds_g),   z = log(p_1/p_0),
//
// and for more p̄_i = scale p_i + offset_i, without shares. Raters of ordered classes have others.
func (a *AverageRater) Parameters() (scale float64, offset, shares, odds []float64) {
	return a.scale, slices.Clone(a.offset), slices.Clone(a.shares), slices.Clone(a.odds)
}
