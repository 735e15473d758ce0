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

// crowdParts are the tensors of a crowd, with the number of values for each rater.
func crowdParts(c *head.Crowd) []struct {
	name   string
	values *[]float64
	width  int
} {
	leans, tastes := 0, c.Classes
	if c.Classes == 2 {
		leans, tastes = 1, 0
	}
	return []struct {
		name   string
		values *[]float64
		width  int
	}{
		{"crowd.votes", &c.Votes, 1}, {"crowd.lean", &c.Lean, leans}, {"crowd.lean_se", &c.LeanSE, leans},
		{"crowd.guess", &c.GuessLogit, 1}, {"crowd.guess_se", &c.GuessLogitSE, 1}, {"crowd.taste", &c.Taste, tastes},
	}
}

func crowdTensors(c *head.Crowd) []safetensors.Tensor {
	if c == nil {
		return nil
	}
	var list []safetensors.Tensor
	for _, part := range crowdParts(c) {
		if part.width == 0 {
			continue
		}
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
		if part.width == 0 {
			continue
		}
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
