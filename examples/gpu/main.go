// Command gpu trains on a GPU if the program was built with -tags cuda and there is one, and on the CPU otherwise.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"credence/dataset"
	"credence/gpu"
	"credence/nn"
	"credence/train"
)

func main() {
	engine, err := gpu.Open(gpu.All)
	switch {
	case errors.Is(err, gpu.ErrBuild), errors.Is(err, gpu.ErrNoDevice):
		engine = nn.CPU{}
	case err != nil:
		log.Fatal(err)
	}
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Features: []dataset.Feature{{Name: "image", Kind: dataset.Tensor, Shape: []int{1, 8, 8}}}}
	rows := &dataset.Memory{N: 64, W: 64}
	for i := range 64 {
		ds.Items = append(ds.Items, fmt.Sprint("image ", i))
		for range 64 {
			rows.Values = append(rows.Values, float32(i%2)) // dark or bright
		}
		ds.Counts = append(ds.Counts, float32(3-3*(i%2)), float32(3*(i%2)))
	}
	ds.Rows = rows
	trained, err := train.Fit(context.Background(), ds, train.Options{Engine: engine, Epochs: 3, Ensemble: 1, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("trained", len(trained.Model.Members), "network on the engine that was opened:", trained.Model.Provenance.Kernel == engine.Name())
}
