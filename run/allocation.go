package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/rng"
	"credence/model"
	"credence/train"
)

// allocationRepeats is how often halves of the training data are drawn, allocationVotes the number of further votes
// whose gain is estimated.
const (
	allocationRepeats = 5
	allocationVotes   = 100
)

// Allocation estimates whether further votes should go to new items or to items that have votes: it trains
// with the options of the run on half of its items, and without half of the votes beyond the first on every item, five times
// each, and evaluates the models on the items of ds, whose evaluation had the input in. d must be the data of the run.
func Allocation(ctx context.Context, m *model.Model, d *Partition, fit train.Options, ds *dataset.Dataset, in *evaluate.Input) (*evaluate.Allocation, error) {
	found, err := d.Learn.Hash()
	if err != nil {
		return nil, err
	}
	if found != m.Provenance.Data {
		return nil, errors.New("the training data have changed since the run: expected the same data to train again on part of them")
	}
	learn := d.Learn
	if slices.ContainsFunc(learn.Counts, func(c float32) bool { return c != float32(math.Floor(float64(c))) }) {
		return nil, errors.New("the gain of further votes: expected whole votes in the training data, found fractions")
	}
	if fit.ItemWeights != nil {
		weighted := *learn
		weighted.Weights, fit.ItemWeights = fit.ItemWeights, nil
		learn = &weighted
	}
	fit.Held, fit.From, fit.Checkpoint, fit.Members, fit.NoReferences, fit.Progress = nil, nil, "", nil, true, nil
	total, second := votesOf(learn), 0 // second are those beyond the first on an item
	for i := range learn.Len() {
		second += max(0, int(learn.VotesOf(i))-1)
	}
	var items, opinions []evaluate.Reduced
	for r := range allocationRepeats {
		half := halfItems(learn, fit.Seed, r)
		predictions, err := refit(ctx, half, fit, m, ds)
		if err != nil {
			return nil, fmt.Errorf("training on half of the items: %w", err)
		}
		items = append(items, evaluate.Reduced{Predictions: predictions, Of: total, Removed: total - votesOf(half)})
		if 10*second < total {
			continue // too few to remove
		}
		half = halfVotes(learn, fit.Seed, r)
		if predictions, err = refit(ctx, half, fit, m, ds); err != nil {
			return nil, fmt.Errorf("training on fewer votes per item: %w", err)
		}
		opinions = append(opinions, evaluate.Reduced{Predictions: predictions, Of: second, Removed: total - votesOf(half)})
	}
	return evaluate.NewAllocation(ctx, *in, total, allocationVotes, items, opinions)
}

// votesOf returns the number of votes on all items.
func votesOf(ds *dataset.Dataset) (n int) {
	for i := range ds.Len() {
		n += int(ds.VotesOf(i))
	}
	return n
}

// refit trains on part of the data, and predicts the items of ds.
func refit(ctx context.Context, part *dataset.Dataset, fit train.Options, m *model.Model, ds *dataset.Dataset) ([]head.Decoded, error) {
	res, err := train.Fit(ctx, part, fit)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(res.Model.Classes, m.Classes) {
		return nil, fmt.Errorf("expected the classes %q, found %q", m.Classes, res.Model.Classes)
	}
	return res.Model.Predict(ctx, ds, model.PredictOptions{})
}

// halfItems returns a random half of the items, groups kept together.
func halfItems(ds *dataset.Dataset, seed uint64, repeat int) *dataset.Dataset {
	group := make(map[string]int)
	unit := make([]int, ds.Len())
	for i := range unit {
		unit[i] = i
		if ds.Groups != nil {
			g, ok := group[ds.Groups[i]]
			if !ok {
				g = len(group)
				group[ds.Groups[i]] = g
			}
			unit[i] = g
		}
	}
	rank := rand.New(rng.New(seed, "run.Allocation.items", uint64(repeat))).Perm(slices.Max(unit) + 1)
	var kept []int
	for i, u := range unit {
		if 2*rank[u] < len(rank) {
			kept = append(kept, i)
		}
	}
	return ds.Select(kept)
}

// halfVotes returns the data with one vote on every item and half of the others, rounded at random.
func halfVotes(ds *dataset.Dataset, seed uint64, repeat int) *dataset.Dataset {
	all := make([]int, ds.Len())
	for i := range all {
		all[i] = i
	}
	thin := ds.Select(all)
	thin.Counts = make([]float32, len(ds.Counts))
	classes := make([][]int32, ds.Len()) // of each vote
	if ds.Ratings != nil {
		for _, v := range ds.Ratings {
			classes[v.Item] = append(classes[v.Item], v.Class)
		}
	} else {
		for i := range classes {
			for c, n := range ds.CountsOf(i) {
				classes[i] = append(classes[i], slices.Repeat([]int32{int32(c)}, int(n))...)
			}
		}
	}
	kept := make([][]bool, ds.Len())
	for i, votes := range classes {
		r := rand.New(rng.New(seed, "run.Allocation.votes", uint64(repeat), uint64(i)))
		kept[i] = make([]bool, len(votes))
		order := r.Perm(len(votes))
		keep := min(len(votes), 1+(len(votes)-1+r.IntN(2))/2)
		for _, k := range order[:keep] {
			kept[i][k] = true
			thin.CountsOf(i)[votes[k]]++
		}
	}
	if ds.Ratings != nil {
		thin.Ratings = nil
		at := make([]int, ds.Len())
		for _, v := range ds.Ratings {
			if kept[v.Item][at[v.Item]] {
				thin.Ratings = append(thin.Ratings, v)
			}
			at[v.Item]++
		}
	}
	return thin
}
