// Command files goes from files to predictions: it reads nodules and the votes of three readers, trains a model, saves it,
// and predicts new nodules with 95% intervals.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"credence/dataset"
	"credence/mixture"
	"credence/model"
	"credence/predict"
	"credence/train"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	ds, err := dataset.Load(ctx, dataset.LoadOptions{Data: []string{"items.csv"}, Votes: []string{"votes.csv"}})
	if err != nil {
		return err
	}
	defer ds.Close()
	trained, err := train.Fit(ctx, ds, train.Options{Seed: 1})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "files")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.credence")
	if err := trained.Model.Save(path); err != nil {
		return err
	}

	m, err := model.Load(path)
	if err != nil {
		return err
	}
	items, err := dataset.OpenStream(ctx, "new-items.csv", m.Transform.Schema(), dataset.StreamOptions{})
	if err != nil {
		return err
	}
	defer items.Close()
	summary := predict.Summary{Levels: []float64{0.95}, Precision: mixture.SixDigits}.All()
	for batch, err := range predict.New(m, predict.Options{}).Run(ctx, items) {
		if err != nil {
			return err
		}
		for i := range batch.Predictions {
			row, err := batch.Predictions[i].Summarize(ctx, &summary)
			if err != nil {
				return err
			}
			malignant := row.Classes[1]
			in := malignant.Intervals[0]
			fmt.Printf("%s: %s with probability %.1f, 95%% interval %.1f to %.1f\n",
				row.Item, m.Classes[1], malignant.Mean, in.TwoSided.Lo, in.TwoSided.Hi)
		}
	}
	return nil
}
