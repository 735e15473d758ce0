package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/internal/special"
	"credence/internal/words"
	"credence/model"
)

// Votes are the votes of a data set, matched by name with the classes and raters of a model.
type Votes struct {
	m       *model.Model
	ds      *dataset.Dataset
	at      map[string]int // item → its index in ds
	classes []int          // the model's class of each class of ds, −1 if it has none

	ratings [][]head.Rating // with a rater model, the ratings of each item, by the model's rater numbers
	unknown []string        // raters that are not in the model
}

// MatchVotes finds the model's classes and raters in ds by their names. A vote for a class that the model does not have is
// an error; an unknown rater counts as an average one.
func MatchVotes(m *model.Model, ds *dataset.Dataset) (*Votes, error) {
	v := &Votes{m: m, ds: ds, at: places(ds.Items), classes: placesIn(m.Classes, ds.Classes)}
	for j := range ds.Len() {
		for i, s := range ds.CountsOf(j) {
			if s > 0 && v.classes[i] < 0 {
				return nil, fmt.Errorf("item %q: expected votes for the model's classes %q, found %q", ds.Items[j], m.Classes, ds.Classes[i])
			}
		}
	}
	if m.RaterModel != nil {
		v.matchRaters()
	}
	return v, nil
}

// places returns the index of each name.
func places(names []string) map[string]int {
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	return at
}

// placesIn returns the index of each name in a list, −1 for names that are not in it.
func placesIn(list, names []string) []int {
	known, at := places(list), make([]int, len(names))
	for i, name := range names {
		at[i] = -1
		if k, ok := known[name]; ok {
			at[i] = k
		}
	}
	return at
}

// matchRaters groups the ratings by item, with the model's numbers of raters and classes.
func (v *Votes) matchRaters() {
	raters := placesIn(v.m.Raters, v.ds.Raters)
	for r, k := range raters {
		if k < 0 {
			v.unknown = append(v.unknown, v.ds.Raters[r])
		}
	}
	v.ratings = make([][]head.Rating, v.ds.Len())
	for _, r := range v.ds.Ratings {
		v.ratings[r.Item] = append(v.ratings[r.Item],
			head.Rating{Item: r.Item, Rater: int32(raters[r.Rater]), Class: int32(v.classes[r.Class])})
	}
}

// UnknownRaters is the warning that votes count as those of average raters, in a model that has a rater model.
type UnknownRaters struct {
	Names  []string // raters that are not in the model
	Raters int      // number of raters that cast votes; 0 if the votes name none
}

// Error implements error.
func (w *UnknownRaters) Error() string {
	if w.Raters == 0 {
		return "the votes name no raters: each counts as one of an average rater"
	}
	return fmt.Sprintf("%s of %s [%s] unknown to the model: their votes count as cast by average raters",
		words.Thousands(len(w.Names)), words.Plural(w.Raters, "rater"), words.Few(w.Names))
}

// Warnings returns warnings about the votes.
func (v *Votes) Warnings() []error {
	var list []error
	if v.m.RaterModel != nil && (len(v.ds.Raters) == 0 || len(v.unknown) > 0) {
		list = append(list, &UnknownRaters{v.unknown, len(v.ds.Raters)})
	}
	for _, w := range v.ds.Warnings {
		if !errors.Is(w, dataset.ErrOneVote) {
			list = append(list, w)
		}
	}
	return list
}

// index returns the index of an item among those with votes, and whether it has any. v may be nil.
func (v *Votes) index(item string) (j int, ok bool) {
	if v == nil {
		return 0, false
	}
	j, ok = v.at[item]
	return j, ok
}

// Cast returns the number of votes on an item.
func (v *Votes) Cast(item string) float64 {
	if j, ok := v.index(item); ok {
		return v.ds.VotesOf(j)
	}
	return 0
}

// Items returns the ids of the items with votes.
func (v *Votes) Items() []string { return v.ds.Items }

// Judges returns the data set of the votes if it has those of judges, as [dataset.StreamOptions] takes them; else nil. v may be nil.
func (v *Votes) Judges() *dataset.Dataset {
	if v == nil || v.ds.Rows == nil {
		return nil
	}
	return v.ds
}

// By reports whether a rater, by the model's number, voted on an item.
func (v *Votes) By(rater int, item string) bool {
	j, ok := v.index(item)
	return ok && slices.ContainsFunc(v.named(j), func(r head.Rating) bool { return int(r.Rater) == rater })
}

// mostSingle is the largest number of votes on an item that are listed one by one.
const mostSingle = 200

// counts returns the votes on item j by the model's classes.
func (v *Votes) counts(j int) []float64 {
	votes := make([]float64, len(v.m.Classes))
	for i, s := range v.ds.CountsOf(j) {
		if s > 0 {
			votes[v.classes[i]] += float64(s)
		}
	}
	return votes
}

// named returns the ratings of item j, nil without a rater model.
func (v *Votes) named(j int) []head.Rating {
	if v.ratings == nil {
		return nil
	}
	return slices.Clip(v.ratings[j])
}

// withNameless adds to a list of votes the remaining votes in counts, as votes by rater −1. It returns nil if votes
// cannot be listed one by one because they are fractional or too many.
func withNameless(list []head.Rating, counts []float64) []head.Rating {
	left := append([]float64(nil), counts...)
	for _, r := range list {
		left[r.Class]--
	}
	for i, n := range left {
		if n < 0 || n != math.Floor(n) || n > mostSingle {
			return nil
		}
		for range int(n) {
			list = append(list, head.Rating{Rater: -1, Class: int32(i)})
		}
	}
	if len(list) > mostSingle {
		return nil
	}
	return list
}

// Update updates a prediction by the votes on its item, and reports whether there are any. v may be nil.
func (v *Votes) Update(p *Prediction) bool {
	j, ok := v.index(p.Item)
	if ok {
		v.UpdateAt(&p.Decoded, j)
	}
	return ok
}

// UpdateAt updates a prediction by the votes on item j of the data set.
func (v *Votes) UpdateAt(a *head.Decoded, j int) {
	votes := v.counts(j)
	if special.Sum(votes) == 0 || a.Err != nil {
		return
	}
	after, err := After(v.m, a, votes, v.named(j)...)
	if err != nil {
		after.Err = err
	}
	*a = after
}

// After returns a prediction of a model updated by votes [d], some of which may be by named raters. If m is nil, all
// raters are treated alike.
func After(m *model.Model, a *head.Decoded, votes []float64, named ...head.Rating) (head.Decoded, error) {
	if m != nil && m.RaterModel != nil {
		if single := withNameless(named, votes); single != nil {
			return a.AfterRatings(m.RaterModel, single)
		}
	}
	return a.After(votes)
}

// Ratings returns the votes on each item of ds one by one, by the model's rater numbers; nil without a rater model.
// Unknown raters have number −1. It returns an error if the votes on an item cannot be listed one by one, because they
// are fractional or too many.
func Ratings(m *model.Model, ds *dataset.Dataset) ([][]head.Rating, error) {
	if m.RaterModel == nil {
		return nil, nil
	}
	v, err := MatchVotes(m, ds)
	if err != nil {
		return nil, err
	}
	list := make([][]head.Rating, ds.Len())
	for j := range list {
		counts := v.counts(j)
		if list[j] = withNameless(v.named(j), counts); list[j] == nil && special.Sum(counts) > 0 {
			return nil, fmt.Errorf("item %q: %v votes cannot be distinguished by rater: expected at most %d whole votes", ds.Items[j], special.Sum(counts), mostSingle)
		}
	}
	return list, nil
}
