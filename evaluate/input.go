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

// Input is a set of predictions and what is known about the items: N items of d
// classes. Answers and Votes are needed, the rest may be left nil.
type Input struct {
	// Predictions [N] are the predictions. Where they have no law, what judges a distribution is
	// unknown.
	Predictions []head.Decoded
	Votes       Votes    // [N × d]
	Classes     []string // names, [d]; "0", "1", … if nil
	// Groups are drawn as wholes by the bootstrap, [N]; nil makes every item its
	// own group.
	Groups []string
	// RaterModel is what the model knows of raters, nil if nothing, and Ratings [N] who cast which votes on
	// an item, in the crowd's numbers: votes are then judged by the chances of those who cast them.
	RaterModel *head.RaterModel
	Ratings    [][]head.Rating
	// References are the losses of the references on the same items.
	References *ReferenceScores
	// Columns are those whose levels are judged apart, besides the predicted spread.
	Columns []Column
	// Truth are the true probabilities, known in simulations, [N × d]. A
	// probability close to one is taken to be one less the sum of the others.
	Truth []float64
}

// NewInput returns all that ds says of its items: votes, classes, groups and,
// where they are known, true probabilities. The predictions are still to be set.
func NewInput(ds *dataset.Dataset) *Input {
	in := &Input{Votes: NewVotes(ds), Classes: ds.Classes, Groups: ds.Groups}
	if ds.Truth != nil {
		// A file may be rounded to three digits; the judgment is finer.
		in.Truth = float64s(ds.Truth)
		for row := range slices.Chunk(in.Truth, len(ds.Classes)) {
			special.Normalize(row)
		}
	}
	return in
}

// dists returns the distributions of the answers, nil if they have none, and refuses answers that do
// not fit the votes.
func (in *Input) dists() ([]*mixture.Dirichlet, error) {
	var list []*mixture.Dirichlet
	for j := range in.Predictions {
		if law := in.Predictions[j].ReportedDist(); law != nil {
			list = append(list, law)
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

// checkMeans refuses means that are no probabilities, and what only
// distributions can be judged by.
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
// order, is how many votes item j received for each class. Rows of zeros are
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

// float64s widens values.
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

// argmax returns the place of the largest number, the first of equals.
func argmax(s []float64) int { return slices.Index(s, slices.Max(s)) }

// sample is a set of predictions with their votes, and what all metrics need of
// them. n items, d classes.
type sample struct {
	ctx      context.Context // canceled if the result is not wanted any more
	n, d     int
	answers  []head.Decoded
	mixtures []*mixture.Dirichlet // of the answers, nil if they have none
	votes    Votes
	names    []string  // [d]
	total    []float64 // [n] votes of each item
	mean     []float64 // [n × d]
	variance []float64 // [n × d]
	top      []int     // [n] predicted class
	unit     []int     // [n] unit of resampling
	crowd    *head.RaterModel
	ratings  [][]head.Rating // [n] where there is a crowd
	units    int
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
		ctx: ctx, n: n, d: d, answers: in.Predictions, mixtures: mixtures, votes: votes, names: names,
		total: make([]float64, n), top: make([]int, n),
		mean: make([]float64, n*d), variance: make([]float64, n*d),
	}
	if in.RaterModel != nil && mixtures != nil {
		if len(in.Ratings) != n {
			return nil, fmt.Errorf("ratings of %d items, but votes on %d", len(in.Ratings), n)
		}
		s.crowd, s.ratings = in.RaterModel, in.Ratings
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

// equalMass sorts items into at most bins bins of about equal mass by a value,
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

// ascending returns the places of values in increasing order, equals in theirs.
func ascending(values []float64) []int {
	order := make([]int, len(values))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order
}
