package serve

import (
	"context"

	"credence/mixture"
	"credence/predict"
)

// numbers summarize an item in lists, [d] each.
type numbers struct {
	mean, lower, upper, top []float64
	gain, variance          float64
	predicted               int
}

// numbersOf summarizes a prediction, to the precision of credence predict.
func numbersOf(p *predict.Prediction, level float64) *numbers {
	r, _ := summaryOf(context.Background(), p, level) // which cannot fail
	d := len(p.Mean)
	all := make([]float64, 4*d)
	n := &numbers{mean: all[:d:d], lower: all[d : 2*d : 2*d], upper: all[2*d : 3*d : 3*d], top: all[3*d:],
		predicted: r.Predicted, gain: r.NextGain, variance: totalVariance(p)}
	for i, c := range r.Classes {
		in := c.Intervals[0].TwoSided
		n.mean[i], n.lower[i], n.upper[i], n.top[i] = c.Mean, in.Lo, in.Hi, c.Top
	}
	return n
}

// summaryOf returns all numbers of a prediction at one level.
func summaryOf(ctx context.Context, p *predict.Prediction, level float64) (predict.Row, error) {
	s := predict.Summary{Levels: []float64{level}, Precision: mixture.SixDigits}.All()
	return p.Summarize(ctx, &s)
}

// totalVariance returns the sum of the variances of the classes.
func totalVariance(p *predict.Prediction) float64 {
	sum := 0.0
	for _, v := range p.Variance {
		sum += v
	}
	return sum
}
