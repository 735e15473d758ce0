package evaluate

import (
	"errors"
	"fmt"
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
	if n == 0 {
		return nil, errors.New("no items to evaluate")
	}
	if in.Resolution != nil {
		if err := in.Resolution.Check(d); err != nil {
			return nil, err
		}
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

// means returns the mean probabilities of item j.
func (s *sample) means(j int) []float64 { return s.mean[j*s.d : (j+1)*s.d] }

// variances returns the variances of the probabilities of item j.
func (s *sample) variances(j int) []float64 { return s.variance[j*s.d : (j+1)*s.d] }
