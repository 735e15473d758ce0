package run

import (
	"context"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/model"
)

// importanceItems is the largest number of items that importance is computed on.
const importanceItems = 5000

// Importance computes how much each feature contributes to the predictions for the items of ds, whose evaluation had
// the input in. Of many items it takes 5,000 at equal distances.
func Importance(ctx context.Context, m *model.Model, ds *dataset.Dataset, in *evaluate.Input, o evaluate.ImportanceOptions) (*evaluate.Importance, error) {
	var voted []int
	for j := range in.Votes.Len() {
		if in.Votes.Total(j) > 0 {
			voted = append(voted, j)
		}
	}
	if step := (len(voted) + importanceItems - 1) / importanceItems; step > 1 {
		for i := range importanceItems {
			voted[i] = voted[i*len(voted)/importanceItems]
		}
		voted = voted[:importanceItems]
	}
	some := ds.Select(voted)
	decoded := make([]head.Decoded, len(voted))
	for i, j := range voted {
		decoded[i] = in.Predictions[j]
	}
	chosen, err := newInput(m, some, decoded)
	if err != nil {
		return nil, err
	}
	predict := func(ctx context.Context, items []int, rows dataset.Rows) ([]head.Decoded, error) {
		changed := *some
		if items != nil {
			changed = *some.Select(items)
		}
		changed.Rows = rows
		return m.Predict(ctx, &changed, model.PredictOptions{})
	}
	return evaluate.NewImportance(ctx, *chosen, predict, o)
}
