package model

import (
	"fmt"

	"credence/head"
	"credence/internal/safetensors"
)

// crowdRecord is what a file says of raters beside the tensors, which may hold millions.
type crowdRecord struct {
	LeanSD float64 `json:"lean_sd"`
}

// crowdPart is a tensor of a crowd, with the number of values for each rater.
type crowdPart struct {
	name   string
	values *[]float64
	width  int
}

// crowdParts are the tensors of a crowd: leans of two classes, tastes of more.
func crowdParts(c *head.Crowd) []crowdPart {
	votes, guess := crowdPart{"crowd.votes", &c.Votes, 1}, crowdPart{"crowd.guess", &c.GuessLogit, 1}
	guessSE := crowdPart{"crowd.guess_se", &c.GuessLogitSE, 1}
	if c.Classes == 2 {
		return []crowdPart{votes, {"crowd.lean", &c.Lean, 1}, {"crowd.lean_se", &c.LeanSE, 1}, guess, guessSE}
	}
	return []crowdPart{votes, guess, guessSE, {"crowd.taste", &c.Taste, c.Classes}}
}

func crowdTensors(c *head.Crowd) []safetensors.Tensor {
	if c == nil {
		return nil
	}
	var list []safetensors.Tensor
	for _, part := range crowdParts(c) {
		values := make([]float32, len(*part.values))
		for i, x := range *part.values {
			values[i] = float32(x)
		}
		list = append(list, safetensors.Tensor{Name: part.name, Shape: []int{len(c.Votes), part.width}, Values: values})
	}
	return list
}

// crowd takes the tensors of a crowd out of those of a file; nil if there is none.
func (r *crowdRecord) crowd(tensors map[string]*safetensors.Tensor, classes, raters int) (*head.Crowd, error) {
	if r == nil {
		return nil, nil
	}
	c := &head.Crowd{Classes: classes, LeanSD: r.LeanSD}
	for _, part := range crowdParts(c) {
		t := tensors[part.name]
		if t == nil || len(t.Values) != raters*part.width {
			return nil, fmt.Errorf("tensor %s is missing or not of %d raters", part.name, raters)
		}
		delete(tensors, part.name)
		*part.values = make([]float64, len(t.Values))
		for i, x := range t.Values {
			(*part.values)[i] = float64(x)
		}
	}
	return c, c.Settle()
}
