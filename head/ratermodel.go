package head

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"credence/internal/special"
	"credence/mixture"
)

// RaterModel holds the parameters of a model's raters, one value for each, in the order of the model's rater
// names. They define the likelihood of votes given p; see the comment on raterHead's likelihood for what votes
// identify and what they do not.
//
// Rater number −1 stands for an unknown rater, who is treated as one drawn at random from the raters of the
// training set, weighted by their votes.
type RaterModel struct {
	Classes int
	// Ordered means that classes are the points of a scale, more than two: raters then have bias and scale on it.
	Ordered bool
	Votes   []float64 // [R] number of votes in the training data
	// Bias [R] is b_r, the shift of a rater towards the second of two classes, or the upper end of ordered classes, on
	// the logit scale; Σ Votes·Bias is 0 in each of [Task.RaterGroups]. BiasSE is its standard error. Both are nil for
	// more classes without order.
	Bias, BiasSE []float64
	// LogScale [R] is log s_r of ordered classes, with standard error LogScaleSE: raters with s > 1 agree with the
	// usual vote more often than an average rater. Σ Votes·LogScale is 0 in each group.
	LogScale, LogScaleSE []float64
	// Guess [R] is g_r, the rate at which a rater guesses. GuessLogit is its log odds, with standard error
	// GuessLogitSE; below about −5 the estimate is only the prior.
	Guess, GuessLogit, GuessLogitSE []float64
	// Taste [R, d] is the distribution of a rater's guesses; nil for two classes, where it is uniform.
	Taste []float64
	// BiasSD is the standard deviation of the prior of biases, estimated together with them.
	BiasSD float64

	average *mixture.AverageRater
	unknown []chanceTable // [levels] of two classes
}

// chanceTable has the chances that an unknown rater votes for the second of two classes at odds 0, at the nodes of a grid
// of special.LogitGrids, and at infinite odds.
type chanceTable struct {
	once   sync.Once
	values []float64
}

// unknownChances returns the table of a level.
func (c *RaterModel) unknownChances(level int) []float64 {
	t := &c.unknown[level]
	t.once.Do(func() {
		t.values = append(t.values, c.chance(-1, 0))
		for _, odds := range special.LogitGrids()[level].Odds {
			t.values = append(t.values, c.chance(-1, odds))
		}
		t.values = append(t.values, c.chance(-1, math.Inf(1)))
	})
	return t.values
}

// Check returns an error if a rater model read from a file is invalid.
func (c *RaterModel) Check(classes, raters int) error {
	if c == nil {
		return nil
	}
	if c.Classes != classes || len(c.Votes) != raters {
		return fmt.Errorf("expected %d raters and %d classes, found %d and %d", raters, classes, len(c.Votes), c.Classes)
	}
	if c.Ordered && classes == 2 {
		return errors.New("raters: expected more than two ordered classes, found 2")
	}
	biases, tastes := c.sizes()
	scales := 0
	if c.Ordered {
		scales = raters
	}
	for _, list := range []struct {
		name   string
		values []float64
		want   int
	}{
		{"bias", c.Bias, biases}, {"standard error of bias", c.BiasSE, biases}, {"guess", c.Guess, raters},
		{"log odds of guess", c.GuessLogit, raters}, {"standard error of guess", c.GuessLogitSE, raters},
		{"log scale", c.LogScale, scales}, {"standard error of log scale", c.LogScaleSE, scales},
		{"taste", c.Taste, tastes}, {"votes", c.Votes, raters},
	} {
		if len(list.values) != list.want {
			return fmt.Errorf("raters: %s: expected %d values, found %d", list.name, list.want, len(list.values))
		}
		for _, x := range list.values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("raters: %s: expected finite values, found %v", list.name, x)
			}
		}
	}
	if c.average == nil {
		return errors.New("raters: expected a finalized model")
	}
	return nil
}

// sizes returns the lengths of Bias and of Taste.
func (c *RaterModel) sizes() (biases, tastes int) {
	if c.Classes == 2 {
		return len(c.Votes), 0
	}
	if c.Ordered {
		return len(c.Votes), len(c.Votes) * c.Classes
	}
	return 0, len(c.Votes) * c.Classes
}

// Average returns the average rater, or nil for a nil rater model.
func (c *RaterModel) Average() *mixture.AverageRater {
	if c == nil {
		return nil
	}
	return c.average
}

// newAverage sets guess rates below rareGuess to zero: at that level the estimate is only the prior, and p̄
// would otherwise never come closer to 0 than half of what the prior allows.
func (c *RaterModel) newAverage() (*mixture.AverageRater, error) {
	guess := slices.Clone(c.Guess)
	for r, g := range guess {
		if g < rareGuess {
			guess[r] = 0
		}
	}
	if c.Ordered {
		return mixture.NewOrderedAverage(c.Classes, c.Votes, c.Bias, c.LogScale, c.Taste, guess)
	}
	return mixture.NewAverage(c.Classes, c.Votes, c.Bias, c.Taste, guess)
}

// rareGuess is the guess rate below which raters are taken never to guess.
const rareGuess = 0.02

// ErrNoRater is returned for a rater number that is not in the rater model.
var ErrNoRater = errors.New("unknown rater")

// check returns an error unless all votes are by raters of the model or by unknown raters (−1).
func (c *RaterModel) check(votes []Rating) error {
	for _, v := range votes {
		if v.Rater < -1 || int(v.Rater) >= len(c.Votes) || v.Class < 0 || int(v.Class) >= c.Classes {
			return fmt.Errorf("%w: vote by rater %d of %d for class %d of %d", ErrNoRater, v.Rater, len(c.Votes), v.Class, c.Classes)
		}
	}
	return nil
}

// factors returns the coefficients of P(v = class | p, r) = sure·p + guess, for more than two classes.
func (c *RaterModel) factors(v Rating) (sure, guess float64) {
	if v.Rater < 0 {
		at0 := c.average.At(int(v.Class), 0)
		return c.average.At(int(v.Class), 1) - at0, at0
	}
	g := c.Guess[v.Rater]
	return 1 - g, g * c.Taste[int(v.Rater)*c.Classes+int(v.Class)]
}

// chance returns P(v = 1 | p, r) for two classes at the odds p/(1−p), which may be infinite.
func (c *RaterModel) chance(rater int32, odds float64) float64 {
	if rater < 0 {
		p := 1.0
		if !math.IsInf(odds, 1) {
			p = odds / (1 + odds)
		}
		return c.average.At(1, p)
	}
	g := c.Guess[rater]
	return (1-g)*(1-1/(1+odds*math.Exp(c.Bias[rater]))) + g/2
}

// LogVotes returns the joint log-likelihood of votes on an item with the given distribution of p.
func (c *RaterModel) LogVotes(dist *mixture.Dirichlet, votes []Rating) (float64, error) {
	if err := c.check(votes); err != nil {
		return 0, err
	}
	if c.Classes == 2 {
		sum := 0.0
		for _, post := range c.posterior(dist, c.asCast(votes)) {
			sum += post.weight
		}
		return math.Log(sum), nil
	}
	if c.Ordered {
		return c.logOrdered(dist, votes), nil
	}
	return c.logExpansion(dist, votes), nil
}

// Update returns the posterior distribution of p given votes. For more than two classes it is exact, a
// mixture with a component for each combination of votes that may have been guesses, except that beyond 64
// components the lightest are merged into others (see merge). For two classes each component, and each
// combination of votes that may have been guesses, becomes the Beta distribution with the mean and variance
// of its own posterior, and likewise for ordered classes; measured over distributions with α from 0.5 to 30 and up to five votes, the error of
// the distribution function is at most 0.04.
func (c *RaterModel) Update(dist *mixture.Dirichlet, votes []Rating) (*mixture.Dirichlet, error) {
	if err := c.check(votes); err != nil {
		return nil, err
	}
	if len(votes) == 0 {
		return dist, nil
	}
	if c.Ordered {
		return c.updateOrdered(dist, votes)
	}
	if c.Classes > 2 {
		return c.expand(dist, votes)
	}
	weights, alpha := []float64{}, [][]float64{}
	for _, way := range c.ways(votes) {
		for _, post := range c.posterior(dist, way.votes) {
			a, b := post.beta()
			weights, alpha = append(weights, post.weight*way.weight), append(alpha, []float64{b, a})
		}
	}
	return merge(weights, alpha)
}

// Chances returns the probability that a rater votes for each class of an item with the given distribution of p.
func (c *RaterModel) Chances(dist *mixture.Dirichlet, rater int) ([]float64, error) {
	chances := make([]float64, c.Classes)
	for i := range chances {
		l, err := c.LogVotes(dist, []Rating{{Rater: int32(rater), Class: int32(i)}})
		if err != nil {
			return nil, err
		}
		chances[i] = math.Exp(l)
	}
	if c.Ordered { // the nodes differ between classes
		special.Normalize(chances)
	}
	return chances, nil
}

// Gain returns the expected reduction of Σ_i Var p̄_i of an item by a vote of the rater.
func (c *RaterModel) Gain(dist *mixture.Dirichlet, rater int) (float64, error) {
	chances, err := c.Chances(dist, rater)
	if err != nil {
		return 0, err
	}
	_, before := c.average.Moments(nil, nil, dist)
	gain := special.Sum(before)
	for i, p := range chances {
		after, err := c.Update(dist, []Rating{{Rater: int32(rater), Class: int32(i)}})
		if err != nil {
			return 0, err
		}
		_, v := c.average.Moments(nil, nil, after)
		gain -= p * special.Sum(v)
	}
	return max(0, gain), nil
}

// merge returns the mixture of components with these weights, scaled to sum to one, or an error if none is positive.
// Components are merged until there are at most maxComponents: repeatedly, the
// lightest is merged with the one whose mean is nearest, and both become the Dirichlet distribution with
// their mean and the trace of their covariance. Class means and Σ_i Var p_i of the mixture do not change,
// and no probability changes by more than the weight of the merged components.
func merge(weights []float64, alpha [][]float64) (*mixture.Dirichlet, error) {
	if !(special.Sum(weights) > 0) {
		return nil, errors.New("the votes are impossible under the distribution")
	}
	special.Normalize(weights)
	n := 0
	for k, w := range weights {
		if w > 0 {
			weights[n], alpha[n] = w, alpha[k]
			n++
		}
	}
	weights, alpha = weights[:n], alpha[:n]
	for n > maxComponents {
		light := slices.Index(weights, slices.Min(weights[:n]))
		n--
		w, a := weights[light], alpha[light]
		weights[light], alpha[light] = weights[n], alpha[n]
		near, least := 0, math.Inf(1)
		for k := range n {
			if d := apart(a, alpha[k]); d < least {
				near, least = k, d
			}
		}
		alpha[near] = joined(w, a, weights[near], alpha[near])
		weights[near] += w
	}
	return mixture.NewDirichlet(weights[:n], alpha[:n])
}

// apart returns the squared distance between the means of two Dirichlet distributions.
func apart(a, b []float64) float64 {
	a0, b0, sum := special.Sum(a), special.Sum(b), 0.0
	for i := range a {
		e := a[i]/a0 - b[i]/b0
		sum += e * e
	}
	return sum
}

// joined returns the Dirichlet distribution with the mean and the trace of the covariance of two.
func joined(v float64, a []float64, w float64, b []float64) []float64 {
	a0, b0 := special.Sum(a), special.Sum(b)
	share := v / (v + w)
	mean := make([]float64, len(a))
	ga, gb, g := 1.0, 1.0, 1.0 // 1 − Σ mean²
	for i := range a {
		x, y := a[i]/a0, b[i]/b0
		mean[i] = share*x + (1-share)*y
		ga -= x * x
		gb -= y * y
		g -= mean[i] * mean[i]
	}
	trace := share*ga/(a0+1) + (1-share)*gb/(b0+1) + share*(1-share)*apart(a, b)
	whole := max(a0, b0)
	if trace > 0 && g > trace {
		whole = g/trace - 1
	}
	for i := range mean {
		mean[i] = min(max(mean[i]*whole, 1e-12), 1e12)
	}
	return mean
}
