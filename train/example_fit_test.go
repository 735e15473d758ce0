package train_test

import (
	"context"
	"fmt"
	"log"

	"credence/dataset"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// Forty items with one feature and three votes each; the larger the feature,
// the more of them say yes.
func ExampleFit() {
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Features: []dataset.Feature{{Name: "size", Kind: dataset.Numeric}}}
	rows := &dataset.Memory{N: 40, W: 1}
	for i := range 40 {
		ds.Items = append(ds.Items, fmt.Sprintf("nodule %d", i))
		rows.Values = append(rows.Values, float32(i))
		yes := min(max((i-5)/8, 0), 3)
		ds.Counts = append(ds.Counts, float32(3-yes), float32(yes))
	}
	ds.Rows = rows

	res, err := train.Fit(context.Background(), ds, train.Options{Epochs: 60, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	predicted, err := res.Model.Predict(context.Background(), ds.Select([]int{2, 38}), model.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range predicted {
		yes := p.Dist.Marginal(1)
		in := yes.Interval(mixture.TwoSided, 0.9)
		fmt.Println("mean below one half:", yes.Mean() < 0.5, "and within its interval:", in.Contains(yes.Mean()))
	}
	// Output:
	// mean below one half: true and within its interval: true
	// mean below one half: false and within its interval: true
}
