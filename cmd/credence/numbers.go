package main

import (
	"strconv"
	"strings"

	"credence/internal/config"
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

func (n *numbers) String() string { return joinNumbers(n.values, ",") }
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
	var rows []string
	for _, values := range *r {
		rows = append(rows, joinNumbers(values, ","))
	}
	return strings.Join(rows, " ")
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

// joinNumbers writes each value with about six digits.
func joinNumbers(values []float64, separator string) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(separator)
		}
		if v >= 1e5 && v < 1e10 { // rather 1000000 than 1e+06
			b.WriteString(strconv.FormatFloat(v, 'f', 0, 64))
		} else {
			b.WriteString(strconv.FormatFloat(v, 'g', 6, 64))
		}
	}
	return b.String()
}
