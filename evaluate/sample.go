package evaluate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"credence/head"
	"credence/mixture"
)

// sample is a set of predictions with their votes, and what all metrics need of
// them. n items, d classes.
type sample struct {
	ctx      context.Context // canceled if the result is not wanted any more
	n, d     int
	answers  []head.Answer
	mixtures []*mixture.Dirichlet // of the answers, nil if they have none
	votes    Votes
	names    []string  // [d]
	total    []float64 // [n] votes of each item
	mean     []float64 // [n × d]
	variance []float64 // [n × d]
	top      []int     // [n] predicted class
	unit     []int     // [n] unit of resampling
	crowd    *head.Crowd
	ratings  [][]head.Rating // [n] where there is a crowd
	units    int
}

func newSample(ctx context.Context, in *Input) (*sample, error) {
	votes, names := in.Votes, in.Classes
	mixtures, err := in.laws()
	if err != nil {
		return nil, err
	}
	n, d := votes.Len(), votes.Classes
	if n == 0 {
		return nil, errors.New("no items to evaluate")
	}
	if names == nil {
		for i := range d {
			names = append(names, strconv.Itoa(i))
		}
	}
	if len(names) != d {
		return nil, fmt.Errorf("%d class names for %d classes", len(names), d)
	}
	s := &sample{
		ctx: ctx, n: n, d: d, answers: in.Answers, mixtures: mixtures, votes: votes, names: names,
		total: make([]float64, n), top: make([]int, n),
		mean: make([]float64, n*d), variance: make([]float64, n*d),
	}
	if in.Crowd != nil && mixtures != nil {
		if len(in.Ratings) != n {
			return nil, fmt.Errorf("ratings of %d items, but votes on %d", len(in.Ratings), n)
		}
		s.crowd, s.ratings = in.Crowd, in.Ratings
	}
	if s.unit, s.units, err = unitsOf(n, in.Groups); err != nil {
		return nil, err
	}
	for j := range in.Answers {
		a := &in.Answers[j]
		copy(s.means(j), a.Mean)
		if a.Law != nil {
			copy(s.variances(j), a.Variance)
		}
		s.top[j], s.total[j] = a.Top(), votes.Total(j)
	}
	return s, nil
}

// means returns the mean probabilities of item j.
func (s *sample) means(j int) []float64 { return s.mean[j*s.d : (j+1)*s.d] }

// variances returns the variances of the probabilities of item j.
func (s *sample) variances(j int) []float64 { return s.variance[j*s.d : (j+1)*s.d] }
