package train

import (
	"credence/dataset"
	"credence/head"
	"credence/nn"
)

// leastVector is how many numbers a vector has to have for a branch of its own; those of
// fewer are columns like others.
const leastVector = 16

// isVector reports whether a block is a vector, such as an embedding.
func isVector(in dataset.Input) bool {
	return in.Kind == dataset.Dense && in.Shape != nil && in.Width >= leastVector
}

// branches brings the blocks of an input that has vectors beside other features to one
// vector. A table next to hundreds of numbers would be lost if all went into one layer,
// and left out with them by the dropout that so many numbers need. So a vector has a layer
// of its own, normalized to the scale of the standardized columns; these, and the logits of
// texts, go on as they are.
//
// On 1,000 photographs with features of 512 numbers, the loss per held-out vote was 0.687
// by the features alone; with five columns of noise beside them 0.683, in one layer and in
// branches; with what another person said, 0.676 in one layer and 0.658 in branches (means of
// three seeds).
func branches(o *Options, traits head.Traits, blocks []dataset.Input, width int) ([]nn.Layer, error) {
	c := &nn.Concat{}
	numbers := 0
	for _, in := range blocks {
		if in.Kind == dataset.Dense {
			numbers += in.Width
		}
	}
	for _, in := range blocks {
		switch {
		case isVector(in):
			layers := append(dropout(o.InputDropout), &nn.Dense{Out: width}, &nn.LayerNorm{}, &nn.ReLU{})
			addBranch(c, nn.Shape{in.Width}, append(layers, dropout(o.Dropout)...)...)
		case in.Kind == dataset.Dense:
			// As much as the columns are of all numbers, of which there are too many.
			rate := round(o.InputDropout * float64(in.Width) / float64(numbers))
			if rate < 0.1 {
				rate = 0
			}
			addBranch(c, nn.Shape{in.Width}, dropout(rate)...)
		default:
			if err := branch(c, o, traits, in); err != nil {
				return nil, err
			}
		}
	}
	return []nn.Layer{c}, nil
}

// addBranch adds one that takes a shape.
func addBranch(c *nn.Concat, in nn.Shape, layers ...nn.Layer) {
	c.Inputs, c.Branches = append(c.Inputs, in), append(c.Branches, nn.Seq(layers...))
}

// dropout is a layer of that rate, or none.
func dropout(rate float64) []nn.Layer {
	if rate <= 0 {
		return nil
	}
	return []nn.Layer{&nn.Dropout{Rate: rate}}
}
