package evaluate

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"credence/mixture"
)

// sample is a set of predictions with their votes, and what all metrics need of
// them. n items, d classes.
type sample struct {
	n, d     int
	mixtures []*mixture.Dirichlet
	votes    Votes
	names    []string  // [d]
	total    []float64 // [n] votes of each item
	mean     []float64 // [n × d]
	variance []float64 // [n × d]
	top      []int     // [n] predicted class
	unit     []int     // [n] unit of resampling
	units    int
}

func newSample(in *Input) (*sample, error) {
	mixtures, votes, names := in.Mixtures, in.Votes, in.Classes
	if in.Means != nil {
		if err := in.checkMeans(); err != nil {
			return nil, err
		}
	} else if err := checkMixtures(mixtures, votes); err != nil {
		return nil, err
	}
	n, d := votes.Len(), votes.Classes
	if names == nil {
		for i := range d {
			names = append(names, strconv.Itoa(i))
		}
	}
	if len(names) != d {
		return nil, fmt.Errorf("%d class names for %d classes", len(names), d)
	}
	s := &sample{
		n: n, d: d, mixtures: mixtures, votes: votes, names: names,
		total: make([]float64, n), top: make([]int, n),
		mean: make([]float64, n*d), variance: make([]float64, n*d),
	}
	var err error
	if s.unit, s.units, err = unitsOf(n, in.Groups); err != nil {
		return nil, err
	}
	if in.Means != nil {
		copy(s.mean, in.Means)
		for j := range n {
			s.top[j], s.total[j] = argmax(s.means(j)), votes.Total(j)
		}
		return s, nil
	}
	forItems(n, func(j int) {
		row := j * d
		m := mixtures[j].Mean(s.mean[row:row])
		mixtures[j].Variance(s.variance[row:row])
		s.top[j] = argmax(m)
		s.total[j] = votes.Total(j)
	})
	return s, nil
}

// checkMeans refuses means that are no probabilities, and what only
// distributions can be judged by.
func (in *Input) checkMeans() error {
	if err := in.Votes.check(); err != nil {
		return err
	}
	d := in.Votes.Classes
	switch {
	case in.Mixtures != nil:
		return errors.New("both mixtures and means are given")
	case in.Truth != nil:
		return errors.New("coverage of true probabilities needs distributions, but only means are given")
	case in.Resolution != nil:
		return errors.New("the resolution rule is for intervals, but only means are given")
	case len(in.Means) != in.Votes.Len()*d:
		return fmt.Errorf("%d means, but votes on %d items of %d classes", len(in.Means), in.Votes.Len(), d)
	}
	for j := range in.Votes.Len() {
		p := in.Means[j*d : (j+1)*d]
		for i, x := range p {
			if !(x >= 0 && x <= 1) {
				return fmt.Errorf("item %d: class %d has probability %v", j, i, x)
			}
		}
		if total := sum(p); math.Abs(total-1) > 1e-6 {
			return fmt.Errorf("item %d: probabilities sum to %v", j, total)
		}
	}
	return nil
}

// means returns the mean probabilities of item j.
func (s *sample) means(j int) []float64 { return s.mean[j*s.d : (j+1)*s.d] }

// variances returns the variances of the probabilities of item j.
func (s *sample) variances(j int) []float64 { return s.variance[j*s.d : (j+1)*s.d] }
