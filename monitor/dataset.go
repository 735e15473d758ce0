package monitor

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"credence/dataset"
	"credence/internal/rng"
	"credence/internal/words"
	"credence/model"
)

// Votes returns the votes of a data set in their order, by the classes of a model. Votes that name their raters are in
// the order of the file. Others are known only as counts: they follow item by item, in an order drawn at random, so that it
// does not depend on their values. Fractions of a vote are an error.
func Votes(m *model.Model, ds *dataset.Dataset) ([]Vote, error) {
	class := make([]int, len(ds.Classes))
	for i, c := range ds.Classes {
		class[i] = slices.Index(m.Classes, c)
	}
	total := 0.0
	for j, id := range ds.Items {
		for i, n := range ds.CountsOf(j) {
			switch {
			case n != float32(math.Floor(float64(n))):
				return nil, fmt.Errorf("item %q: expected whole votes, found %v for %q: fractions cannot be monitored", id, n, ds.Classes[i])
			case n > 0 && class[i] < 0:
				return nil, fmt.Errorf("item %q: expected votes for the model's classes %q, found %q", id, m.Classes, ds.Classes[i])
			}
			total += float64(n)
		}
	}
	var list []Vote
	if float64(len(ds.Ratings)) == total {
		for _, r := range ds.Ratings {
			list = append(list, Vote{ds.Items[r.Item], ds.Raters[r.Rater], class[r.Class]})
		}
		return list, nil
	}
	for j, id := range ds.Items {
		from := len(list)
		for i, n := range ds.CountsOf(j) {
			for range int(n) {
				list = append(list, Vote{Item: id, Class: class[i]})
			}
		}
		mine := list[from:]
		rand.New(rng.New(0, "monitor order", uint64(j))).Shuffle(len(mine), func(a, b int) { mine[a], mine[b] = mine[b], mine[a] })
	}
	return list, nil
}

// Later is a data set of items with votes that arrived after training.
type Later struct {
	Data    *dataset.Dataset
	Groups  []string        // [N] the group of each item; nil without groups
	Trained map[string]bool // items that the model was trained on, whose votes are left out
}

// LeftOut counts what a monitor did not use.
type LeftOut struct {
	TrainedItems int `json:"trained_items"` // with votes, but trained on
	TrainedVotes int `json:"trained_votes"`
	FailedItems  int `json:"failed_items"` // without a prediction
}

// words describes what was left out, "" if nothing.
func (l LeftOut) String() string {
	var parts []string
	if l.TrainedItems > 0 {
		parts = append(parts, fmt.Sprintf("%s on %s that the model was trained on", words.Plural(l.TrainedVotes, "vote"), words.Plural(l.TrainedItems, "item")))
	}
	if l.FailedItems > 0 {
		parts = append(parts, words.Plural(l.FailedItems, "item")+" without a prediction")
	}
	return words.List(parts, "and")
}

// AddItems predicts the items of a data set with [Plain] of the model and adds those that it was not trained on.
func (w *Monitor) AddItems(ctx context.Context, m *model.Model, in Later) (LeftOut, error) {
	var out LeftOut
	decoded, err := Plain(m).Predict(ctx, in.Data, model.PredictOptions{KeepBad: true})
	if err != nil {
		return out, err
	}
	for j, id := range in.Data.Items {
		n := int(in.Data.VotesOf(j))
		switch {
		case in.Trained[id]:
			if n > 0 {
				out.TrainedItems++
				out.TrainedVotes += n
			}
			continue
		case decoded[j].Err != nil:
			out.FailedItems++
			continue
		}
		item := Item{Dist: decoded[j].Dist}
		if in.Groups != nil {
			item.Group = in.Groups[j]
		}
		if w.inputs != nil {
			if item.Unlike, err = UnlikeOf(m, in.Data.Select([]int{j})); err != nil {
				return out, err
			}
		}
		if err := w.AddItem(id, item); err != nil {
			return out, err
		}
	}
	return out, nil
}

// AddVotes adds votes on items that were added, and leaves others out.
func (w *Monitor) AddVotes(ctx context.Context, votes []Vote) error {
	for i, v := range votes {
		if i%100 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !w.HasItem(v.Item) {
			continue
		}
		if err := w.Add(v); err != nil {
			return err
		}
	}
	return nil
}

// UnlikeOf returns how the only item of a data set differs from those that a model was trained on.
func UnlikeOf(m *model.Model, item *dataset.Dataset) (Unlike, error) {
	watch := m.Transform.NewWatch()
	if err := watch.Add(item, nil); err != nil {
		return Unlike{}, err
	}
	u := watch.Unlike()
	return Unlike{u.Far > 0, u.Unknown > 0}, nil
}
