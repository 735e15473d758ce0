package model

import (
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/head"
)

// Voted are the votes of a data set as a model takes them: for its classes and, where it knows raters
// apart, by who cast them.
type Voted struct {
	m       *Model
	ds      *dataset.Dataset
	classes []int // the model's class of each class of ds, −1 for those it does not know

	// Where the model knows raters, by item: who cast which vote, in the model's numbers.
	ratings []head.Rating
	first   []int
	unknown []string // raters whom it does not know
}

// Match finds the model's classes and raters in ds by their names. A vote for a class that the model
// does not have is an error; a rater whom it does not know counts as an average one.
func (m *Model) Match(ds *dataset.Dataset) (*Voted, error) {
	known := map[string]int{}
	for i, c := range m.Classes {
		known[c] = i
	}
	v := &Voted{m: m, ds: ds, classes: make([]int, len(ds.Classes))}
	for i, c := range ds.Classes {
		v.classes[i] = -1
		if k, ok := known[c]; ok {
			v.classes[i] = k
		}
	}
	for j := range ds.Len() {
		for i, s := range ds.CountsOf(j) {
			if s > 0 && v.classes[i] < 0 {
				return nil, fmt.Errorf("item %q has votes for class %q, which is not one of the model's %q", ds.Items[j], ds.Classes[i], m.Classes)
			}
		}
	}
	if m.Crowd != nil {
		v.matchRaters()
	}
	return v, nil
}

// matchRaters sorts the ratings of items that the model can read by item.
func (v *Voted) matchRaters() {
	known := map[string]int32{}
	for r, name := range v.m.Raters {
		known[name] = int32(r)
	}
	raters := make([]int32, len(v.ds.Raters))
	for r, name := range v.ds.Raters {
		raters[r] = -1
		if k, ok := known[name]; ok {
			raters[r] = k
		} else {
			v.unknown = append(v.unknown, name)
		}
	}
	v.first = make([]int, v.ds.Len()+1)
	for _, r := range v.ds.Ratings {
		v.first[r.Item+1]++
	}
	for j := range v.ds.Len() {
		v.first[j+1] += v.first[j]
	}
	v.ratings = make([]head.Rating, len(v.ds.Ratings))
	next := append([]int(nil), v.first...)
	for _, r := range v.ds.Ratings {
		v.ratings[next[r.Item]] = head.Rating{Item: r.Item, Rater: raters[r.Rater], Class: int32(v.classes[r.Class])}
		next[r.Item]++
	}
}

// Unknown returns the names of raters whom the model does not know; nil if it knows none apart.
func (v *Voted) Unknown() []string { return v.unknown }

// By reports whether a rater, as the model numbers them, voted on item j.
func (v *Voted) By(rater, j int) bool {
	return v.first != nil && slices.ContainsFunc(v.ratings[v.first[j]:v.first[j+1]],
		func(r head.Rating) bool { return int(r.Rater) == rater })
}

// mostSingle is up to how many votes of an item are taken one by one.
const mostSingle = 200

// single returns the votes on item j one by one, those without a name by rater −1; nil if they
// cannot be told apart, since there are parts of votes or too many.
func (v *Voted) single(j int, counts []float64) []head.Rating {
	return withNameless(v.ratings[v.first[j]:v.first[j+1]:v.first[j+1]], counts)
}

// withNameless adds to a list of votes those that counts has beyond them.
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

// Update takes the votes on item j into account.
func (v *Voted) Update(a *head.Answer, j int) {
	votes := make([]float64, len(v.m.Classes))
	any := false
	for i, s := range v.ds.CountsOf(j) {
		if s > 0 {
			votes[v.classes[i]] += float64(s)
			any = true
		}
	}
	if !any || a.Err != nil {
		return
	}
	after, err := v.after(a, j, votes)
	if err != nil {
		after.Err = err
	}
	*a = after
}

// after returns the answer after the votes on item j.
func (v *Voted) after(a *head.Answer, j int, votes []float64) (head.Answer, error) {
	if v.m.Crowd != nil {
		if single := v.single(j, votes); single != nil {
			return a.AfterRatings(v.m.Crowd, single)
		}
	}
	return a.After(votes)
}

// After returns an answer of the model after votes [d] whose raters are not named.
func (m *Model) After(a *head.Answer, votes []float64) (head.Answer, error) {
	if m.Crowd != nil {
		if single := withNameless(nil, votes); single != nil {
			return a.AfterRatings(m.Crowd, single)
		}
	}
	return a.After(votes)
}

// Ratings returns the votes on each item of ds one by one, in the numbers of the model's raters, nil if
// the model knows none. Votes without a name that it knows are by rater −1; items whose votes cannot
// be told apart, because there are parts of votes or too many, are an error.
func (m *Model) Ratings(ds *dataset.Dataset) ([][]head.Rating, error) {
	if m.Crowd == nil {
		return nil, nil
	}
	v, err := m.Match(ds)
	if err != nil {
		return nil, err
	}
	list := make([][]head.Rating, ds.Len())
	for j := range list {
		counts := make([]float64, len(m.Classes))
		for i, s := range ds.CountsOf(j) {
			if s > 0 {
				counts[v.classes[i]] += float64(s)
			}
		}
		if list[j] = v.single(j, counts); list[j] == nil && total(counts) > 0 {
			return nil, fmt.Errorf("item %q: %v votes cannot be told apart by rater, want at most %d whole ones", ds.Items[j], total(counts), mostSingle)
		}
	}
	return list, nil
}

func total(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum
}
