package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"credence/dataset"
	"credence/head"
	"credence/internal/special"
	"credence/mixture"
)

// Input is a set of predictions with the data on their items: N items of d
// classes. Predictions and Votes are required, the rest may be nil.
type Input struct {
	// Predictions are the predictions, [N]. If they have no distribution, the metrics that
	// require one are unknown.
	Predictions []head.Decoded
	Votes       Votes    // [N × d]
	Classes     []string // names, [d]; "0", "1", … if nil
	// Groups, [N], are resampled as a whole by the bootstrap; nil makes every item
	// its own group.
	Groups []string
	// RaterModel holds the raters' parameters, nil if raters are not modelled. Ratings, [N], are then the
	// votes on each item by rater, numbered as in RaterModel: votes are scored by the parameters of their raters.
	RaterModel *head.RaterModel
	Ratings    [][]head.Rating
	// References are the losses of the references on the same items.
	References *ReferenceScores
	// Columns are those by whose levels dispersion is reported, in addition to the predicted spread.
	Columns []Column
	// Truth are the true probabilities, known in simulations, [N × d]. A
	// probability close to one is taken as one minus the sum of the others.
	Truth []float64
}

// NewInput returns an input with the data of ds: votes, classes, groups and, if
// known, true probabilities. The caller sets the predictions.
func NewInput(ds *dataset.Dataset) *Input {
	in := &Input{Votes: NewVotes(ds), Classes: ds.Classes, Groups: ds.Groups}
	if ds.Truth != nil {
		// A file may be rounded to three digits, but coverage requires exact sums.
		in.Truth = float64s(ds.Truth)
		for row := range slices.Chunk(in.Truth, len(ds.Classes)) {
			special.Normalize(row)
		}
	}
	return in
}

// dists returns the distributions of the predictions, nil if they have none, and an error if predictions
// and votes do not match.
func (in *Input) dists() ([]*mixture.Dirichlet, error) {
	var list []*mixture.Dirichlet
	for j := range in.Predictions {
		if dist := in.Predictions[j].ReportedDist(); dist != nil {
			list = append(list, dist)
		}
	}
	switch {
	case list == nil && len(in.Predictions) > 0:
		return nil, in.checkMeans()
	case len(list) != len(in.Predictions):
		return nil, fmt.Errorf("%d of %d answers have a distribution: expected all or none", len(list), len(in.Predictions))
	}
	if err := in.Votes.check(); err != nil {
		return nil, err
	}
	if len(list) != in.Votes.Len() {
		return nil, fmt.Errorf("%d mixtures, but votes on %d items", len(list), in.Votes.Len())
	}
	for j, m := range list {
		if m.Classes() != in.Votes.Classes {
			return nil, fmt.Errorf("item %d: a mixture of %d classes, but votes on %d", j, m.Classes(), in.Votes.Classes)
		}
	}
	return list, nil
}

// checkMeans returns an error if means are not probabilities, or if the input
// has data that can only be compared with distributions.
func (in *Input) checkMeans() error {
	if err := in.Votes.check(); err != nil {
		return err
	}
	d := in.Votes.Classes
	switch {
	case in.Truth != nil:
		return errors.New("coverage of true probabilities needs distributions, but only means are given")
	case len(in.Predictions) != in.Votes.Len():
		return fmt.Errorf("%d answers, but votes on %d items", len(in.Predictions), in.Votes.Len())
	}
	for j := range in.Predictions {
		p := in.Predictions[j].Mean
		if len(p) != d {
			return fmt.Errorf("item %d: %d probabilities for %d classes", j, len(p), d)
		}
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

// Votes holds the votes on N items: row j of Counts, [N × Classes] in row-major
// order, has the number of votes on item j for each class. Rows of zeros are
// items without votes.
type Votes struct {
	Classes int
	Counts  []float64
}

// NewVotes returns the votes of ds.
func NewVotes(ds *dataset.Dataset) Votes {
	return Votes{Classes: len(ds.Classes), Counts: float64s(ds.Counts)}
}

// Len returns the number of items, N.
func (v Votes) Len() int {
	if v.Classes <= 0 {
		return 0
	}
	return len(v.Counts) / v.Classes
}

// Item returns the counts of item j, a slice of Counts.
func (v Votes) Item(j int) []float64 {
	return v.Counts[j*v.Classes : (j+1)*v.Classes : (j+1)*v.Classes]
}

// Total returns the number of votes on item j.
func (v Votes) Total(j int) float64 { return sum(v.Item(j)) }

// check returns an error unless v is a matrix of counts of two or more classes.
func (v Votes) check() error {
	if v.Classes < 2 {
		return fmt.Errorf("votes on %d classes: there are at least two", v.Classes)
	}
	if len(v.Counts)%v.Classes != 0 {
		return fmt.Errorf("%d counts are no rows of %d classes", len(v.Counts), v.Classes)
	}
	for k, c := range v.Counts {
		if !(c >= 0) || math.IsInf(c, 1) {
			return fmt.Errorf("item %d has %v votes for class %d: counts are finite and not negative",
				k/v.Classes, c, k%v.Classes)
		}
	}
	return nil
}

// whole reports whether all counts of s are whole numbers.
func whole(s []float64) bool {
	return !slices.ContainsFunc(s, func(c float64) bool { return c != math.Floor(c) })
}

// float64s converts values to float64.
func float64s(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

func sum(s []float64) float64 {
	t := 0.0
	for _, x := range s {
		t += x
	}
	return t
}

// argmax returns the index of the largest number, the first of equals.
func argmax(s []float64) int { return slices.Index(s, slices.Max(s)) }

// sample is a set of predictions with their votes, and the quantities that metrics
// share. n items, d classes.
type sample struct {
	ctx         context.Context // canceled if the result is no longer needed
	n, d        int
	predictions []head.Decoded
	mixtures    []*mixture.Dirichlet // of the predictions, nil if they have none
	votes       Votes
	names       []string  // [d]
	total       []float64 // [n] votes of each item
	mean        []float64 // [n × d]
	variance    []float64 // [n × d]
	top         []int     // [n] predicted class
	unit        []int     // [n] unit of resampling
	raterModel  *head.RaterModel
	ratings     [][]head.Rating // [n] if there is a rater model
	units       int
}

func newSample(ctx context.Context, in *Input) (*sample, error) {
	votes, names := in.Votes, in.Classes
	mixtures, err := in.dists()
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
		ctx: ctx, n: n, d: d, predictions: in.Predictions, mixtures: mixtures, votes: votes, names: names,
		total: make([]float64, n), top: make([]int, n),
		mean: make([]float64, n*d), variance: make([]float64, n*d),
	}
	if in.RaterModel != nil && mixtures != nil {
		if len(in.Ratings) != n {
			return nil, fmt.Errorf("ratings of %d items, but votes on %d", len(in.Ratings), n)
		}
		s.raterModel, s.ratings = in.RaterModel, in.Ratings
	}
	if s.unit, s.units, err = unitsOf(n, in.Groups); err != nil {
		return nil, err
	}
	for j := range in.Predictions {
		a := &in.Predictions[j]
		copy(s.means(j), a.Mean)
		if a.Dist != nil {
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

// equalMass divides items by value into at most bins bins of about equal mass,
// and returns the bin of every item and the number of bins. Equal values share
// a bin, so the result does not depend on the order of items; items without
// mass get the bin of their value or, if there is none, −1.
func equalMass(values, mass []float64, bins int) (of []int, n int) {
	of = make([]int, len(values))
	order := ascending(values)
	total := sum(mass)
	before, last := 0.0, -1
	n = 0
	for i := 0; i < len(order); {
		k := i
		tied := 0.0
		for ; k < len(order) && values[order[k]] == values[order[i]]; k++ {
			tied += mass[order[k]]
		}
		// The bin is that of the middle of the tied mass.
		if tied > 0 {
			b := min(int((before+tied/2)/total*float64(bins)), bins-1)
			if b != last {
				last = b
				n++
			}
		}
		before += tied
		for ; i < k; i++ {
			of[order[i]] = n - 1
		}
	}
	return of, n
}

// ascending returns the indexes of values in increasing order; the sort is stable.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}
