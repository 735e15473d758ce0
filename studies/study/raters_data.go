package study

import (
	"fmt"
	"math"
	"math/rand/v2"

	"credence/dataset"
	"credence/internal/rng"
	"credence/internal/simulation"
)

// raterPool is a pool of raters: rater r votes for class 1, on an item whose logit of class 1 is z, with the probability
//
//	(1 − g_r) σ(z + b_r) + g_r/2.
type raterPool struct {
	Bias, Guess []float64
}

// The raters of a pool: biases have the standard deviation 1, or are −1, 0 and 1; one rater in five,
// or one of three, is a guesser, who guesses this share of her votes.
const guessedShare = 0.8

// newRaterPool draws the raters of a design.
func newRaterPool(c poolDesign, seed uint64) *raterPool {
	w := &raterPool{Bias: make([]float64, c.Raters), Guess: make([]float64, c.Raters)}
	switch {
	case c.Kind == biased && c.Raters == 3:
		copy(w.Bias, []float64{-1, 0, 1})
	case c.Kind == biased:
		r := rand.New(rng.New(seed, "study.raters.lean", uint64(c.Raters)))
		for i := range w.Bias {
			w.Bias[i] = r.NormFloat64()
		}
		m := mean(w.Bias)
		for i := range w.Bias {
			w.Bias[i] -= m
		}
	case c.Kind == guessers:
		for i := 0; i < c.Raters; i += min(5, c.Raters) {
			w.Guess[i] = guessedShare
		}
	}
	return w
}

// chance returns the probability that rater r votes for class 1 at the logit z.
func (w *raterPool) chance(z float64, r int) float64 {
	return (1-w.Guess[r])/(1+math.Exp(-z-w.Bias[r])) + w.Guess[r]/2
}

// average returns the probability that a rater picked at random votes for class 1 at the logit z: p̄.
func (w *raterPool) average(z float64) float64 {
	sum := 0.0
	for r := range w.Bias {
		sum += w.chance(z, r)
	}
	return sum / float64(len(w.Bias))
}

// poolItems are items with votes of a pool of raters, and their true probabilities.
type poolItems struct {
	ds       *dataset.Dataset
	average  []float64 // [N] p̄ of class 1
	expected []float64 // [N] E[p̄ | x]
	plain    []float64 // [N] E[p | x]
}

// vote draws items of the design in which mean and spread vary independently, with three votes per item.
// All raters cast the same number of votes.
func (w *raterPool) vote(n int, seed uint64, purpose string) (*poolItems, error) {
	sample, err := simulation.Simulate(simulation.Spread, n, 0, rng.New(seed, purpose).Uint64())
	if err != nil {
		return nil, err
	}
	items := &poolItems{ds: sample.Dataset(), average: make([]float64, n), expected: make([]float64, n), plain: make([]float64, n)}
	ds := items.ds
	for r := range w.Bias {
		ds.Raters = append(ds.Raters, fmt.Sprintf("r%d", r+1))
	}
	luck := rand.New(rng.New(seed, purpose, 1))
	var deck []int
	for j := range n {
		z := math.Log(sample.Q[j]) - math.Log(sample.P[j])
		items.average[j] = w.average(z)
		if items.expected[j], items.plain[j], err = w.expect(sample.X[j]); err != nil {
			return nil, err
		}
		if len(deck) < votesEach {
			deck = luck.Perm(len(w.Bias))
		}
		for _, r := range deck[:votesEach] {
			class := 0
			if luck.Float64() < w.chance(z, r) {
				class = 1
			}
			ds.Counts[2*j+class]++
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(r), Class: int32(class)})
		}
		deck = deck[votesEach:]
	}
	return items, nil
}

// expect returns E[p̄ | x], from the quantiles of the distribution of p at x, and E[p | x].
func (w *raterPool) expect(x [2]float64) (average, plain float64, err error) {
	dist, err := simulation.Spread.Dist(x)
	if err != nil {
		return 0, 0, err
	}
	const nodes = 40
	for k := range nodes {
		average += w.average(-dist.QuantileLogit((float64(k)+0.5)/nodes)) / nodes
	}
	return average, 1 - dist.Mean(), nil
}
