package baseline_test

import (
	"fmt"

	"credence/baseline"
	"credence/head"
)

// A network with two outputs says of an item: mean 0.5, variance about 0.25 of a
// label. Its votes are two examples.
func Example() {
	mve, err := baseline.New(baseline.MVE, baseline.Options{Classes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := []float32{0, -1.3867}
	loss := mve.Loss(nil, out, head.Counts{Classes: 2, Values: []float32{1, 1}}, head.Step{Epoch: 5})
	e := mve.Estimate([][]float32{out})
	fmt.Printf("loss %.3f a label, mean %.2f, variance %.2f\n", loss, e.Mean, e.Variance)
	// Output: loss 0.726 a label, mean [0.50 0.50], variance [0.25 0.25]
}
