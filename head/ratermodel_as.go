package head

import (
	"fmt"

	"credence/mixture"
)

// RaterPosterior is what is known about one rater: the posterior of the bias, normal, and the rest by its estimate.
type RaterPosterior struct {
	Rater        int // number in the rater model, −1 for a rater without votes in training
	Bias, BiasSD float64
}

// Posterior returns what votes show about a rater; for a rater without votes, −1, it is the prior.
func (c *RaterModel) Posterior(rater int) RaterPosterior {
	switch {
	case !c.HasBias():
		return RaterPosterior{Rater: rater}
	case rater < 0:
		return RaterPosterior{Rater: rater, BiasSD: c.BiasSD}
	}
	return RaterPosterior{rater, c.Bias[rater], c.BiasSE[rater]}
}

// hermite has the nodes and weights of the Gauss–Hermite rule of order 5 for a standard normal variable.
var hermite = [5]struct{ at, weight float64 }{{0, 8.0 / 15}, {1.355626179974266, 0.2220759220056126}, {-1.355626179974266, 0.2220759220056126},
	{2.856970013872806, 0.01125741132772071}, {-2.856970013872806, 0.01125741132772071}}

// As returns the average of some raters, weighted by their votes, or all alike if none has votes. Predictions for it
// ([Decoded.ForAverageRater]) are those of a vote by one of these raters. Biases are averaged over their posteriors, so
// that the prediction for a rater with few votes is near the average one. A rater without votes guesses as all raters
// together do.
func (c *RaterModel) As(raters ...RaterPosterior) (*mixture.AverageRater, error) {
	votes := 0.0
	for _, r := range raters {
		if r.Rater < -1 || r.Rater >= len(c.Votes) {
			return nil, fmt.Errorf("%w: rater %d of %d", ErrNoRater, r.Rater, len(c.Votes))
		}
		if r.Rater >= 0 {
			votes += c.Votes[r.Rater]
		}
	}
	some := RaterModel{Classes: c.Classes, Ordered: c.Ordered}
	usual, usualTaste := c.usualGuess()
	for _, r := range raters {
		weight, guess, taste, scale := 1.0, usual, usualTaste, 0.0
		switch k := r.Rater; {
		case k < 0 && votes > 0:
			continue
		case k >= 0:
			weight, guess = c.Votes[k], c.Guess[k]
			if c.Classes > 2 {
				taste = c.Taste[k*c.Classes:][:c.Classes]
			}
			if c.Ordered {
				scale = c.LogScale[k]
			}
		}
		for _, node := range hermite {
			some.Votes, some.Bias = append(some.Votes, weight*node.weight), append(some.Bias, r.Bias+node.at*r.BiasSD)
			some.Guess, some.Taste, some.LogScale = append(some.Guess, guess), append(some.Taste, taste...), append(some.LogScale, scale)
		}
	}
	return some.newAverage()
}

// usualGuess returns the mean guess rate of all raters, and the distribution of their guesses for more than two classes.
func (c *RaterModel) usualGuess() (guess float64, taste []float64) {
	if c.Classes > 2 {
		taste = make([]float64, c.Classes)
	}
	votes := 0.0
	for r, n := range c.Votes {
		votes += n
		guess += n * c.Guess[r]
		for i := range taste {
			taste[i] += n * c.Guess[r] * c.Taste[r*c.Classes+i]
		}
	}
	for i := range taste {
		taste[i] /= guess
	}
	return guess / votes, taste
}

// HasBias reports whether raters have biases: for two classes, and for ordered ones.
func (c *RaterModel) HasBias() bool { return len(c.Bias) > 0 }
