package train_test

import (
	"fmt"

	"credence/head"
	"credence/nn"
	"credence/train"
)

// Two items with three votes each: the network learns that the first is
// disputed and the second is not.
func ExampleStepper() {
	h, err := head.Mixture{Components: 2}.New(head.Task{Classes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := nn.Shape{1}
	root, err := nn.ByName("mlp", in, h.Outputs(), 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := nn.New(root, in, nn.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := train.NewStepper(nil, net, h, nn.OptimizerOptions{Rate: 0.01}, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{-1, 1}
	votes := head.Batch{Counts: head.Counts{Classes: 2, Values: []float32{2, 1, 3, 0}}}
	var first, last head.Loss
	for i := range 200 {
		if last, err = s.Step(x, votes, nn.Step{Step: uint64(i)}); err != nil {
			fmt.Println(err)
			return
		}
		if i == 0 {
			first = last
		}
	}
	fmt.Println(last.Mean < first.Mean)
	// Output: true
}
