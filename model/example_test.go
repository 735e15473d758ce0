package model_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"credence/dataset"
	"credence/head"
	"credence/mixture"
	"credence/model"
	"credence/nn"
)

// A model is saved, loaded and used to predict two items.
// Package train makes models; this one is made by hand, of a network that predicts
// Beta(2, 8) for the second class, whatever the item.
func Example() {
	ds := &dataset.Dataset{
		Items:    []string{"nodule 1", "nodule 2"},
		Classes:  []string{"benign", "malignant"},
		Counts:   make([]float32, 4),
		Features: []dataset.Feature{{Name: "size", Kind: dataset.Numeric}},
		Rows:     &dataset.Memory{N: 2, W: 1, Values: []float32{4, 9}},
	}
	transform, err := dataset.Fit(ds, []int{0, 1}, dataset.TransformOptions{})
	if err != nil {
		log.Fatal(err)
	}
	member, err := nn.New(&nn.Dense{Out: 3}, model.InputShape(transform), nn.Options{})
	if err != nil {
		log.Fatal(err)
	}
	weight, bias := member.Params[0].Value, member.Params[1].Value
	clear(weight)
	copy(bias, []float32{0, float32(math.Log(8)), float32(math.Log(2))}) // a logit, then log α
	made := &model.Model{
		Classes:   ds.Classes,
		Method:    head.Mixture{Components: 1},
		Transform: transform,
		Members:   []*nn.Network{member},
	}

	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.credence")
	if err := made.Save(path); err != nil {
		log.Fatal(err)
	}
	m, err := model.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	predicted, err := m.Predict(context.Background(), ds, model.PredictOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i, p := range predicted {
		malignant := p.Dist.Marginal(1)
		in := malignant.Interval(mixture.TwoSided, 0.95)
		fmt.Printf("%s: %.2f, 95%% interval %.2f to %.2f\n", ds.Items[i], malignant.Mean(), in.Lo, in.Hi)
	}
	// Output:
	// nodule 1: 0.20, 95% interval 0.03 to 0.48
	// nodule 2: 0.20, 95% interval 0.03 to 0.48
}
