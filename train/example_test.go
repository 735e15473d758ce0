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
	s, err := train.NewStepper(net, h, nn.OptimizerOptions{Rate: 0.01}, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := []float32{-1, 1}
	votes := head.Batch{Counts: head.Counts{Classes: 2, Values: []float32{2, 1, 3, 0}}}
	first := s.Step(x, votes, nn.Step{})
	last := first
	for i := range 200 {
		last = s.Step(x, votes, nn.Step{Step: uint64(i + 1)})
	}
	fmt.Println(last.Mean < first.Mean)
	// Output: true
}
