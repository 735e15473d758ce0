package study

import (
	"math"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
)

// recover correlates the estimates of a method without intervals with the true parameters of raters, where
// these differ.
func (out *poolOutcome) recover(w *raterPool, bias, guess func(r int) float64) {
	of := func(truth []float64, estimate func(r int) float64) recovery {
		list := make([]float64, len(truth))
		for r := range list {
			list[r] = estimate(r)
		}
		return recovery{notKnown, evaluate.Number(correlation(list, truth)), notKnown}
	}
	out.Bias, out.Guess = of(w.Bias, bias), of(w.Guess, guess)
}

// noGuessing is the lower end below which an interval of the guess rate counts as containing zero, which
// no interval of a logit contains.
const noGuessing = 0.01

// recoverLearned compares the rater model from training with the truth.
func (out *poolOutcome) recoverLearned(w *raterPool, c *head.RaterModel) {
	n := len(w.Bias)
	sums := func(estimate, truth []float64, holds func(r int) bool) recovery {
		square, held := 0.0, 0.0
		for r := range n {
			e := estimate[r] - truth[r]
			square += e * e / float64(n)
			if holds(r) {
				held += 1 / float64(n)
			}
		}
		return recovery{evaluate.Number(math.Sqrt(square)), evaluate.Number(correlation(estimate, truth)), evaluate.Number(held)}
	}
	out.Bias = sums(c.Bias, w.Bias, func(r int) bool {
		in, b := evaluate.BiasOf(c, r), evaluate.Number(w.Bias[r])
		return in.Lo <= b && b <= in.Hi
	})
	out.Guess = sums(c.Guess, w.Guess, func(r int) bool {
		in, g := evaluate.GuessOf(c, r), evaluate.Number(w.Guess[r])
		return (in.Lo <= g || g == 0 && in.Lo < noGuessing) && g <= in.Hi
	})
}

// byMajority returns, for each rater, how much more often than the majority she votes for class 1, and how
// often she disagrees with it.
func byMajority(ds *dataset.Dataset) (bias, guess []float64) {
	bias, guess = make([]float64, len(ds.Raters)), make([]float64, len(ds.Raters))
	votes := make([]float64, len(ds.Raters))
	for _, r := range ds.Ratings {
		item := ds.CountsOf(int(r.Item))
		most := int32(0)
		if item[1] > item[0] {
			most = 1
		}
		votes[r.Rater]++
		bias[r.Rater] += float64(r.Class - most)
		guess[r.Rater] += math.Abs(float64(r.Class - most))
	}
	for r, n := range votes {
		if n > 0 {
			bias[r], guess[r] = bias[r]/n, guess[r]/n
		}
	}
	return bias, guess
}
