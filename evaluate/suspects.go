package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/internal/special"
)

// Suspect is a vote that is improbable given the distribution of its item, the other votes on it and its rater:
// perhaps a slip, a wrong item, or a case worth a second look.
type Suspect struct {
	Item  string `json:"item"`
	Rater string `json:"rater,omitempty"` // empty if it is unknown
	Vote  string `json:"vote"`
	// Probability is that of the vote, given all other votes on the item. Equal votes without a rater are one entry.
	Probability float64 `json:"probability"`
	// Likely is the most probable class of this vote, with its probability.
	Likely            string  `json:"likely"`
	LikelyProbability float64 `json:"likely_probability"`
	Others            float64 `json:"others"` // other votes on the item
}

// SuspectReport lists the most improbable votes, the most improbable first.
type SuspectReport struct {
	Votes    float64   `json:"votes"` // all votes examined
	Suspects []Suspect `json:"suspects"`
	// Pseudonymous reports whether names have been replaced by pseudonyms.
	Pseudonymous bool `json:"pseudonymous,omitempty"`
}

// ErrNoDistributions means that predictions are means only.
var ErrNoDistributions = errors.New("expected predictions with distributions, found means only")

// Suspects returns the most improbable votes on the items of ds, which in was made from, at most the given number.
// A flipped vote is the likelier the less probable it is given the others, whatever the share of flipped votes, so
// this order finds most of them.
func Suspects(ctx context.Context, in *Input, ds *dataset.Dataset, most int) (*SuspectReport, error) {
	s, err := newSample(ctx, *in)
	if err != nil {
		return nil, err
	}
	if s.mixtures == nil {
		return nil, ErrNoDistributions
	}
	names := make([][]dataset.Rating, s.n)
	for _, r := range ds.Ratings {
		names[r.Item] = append(names[r.Item], r)
	}
	lists := make([][]Suspect, s.n)
	err = tryItems(ctx, s.n, func(j int) (err error) {
		if s.RaterModel != nil {
			lists[j], err = s.suspectsByRater(j)
		} else {
			lists[j], err = s.suspectVotes(j, names[j])
		}
		for i := range lists[j] {
			x := &lists[j][i]
			x.Item = ds.Items[j]
			if i < len(names[j]) { // named votes are first, in their order
				x.Rater = ds.Raters[names[j][i].Rater]
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &SuspectReport{Votes: sum(s.total), Suspects: slices.Concat(lists...)}
	slices.SortStableFunc(r.Suspects, func(a, b Suspect) int { return cmp.Compare(a.Probability, b.Probability) })
	r.Suspects = slices.Clip(r.Suspects[:min(most, len(r.Suspects))])
	return r, nil
}

// suspectVotes returns the votes on item j, the named ones first. Without a rater model, all raters are alike, and the
// probability of a vote is the mean of the distribution updated by the others.
func (s *sample) suspectVotes(j int, named []dataset.Rating) ([]Suspect, error) {
	votes := slices.Clone(s.Votes.Item(j))
	after := make([]Suspect, s.d) // for a vote for each class
	for c, n := range votes {
		if n == 0 {
			continue
		}
		step := min(n, 1)
		votes[c] -= step
		dist, err := s.mixtures[j].Update(votes)
		votes[c] += step
		if err != nil {
			return nil, err
		}
		after[c] = s.suspect(dist.Mean(nil), c, s.total[j]-step)
	}
	var list []Suspect
	for _, r := range named {
		if votes[r.Class] <= 0 {
			return nil, fmt.Errorf("rater %d voted for class %d, for which no vote was counted", r.Rater, r.Class)
		}
		list = append(list, after[r.Class])
	}
	for _, r := range named {
		votes[r.Class]--
	}
	for c, n := range votes {
		if n > 0 {
			list = append(list, after[c])
		}
	}
	return list, nil
}

// suspectsByRater returns the votes on item j, whose raters have parameters.
func (s *sample) suspectsByRater(j int) ([]Suspect, error) {
	ratings := s.Ratings[j]
	list := make([]Suspect, len(ratings))
	dist := s.Predictions[j].Dist
	for i, r := range ratings {
		others := slices.Delete(slices.Clone(ratings), i, i+1)
		before, err := s.RaterModel.LogVotes(dist, others)
		if err != nil {
			return nil, err
		}
		p := make([]float64, s.d)
		for c := range p {
			l, err := s.RaterModel.LogVotes(dist, append(others, head.Rating{Item: r.Item, Rater: r.Rater, Class: int32(c)}))
			if err != nil {
				return nil, err
			}
			p[c] = math.Exp(l - before)
		}
		special.Normalize(p)
		list[i] = s.suspect(p, int(r.Class), float64(len(others)))
	}
	return list, nil
}

// suspect describes a vote for class c, given the probabilities of the vote.
func (s *sample) suspect(p []float64, c int, others float64) Suspect {
	top := argmax(p)
	return Suspect{Vote: s.Classes[c], Probability: p[c], Likely: s.Classes[top], LikelyProbability: p[top], Others: others}
}

// UsePseudonyms replaces the names of raters as [RaterReport.UsePseudonyms] does.
func (r *SuspectReport) UsePseudonyms(seed uint64) {
	var names []string
	for _, x := range r.Suspects {
		if x.Rater != "" {
			names = append(names, x.Rater)
		}
	}
	codes := Pseudonyms(names, seed)
	i := 0
	for j := range r.Suspects {
		if r.Suspects[j].Rater != "" {
			r.Suspects[j].Rater = codes[i]
			i++
		}
	}
	r.Pseudonymous = i > 0
}
