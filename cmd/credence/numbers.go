package main

import (
	"strconv"
	"strings"

	"credence/internal/calculator"
	"credence/internal/config"
	"credence/internal/words"
)

// numbers is a flag of numbers separated by commas. Given repeatedly, it holds
// those of all; its default gives way to the first.
type numbers struct {
	values  []float64
	changed bool
}

func (n *numbers) Set(s string) error {
	values, err := parseNumbers(s)
	if err != nil {
		return err
	}
	if !n.changed {
		n.values, n.changed = nil, true
	}
	n.values = append(n.values, values...)
	return nil
}

func (n *numbers) String() string { return calculator.JoinNumbers(n.values, ",") }
func (n *numbers) Type() string   { return "numbers" }

// numberRows is a flag that adds a row of numbers each time it is given.
type numberRows [][]float64

func (r *numberRows) Set(s string) error {
	values, err := parseNumbers(s)
	if err != nil {
		return err
	}
	*r = append(*r, values)
	return nil
}

func (r *numberRows) String() string {
	row := func(values []float64) string { return calculator.JoinNumbers(values, ",") }
	return strings.Join(words.Each(*r, row), " ")
}

func (r *numberRows) Type() string { return "numbers" }

// parseNumbers reads finite numbers or fractions, separated by commas.
func parseNumbers(s string) ([]float64, error) {
	var values []float64
	for part := range strings.SplitSeq(s, ",") {
		v, err := config.ParseNumber(part)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// exact writes a number so that it reads back the same.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
