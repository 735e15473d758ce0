package model

import (
	"fmt"

	"credence/head"
	"credence/internal/safetensors"
)

// raterRecord is the part of a rater model that is stored in the metadata. The rest are tensors, since there may be
// millions of raters.
type raterRecord struct {
	LeanSD  float64 `json:"lean_sd"`
	Ordered bool    `json:"ordered,omitempty"`
}

// raterTensor is a tensor of a rater model, with the number of values per rater.
type raterTensor struct {
	name   string
	values *[]float64
	width  int
}

// raterTensors returns the tensors of a rater model: biases for two classes, tastes for more, and both for
// ordered classes, with scales.
func raterTensors(c *head.RaterModel) []raterTensor {
	votes, guess := raterTensor{"crowd.votes", &c.Votes, 1}, raterTensor{"crowd.guess", &c.GuessLogit, 1}
	guessSE := raterTensor{"crowd.guess_se", &c.GuessLogitSE, 1}
	lean, leanSE := raterTensor{"crowd.lean", &c.Bias, 1}, raterTensor{"crowd.lean_se", &c.BiasSE, 1}
	taste := raterTensor{"crowd.taste", &c.Taste, c.Classes}
	switch {
	case c.Classes == 2:
		return []raterTensor{votes, lean, leanSE, guess, guessSE}
	case c.Ordered:
		return []raterTensor{votes, lean, leanSE, {"crowd.scale", &c.LogScale, 1}, {"crowd.scale_se", &c.LogScaleSE, 1}, guess, guessSE, taste}
	}
	return []raterTensor{votes, guess, guessSE, taste}
}

// encodeRaterModel returns the tensors of a rater model as they are stored in a file; none if it is nil.
func encodeRaterModel(c *head.RaterModel) []safetensors.Tensor {
	if c == nil {
		return nil
	}
	var list []safetensors.Tensor
	for _, tensor := range raterTensors(c) {
		values := make([]float32, len(*tensor.values))
		for i, x := range *tensor.values {
			values[i] = float32(x)
		}
		list = append(list, safetensors.Tensor{Name: tensor.name, Shape: []int{len(c.Votes), tensor.width}, Values: values})
	}
	return list
}

// raterModel returns the rater model of a file, and removes its tensors from the given ones; nil if there is none.
func (r *raterRecord) raterModel(tensors map[string]*safetensors.Tensor, classes, raters int) (*head.RaterModel, error) {
	if r == nil {
		return nil, nil
	}
	c := &head.RaterModel{Classes: classes, BiasSD: r.LeanSD, Ordered: r.Ordered}
	for _, tensor := range raterTensors(c) {
		t := tensors[tensor.name]
		if t == nil || len(t.Values) != raters*tensor.width {
			return nil, fmt.Errorf("tensor %s is missing or not for %d raters", tensor.name, raters)
		}
		delete(tensors, tensor.name)
		*tensor.values = make([]float64, len(t.Values))
		for i, x := range t.Values {
			(*tensor.values)[i] = float64(x)
		}
	}
	return c, c.Finalize()
}
