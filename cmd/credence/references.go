package main

import (
	"context"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/evaluate"
	"credence/train"
)

// A logistic regression is fitted if the features have at most so many columns
// and values.
const (
	referenceColumns = 10000
	referenceValues  = 20_000_000
	// Five more are fitted, each to score a fold, if items × columns × classes
	// are at most this many: they would else take longer than the model.
	referenceFoldWork = 2_000_000
)

// referenceFeatures returns the features that the logistic reference of a model
// takes, for the given items: the network's inputs, with one column a level
// instead of the code of an embedded category. It is nil if they are too many.
func referenceFeatures(t *dataset.Transform, ds *dataset.Dataset, items []int) (*evaluate.Features, error) {
	columns := 0
	for _, in := range t.Inputs() {
		if in.Kind == dataset.Codes {
			columns += in.Levels
		} else {
			columns += in.Width
		}
	}
	if columns == 0 || columns > referenceColumns || columns*len(items) > referenceValues {
		return nil, nil
	}
	rows, err := t.Over(ds)
	if err != nil {
		return nil, err
	}
	x := &evaluate.Features{Columns: columns, Values: make([]float32, 0, columns*len(items))}
	row := make([]float32, t.Width())
	for _, j := range items {
		if err := rows.ReadRow(j, row); err != nil {
			return nil, fmt.Errorf("item %q: %w", ds.Items[j], err)
		}
		for _, in := range t.Inputs() {
			block := row[in.Offset : in.Offset+in.Width]
			if in.Kind != dataset.Codes {
				x.Values = append(x.Values, block...)
				continue
			}
			for level := range in.Levels {
				hot := float32(0)
				if float32(level) == block[0] {
					hot = 1
				}
				x.Values = append(x.Values, hot)
			}
		}
	}
	return x, nil
}

// allItems returns the indices of all items of ds.
func allItems(ds *dataset.Dataset) []int {
	items := make([]int, ds.Len())
	for i := range items {
		items[i] = i
	}
	return items
}

// referenceScores are losses a vote of the references, each fitted without the
// items that it is scored on.
type referenceScores struct {
	ConstantNLL   *float64 `json:"constant_nll_per_vote,omitempty"`
	ConstantDMNLL *float64 `json:"constant_dm_nll_per_vote,omitempty"`
	LogisticNLL   *float64 `json:"logistic_nll_per_vote,omitempty"`
	LogisticDMNLL *float64 `json:"logistic_dm_nll_per_vote,omitempty"`

	items map[int][4]float64 // losses of the items, by index, in this order
}

// losses returns those of the given items, as an evaluation takes them; nil if
// there are none.
func (s *referenceScores) losses(items []int) *evaluate.ReferenceLosses {
	if s == nil || s.ConstantNLL == nil {
		return nil
	}
	l := &evaluate.ReferenceLosses{}
	for _, j := range items {
		x := s.items[j]
		l.Constant, l.ConstantDirichlet = append(l.Constant, x[0]), append(l.ConstantDirichlet, x[1])
		if s.LogisticNLL != nil {
			l.Logistic, l.LogisticDirichlet = append(l.Logistic, x[2]), append(l.LogisticDirichlet, x[3])
		}
	}
	return l
}

// referenceData are the items with votes, as references take them.
type referenceData struct {
	x      *evaluate.Features
	votes  evaluate.Votes
	groups []int
}

func (r *referenceData) at(rows []int) *referenceData {
	s := &referenceData{votes: evaluate.Votes{Classes: r.votes.Classes}}
	if r.x != nil {
		s.x = &evaluate.Features{Columns: r.x.Columns}
	}
	for _, j := range rows {
		s.votes.Counts = append(s.votes.Counts, r.votes.Item(j)...)
		if r.x != nil {
			s.x.Values = append(s.x.Values, r.x.Row(j)...)
		}
		if r.groups != nil {
			s.groups = append(s.groups, r.groups[j])
		}
	}
	return s
}

// fitReferences fits the references to all votes of ds, for the model to carry,
// and scores them on the items that the model was scored on, fold by fold.
func fitReferences(ctx context.Context, ds *dataset.Dataset, result *train.Result, seed uint64) (*evaluate.References, *referenceScores, error) {
	var voted []int
	all := &referenceData{votes: evaluate.Votes{Classes: len(ds.Classes)}}
	group := map[string]int{}
	for j := range ds.Len() {
		if ds.VotesOf(j) == 0 {
			continue
		}
		voted = append(voted, j)
		for _, s := range ds.CountsOf(j) {
			all.votes.Counts = append(all.votes.Counts, float64(s))
		}
		if ds.Groups != nil {
			g := ds.Groups[j]
			if _, ok := group[g]; !ok {
				group[g] = len(group)
			}
			all.groups = append(all.groups, group[g])
		}
	}
	var err error
	if all.x, err = referenceFeatures(result.Model.Transform, ds, voted); err != nil {
		return nil, nil, err
	}
	references, err := evaluate.FitReferences(all.x, all.votes, all.groups, seed)
	if err != nil {
		return nil, nil, err
	}

	folds, err := referenceFolds(ds, voted, result, seed)
	if err != nil {
		return nil, nil, err
	}
	s := &referenceScores{items: map[int][4]float64{}}
	var sums [4]float64
	logistic, votes := all.x != nil, 0.0
	if all.x != nil && len(folds) > 1 && len(all.x.Values)*len(ds.Classes) > referenceFoldWork {
		all.x, logistic = nil, false
	}
	for _, fold := range folds {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("%w: all networks are trained, but the references are not fitted", train.ErrStopped)
		}
		var rest, test []int
		for at, j := range voted {
			if _, in := slices.BinarySearch(fold, j); !in {
				rest = append(rest, at)
			} else if result.Scored(j) {
				test = append(test, at)
				votes += ds.VotesOf(j)
			}
		}
		fitted, held := all.at(rest), all.at(test)
		r, err := evaluate.FitReferences(fitted.x, fitted.votes, fitted.groups, seed)
		if err != nil {
			return nil, nil, err
		}
		losses, err := r.Losses(held.x, held.votes)
		if err != nil {
			return nil, nil, err
		}
		for k, l := range [][]float64{losses.Constant, losses.ConstantDirichlet, losses.Logistic, losses.LogisticDirichlet} {
			for i, x := range l {
				sums[k] += x
				item := s.items[voted[test[i]]]
				item[k] = x
				s.items[voted[test[i]]] = item
			}
		}
	}
	if votes == 0 {
		return references, s, nil
	}
	for k := range sums {
		sums[k] /= votes
	}
	s.ConstantNLL, s.ConstantDMNLL = &sums[0], &sums[1]
	if logistic {
		s.LogisticNLL, s.LogisticDMNLL = &sums[2], &sums[3]
	}
	return references, s, nil
}

// referenceFolds returns sorted lists of items to leave out in turn: five
// folds, one a group if those are fewer or, if the model's parts took no turns,
// the part that it held out.
func referenceFolds(ds *dataset.Dataset, voted []int, result *train.Result, seed uint64) ([][]int, error) {
	if result.Model.Provenance.Split.Folds == 0 {
		var held []int
		for _, j := range voted {
			if result.Scored(j) {
				held = append(held, j)
			}
		}
		return [][]int{held}, nil
	}
	units := len(voted)
	if ds.Groups != nil {
		groups := map[string]bool{}
		for _, j := range voted {
			groups[ds.Groups[j]] = true
		}
		units = len(groups)
	}
	folds, err := dataset.Folds(ds, voted, max(2, min(5, units)), seed)
	for _, f := range folds {
		slices.Sort(f)
	}
	return folds, err
}
