package head

import (
	"errors"
	"fmt"
	"math"

	"credence/internal/par"
	"credence/mixture"
)

// ErrNoDistribution is the reason when a distribution of the class probabilities
// is asked of a method that gives none.
var ErrNoDistribution = errors.New("the method gives no distribution of the class probabilities")

// Answer is what a method says of one item.
type Answer struct {
	// Mean [d] is the probability of each class; it sums to one.
	Mean []float64
	// Variance [d] is what the method calls its variance: of the probability between items alike for
	// the mixture; of a label for softmax with one network, mve and qd; of the probability between
	// networks or passes for softmax with several and dropout; of its opinion for evidential. It is
	// nil for confidence.
	Variance []float64
	// Law is the distribution of the class probabilities, learned from the votes of many items; nil if
	// the method gives none. A model's answers have the law that is reported, see [Calibration].
	Law *mixture.Dirichlet
	// Average is the average rater of a model that knows raters: Mean, Variance, Uncertainty and what
	// is reported are of p̄, the chances that such a rater says each class, and Law is of p. It is nil
	// where all votes count alike, and p̄ is p.
	Average *mixture.Average
	// Resolution is how close to 0 or 1 intervals of the law may end; see [mixture.Reported].
	Resolution float64
	// Uncertainty is the method's one number for an item; larger means less certain: the variance of
	// the class of largest mean for the mixture, softmax, dropout and mve, the width of its interval
	// for qd, 1 − c for confidence, d/α₀ for evidential.
	Uncertainty float64
	// Lower and Upper [d] are the ends of an interval of the label (1 if the item's label is the
	// class, 0 if not), of qd alone.
	Lower, Upper []float64
	// Opinion is the distribution of evidential, nil for all others. It is the optimum of a
	// regularized squared error, not of the likelihood of votes, so its spread is not that of the
	// class probabilities between items alike.
	Opinion *mixture.Dirichlet
	// Err says why there is no answer, such as outputs that are not finite.
	Err error
}

// Of returns the answer whose law is m.
func Of(m *mixture.Dirichlet) Answer {
	a := Answer{Law: m, Mean: m.Mean(nil), Variance: m.Variance(nil)}
	a.Uncertainty = a.Variance[a.Top()]
	return a
}

// Top returns the class of largest mean, the first of several.
func (a *Answer) Top() int {
	top := 0
	for i, p := range a.Mean {
		if p > a.Mean[top] {
			top = i
		}
	}
	return top
}

// After returns the answer after further votes [d] on the item have been seen.
func (a *Answer) After(votes []float64) (Answer, error) {
	return a.updated(func(law *mixture.Dirichlet) (*mixture.Dirichlet, error) { return law.Update(votes) })
}

// AfterRatings returns the answer after votes by raters of the crowd have been seen.
func (a *Answer) AfterRatings(c *Crowd, votes []Rating) (Answer, error) {
	return a.updated(func(law *mixture.Dirichlet) (*mixture.Dirichlet, error) { return c.Update(law, votes) })
}

// updated returns the answer for the law that update returns.
func (a *Answer) updated(update func(law *mixture.Dirichlet) (*mixture.Dirichlet, error)) (Answer, error) {
	if a.Law == nil {
		return Answer{}, ErrNoDistribution
	}
	law, err := update(a.Law)
	if err != nil {
		return Answer{}, err
	}
	return a.with(law), nil
}

// with returns the answer for another law.
func (a *Answer) with(law *mixture.Dirichlet) Answer {
	b := Of(law)
	b.Resolution = a.Resolution
	b.Through(a.Average)
	return b
}

// Through makes the answer that of an average rater's chances; nil leaves it as it is. The answer has
// a law.
func (a *Answer) Through(average *mixture.Average) {
	if average == nil {
		return
	}
	a.Average = average
	a.Mean, a.Variance = average.Moments(a.Mean[:0], a.Variance[:0], a.Law)
	a.Uncertainty = a.Variance[a.Top()]
}

// Told returns the law of what is told: of p or, about, of an average rater's chances
// ([mixture.Average.Law]). It is nil if there is no law.
func (a *Answer) Told() *mixture.Dirichlet {
	if a.Law == nil || a.Average == nil {
		return a.Law
	}
	return a.Average.Law(a.Law)
}

// Plain returns the answer about p itself, not an average rater's chances.
func (a *Answer) Plain() Answer {
	b := *a
	if a.Average != nil {
		b = Of(a.Law)
		b.Resolution = a.Resolution
	}
	return b
}

// Decode returns the answers to N items by the outputs of each member or pass. It uses all cores. If
// there are items without an answer, which have an Err, the error is that of the first of them.
func Decode(h Head, outputs []Output, n int) ([]Answer, error) {
	return decode(h.Decode, h.Outputs(), outputs, n)
}

// decode calls f for pieces of N items, on all cores.
func decode(f func(dst []Answer, outputs []Output), width int, outputs []Output, n int) ([]Answer, error) {
	answers := make([]Answer, n)
	par.Chunks(n, 64, func(lo, hi int) {
		part := make([]Output, len(outputs))
		for i, out := range outputs {
			part[i] = Output{Raw: out.Raw[lo*width : hi*width], Own: out.Own}
		}
		f(answers[lo:hi], part)
	})
	for j := range answers {
		if err := answers[j].Err; err != nil {
			return answers, fmt.Errorf("item %d of the batch: %w", j, err)
		}
	}
	return answers, nil
}

// finite returns an error that shows the first value that is no number.
func finite(out []float32) error {
	for _, v := range out {
		if v-v != 0 {
			return fmt.Errorf("a network's output is %v", v)
		}
	}
	return nil
}

// sdOf is the column of a standard deviation.
func sdOf(a *Answer, i int) float64 { return math.Sqrt(a.Variance[i]) }

// Laws returns the distributions of answers that have them.
func Laws(answers []Answer) []*mixture.Dirichlet {
	list := make([]*mixture.Dirichlet, len(answers))
	for j := range answers {
		list[j] = answers[j].Law
	}
	return list
}
