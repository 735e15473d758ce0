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
	"credence/internal/words"
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
	// Scale, [d], has the values of the classes on their scale, increasing; nil if they have none. Ordered means that
	// the classes are the points of a scale.
	Scale   []float64
	Ordered bool
	// Groups, [N], are resampled as a whole by the bootstrap; nil makes every item
	// its own group.
	Groups []string
	// RaterModel holds the raters' parameters, nil if raters are not modelled. Ratings, [N], are then the
	// votes on each item by rater, numbered as in RaterModel: votes are scored by the parameters of their raters.
	RaterModel *head.RaterModel
	Ratings    [][]head.Rating
	RaterNames []string // of RaterModel
	// References are the losses of the references on the same items.
	References *ReferenceScores
	// Columns are those by whose levels dispersion is reported, in addition to the predicted spread, and the scores of
	// decisions.
	Columns []Column
	// Gold, [N], are the classes that a reference standard gives for the items, −1 for none.
	Gold []int
	// Rivals are compared with the predictions if scores of decisions are requested.
	Rivals []Rival
	// Features and Rows, [N], are the features of the items: dispersion is reported on both sides of the
	// median of each numeric one.
	Features []dataset.Feature
	Rows     dataset.Rows
	// Truth are the true probabilities, known in simulations, [N × d]. A
	// probability close to one is taken as one minus the sum of the others.
	Truth []float64
}

// NewInput returns an input with the data of ds: votes, classes, groups, features and, if
// known, true probabilities. The caller sets the predictions.
func NewInput(ds *dataset.Dataset) *Input {
	in := &Input{Votes: NewVotes(ds), Classes: ds.Classes, Groups: ds.Groups, Features: ds.Features, Rows: ds.Rows}
	if ds.Truth != nil {
		// A file may be rounded to three digits, but coverage requires exact sums.
		in.Truth = float64s(ds.Truth)
		for row := range slices.Chunk(in.Truth, len(ds.Classes)) {
			special.Normalize(row)
		}
	}
	return in
}

// dists returns the distributions of the predictions, nil if they have none. It returns an error if the
// means or true probabilities are invalid, if predictions and votes do not match, or if the input has data
// that can only be compared with distributions.
func (in *Input) dists() ([]*mixture.Dirichlet, error) {
	if err := in.Votes.check(); err != nil {
		return nil, err
	}
	n, d := in.Votes.Len(), in.Votes.Classes
	if len(in.Predictions) != n {
		return nil, fmt.Errorf("expected predictions for %s, found %d", words.Plural(n, "item"), len(in.Predictions))
	}
	if in.Truth != nil && len(in.Truth) != n*d {
		return nil, fmt.Errorf("expected %d true probabilities of %s and %d classes, found %d",
			n*d, words.Plural(n, "item"), d, len(in.Truth))
	}
	var list []*mixture.Dirichlet
	for j := range in.Predictions {
		if err := checkProbabilities(in.Predictions[j].Mean, d); err != nil {
			return nil, fmt.Errorf("item %d: %w", j, err)
		}
		if in.Truth != nil {
			if err := checkProbabilities(in.Truth[j*d:(j+1)*d], d); err != nil {
				return nil, fmt.Errorf("true probabilities of item %d: %w", j, err)
			}
		}
		if dist := in.Predictions[j].ReportedDist(); dist != nil {
			list = append(list, dist)
		}
	}
	switch {
	case list == nil && in.Truth != nil:
		return nil, errors.New("coverage of true probabilities requires distributions: found means only")
	case list != nil && len(list) < n:
		return nil, fmt.Errorf("expected distributions for all predictions or none, found %d of %d", len(list), n)
	}
	return list, nil
}

// checkProbabilities returns an error unless p has a probability for each of d classes, and their sum is 1.
func checkProbabilities(p []float64, d int) error {
	if len(p) != d {
		return fmt.Errorf("expected %d probabilities, found %d", d, len(p))
	}
	for i, x := range p {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("class %d: expected a probability between 0 and 1, found %v", i, x)
		}
	}
	if total := sum(p); math.Abs(total-1) > 1e-6 {
		return fmt.Errorf("expected probabilities that sum to 1, found a sum of %v", total)
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
		return fmt.Errorf("expected votes on at least two classes, found %d", v.Classes)
	}
	if len(v.Counts)%v.Classes != 0 {
		return fmt.Errorf("expected counts of %d classes per item, found %d counts", v.Classes, len(v.Counts))
	}
	for k, c := range v.Counts {
		if !(c >= 0) || math.IsInf(c, 1) {
			return fmt.Errorf("item %d, class %d: expected a finite number of votes that is not negative, found %v",
				k/v.Classes, k%v.Classes, c)
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

// sum returns Σ s, added in order.
func sum(s []float64) float64 { return special.Sum(s) }

// argmax returns the index of the largest number, the first of equals.
func argmax(s []float64) int { return slices.Index(s, slices.Max(s)) }

// sample is a set of predictions with their votes, and the quantities that metrics
// share. n items, d classes.
type sample struct {
	Input
	ctx      context.Context // canceled if the result is no longer needed
	n, d     int
	mixtures []*mixture.Dirichlet // of the predictions, nil if they have none
	total    []float64            // [n] votes of each item
	variance []float64            // [n × d]
	top      []int                // [n] predicted class
	unit     []int                // [n] unit of resampling
	units    int
}

// newSample checks the input and fills in the names of classes.
func newSample(ctx context.Context, in Input) (*sample, error) {
	mixtures, err := in.dists()
	if err != nil {
		return nil, err
	}
	n, d := in.Votes.Len(), in.Votes.Classes
	if in.Classes == nil {
		for i := range d {
			in.Classes = append(in.Classes, strconv.Itoa(i))
		}
	}
	if mixtures == nil {
		in.RaterModel = nil
	}
	switch {
	case n == 0:
		return nil, errors.New("no items to evaluate")
	case len(in.Classes) != d:
		return nil, fmt.Errorf("expected names of %d classes, found %d", d, len(in.Classes))
	case in.RaterModel != nil && len(in.Ratings) != n:
		return nil, fmt.Errorf("expected ratings of %d items, found %d", n, len(in.Ratings))
	}
	s := &sample{Input: in, ctx: ctx, n: n, d: d, mixtures: mixtures,
		total: make([]float64, n), top: make([]int, n), variance: make([]float64, n*d)}
	if s.unit, s.units, err = unitsOf(n, in.Groups); err != nil {
		return nil, err
	}
	for j := range in.Predictions {
		a := &in.Predictions[j]
		if a.Dist != nil {
			copy(s.variances(j), a.Variance)
		}
		s.top[j], s.total[j] = a.Top(), in.Votes.Total(j)
	}
	return s, nil
}

// anyVotes is the least number of votes on an item that has any: counts may be fractions.
const anyVotes = math.SmallestNonzeroFloat64

// itemsWith returns the items with at least the given number of votes.
func (s *sample) itemsWith(votes float64) []int {
	var items []int
	for j, m := range s.total {
		if m >= votes {
			items = append(items, j)
		}
	}
	return items
}

// means returns the mean probabilities of item j.
func (s *sample) means(j int) []float64 { return s.Predictions[j].Mean }

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
	for i := 0; i < len(order); {
		k, tied := i, 0.0
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
