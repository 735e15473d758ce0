package head_test

import (
	"fmt"

	"credence/head"
)

// One component with α = (1, 1), the uniform distribution: two votes for the
// first class have probability 1·2/(2·3) = 1/3, and log 3 = 1.0986.
func ExampleMixture() {
	h, err := head.Mixture{Components: 1}.New(head.Task{Classes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := []float32{0, 0, 0} // one logit, then log α
	grad := make([]float32, len(out))
	votes := head.Counts{Classes: 2, Values: []float32{2, 0}}
	loss := h.Loss(grad, out, head.Batch{Counts: votes}, head.Step{})
	fmt.Printf("%.4f %.4f\n", loss.Mean, grad)
	// Output: 1.0986 [0.0000 -0.6667 0.8333]
}

// A network with two outputs predicts for an item: mean 0.5, variance about 0.25 of a
// label. Its votes are two examples.
func ExampleMVE() {
	mve, err := head.MVE{}.New(head.Task{Classes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := []float32{0, -1.3867}
	votes := head.Counts{Classes: 2, Values: []float32{1, 1}}
	loss := mve.Loss(nil, out, head.Batch{Counts: votes}, head.Step{Epoch: 5})
	decoded, err := head.Decode(mve, []head.Output{{Raw: out}}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("loss %.3f per label, mean %.2f, variance %.2f\n", loss.Mean, decoded[0].Mean, decoded[0].Variance)
	// Output: loss 0.726 per label, mean [0.50 0.50], variance [0.25 0.25]
}
