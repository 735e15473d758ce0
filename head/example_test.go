package head_test

import (
	"fmt"

	"credence/head"
)

// One component with α = (1, 1), the uniform distribution: two votes for the
// first class have probability 1·2/(2·3) = 1/3, and log 3 = 1.0986.
func ExampleMixture() {
	h, err := head.NewMixture(head.MixtureOptions{Components: 1, Classes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := []float32{0, 0, 0} // one logit, then log α
	grad := make([]float32, len(out))
	loss := h.Loss(grad, out, head.Counts{Classes: 2, Values: []float32{2, 0}}, head.Step{})
	fmt.Printf("%.4f %.4f\n", loss, grad)
	// Output: 1.0986 [0.0000 -0.6667 0.8333]
}
