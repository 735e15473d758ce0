package train

import (
	"slices"
	"strings"

	"credence/nn"
)

// startOutputs makes a network begin at what is true of all items: its last layer gets the given
// biases, and its weights are shrunk, so that what the network says of an item grows from there.
// Networks that do not end in a dense layer with a bias are left as they are.
func startOutputs(net *nn.Network, start []float32) {
	n := len(net.Params)
	for _, p := range net.Own {
		if slices.Contains(net.Params, p) {
			n--
		}
	}
	if n < 2 {
		return
	}
	weight, bias := net.Params[n-2], net.Params[n-1]
	if !strings.HasSuffix(bias.Name, "bias") || !strings.HasSuffix(weight.Name, "weight") || bias.Size() != len(start) {
		return
	}
	const shrink = 0.1
	for i := range weight.Value {
		weight.Value[i] *= shrink
	}
	copy(bias.Value, start)
}
