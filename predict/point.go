package predict

import (
	"fmt"
	"math"
	"slices"

	"credence/internal/words"
	"credence/mixture"
	"credence/model"
	"credence/record"
)

// Point selects the functional of a distribution that is optimal for a score.
type Point struct {
	Score mixture.Score // 0 for none
	// Votes is the number of votes whose shares the point is compared with; 0 means the probabilities themselves.
	Votes int
	// Of, if not nil, returns the number of votes of an item in place of Votes.
	Of func(item string) int
}

// NewPoint returns the point of a named score for the items of a model. With negative votes their number is
// [VotesPerItem] of the model.
func NewPoint(m *model.Model, score string, votes int) (Point, error) {
	s, err := mixture.ParseScore(score)
	if err != nil {
		return Point{}, err
	}
	if _, ok := Scale(m); s.Ordered() && !ok && len(m.Classes) > 2 {
		return Point{}, fmt.Errorf("%s: expected classes in order, numbers or a scale set by --ordered in training, found [%s]", score, words.Few(m.Classes))
	}
	if votes < 0 {
		votes = VotesPerItem(m)
	}
	if votes > mixture.MostVotesExpected {
		return Point{}, fmt.Errorf("expected at most %s votes per item, or 0 for the probabilities themselves, found %s",
			words.Thousands(mixture.MostVotesExpected), words.Thousands(votes))
	}
	return Point{Score: s, Votes: votes}, nil
}

// of returns the point of a prediction.
func (x *Point) of(p *Prediction) []float64 {
	votes := x.Votes
	if x.Of != nil {
		votes = x.Of(p.Item)
	}
	return p.ReportedDist().Point(nil, x.Score, votes)
}

// VotesPerItem returns the rounded mean number of votes on the items of training, 0 if it is unknown.
func VotesPerItem(m *model.Model) int {
	s := &m.Provenance.Split
	if s.Items <= s.Unvoted {
		return 0
	}
	return min(max(int(math.Round(s.Votes/float64(s.Items-s.Unvoted))), 1), mixture.MostVotesExpected)
}

// Scale returns the values of the classes on their scale, and whether they have one: numbers in increasing order,
// whether the model was trained with them as ordered or not, or 1 … d for other ordered classes.
func Scale(m *model.Model) (values []float64, ok bool) {
	ok = true
	for _, c := range m.Classes {
		x, number := record.ParseNumber(c, false)
		values, ok = append(values, x), ok && number && !math.IsInf(x, 0)
	}
	if ok && slices.IsSorted(values) {
		return values, true
	}
	for i := range values {
		values[i] = float64(i + 1)
	}
	return values, m.Ordered
}

// meanInterval is a mean with its intervals, one for each level.
type meanInterval struct {
	mean      float64
	intervals []mixture.Interval
}

// scale computes the expected score and the probabilities of each class or a higher one, with intervals.
func (r *Row) scale() {
	dist, values := r.ReportedDist(), r.summary.scale
	of := func(b *mixture.Beta, at func(share float64) float64) meanInterval {
		x, reported := meanInterval{mean: at(b.Mean())}, b.Reported(r.reported.Resolution)
		for _, level := range r.summary.Levels {
			in := reported.Interval(mixture.TwoSided, level)
			x.intervals = append(x.intervals, mixture.Interval{Lo: at(in.Lo), Hi: at(in.Hi)})
		}
		return x
	}
	score := dist.NewScaleScore(values)
	r.score = of(score.Share, score.At)
	same := func(share float64) float64 { return share }
	first := meanInterval{1, nil}
	for range r.summary.Levels {
		first.intervals = append(first.intervals, mixture.Interval{Lo: 1, Hi: 1})
	}
	r.tails = append(r.tails[:0], first)
	for k := range len(values) - 1 {
		r.tails = append(r.tails, of(dist.Cumulative(k).Reflect(), same))
	}
}
