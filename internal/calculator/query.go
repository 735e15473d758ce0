// Package calculator implements credence mixture: [Evaluate] evaluates queries as JSON
// lines, and [Report] prints tables and sketches of densities for people.
package calculator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Query selects the quantities to compute for a mixture.
type Query struct {
	Levels, Quantiles []float64

	weights, cdf, votes []float64
	alpha, logPDF       [][]float64
}

// parseQuery parses a JSON object strictly: exact names, each at most once,
// and no null in place of a number. encoding/json alone would ignore the case
// of names, and read null as 0.
func parseQuery(line []byte) (*Query, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(line, &whole); err != nil {
		syntax, _ := errors.AsType[*json.SyntaxError](err) // no other error is possible
		return nil, fmt.Errorf("malformed JSON at byte %d: %w", syntax.Offset, err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, _ := dec.Token(); t != json.Delim('{') {
		return nil, fmt.Errorf("expected an object with the keys weights and alpha, found %s",
			kindOf(bytes.TrimSpace(line)))
	}
	q := &Query{}
	fields := map[string]any{
		"weights": &q.weights, "alpha": &q.alpha, "levels": &q.Levels, "quantiles": &q.Quantiles,
		"cdf": &q.cdf, "logpdf": &q.logPDF, "votes": &q.votes,
	}
	seen := map[string]bool{}
	for dec.More() {
		t, _ := dec.Token()
		key, _ := t.(string)
		if seen[key] {
			return nil, fmt.Errorf("duplicate key %q", key)
		}
		seen[key] = true
		var err error
		switch field := fields[key].(type) {
		case *[]float64:
			var list []number
			err = typeError(dec.Decode(&list), "an array of numbers")
			*field = floats(list)
		case *[][]float64:
			var list [][]number
			err = typeError(dec.Decode(&list), "an array of arrays of numbers")
			for _, row := range list {
				*field = append(*field, floats(row))
			}
		default:
			return nil, fmt.Errorf("unknown key %q: expected weights, alpha, levels, quantiles, cdf, "+
				"logpdf or votes", key)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	for _, key := range []string{"weights", "alpha"} {
		if !seen[key] {
			return nil, fmt.Errorf("missing key %q: weights and alpha are required", key)
		}
	}
	return q, nil
}

// typeError rewrites a type error of encoding/json in terms of JSON instead of Go types.
func typeError(err error, expected string) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("expected %s, found a value of type %s", expected, e.Value)
	}
	return err
}

func floats(list []number) []float64 {
	if list == nil {
		return nil
	}
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = float64(v)
	}
	return values
}

// number is a float64 whose infinities are strings in JSON.
type number float64

func (x number) MarshalJSON() ([]byte, error) {
	v := float64(x)
	switch {
	case math.IsNaN(v):
		return nil, errNaN
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	}
	return json.Marshal(v)
}

func (x *number) UnmarshalJSON(raw []byte) error {
	if kind := kindOf(raw); kind != "a number" {
		return fmt.Errorf("expected a number, found %s", kind)
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil { // the syntax has been checked, so it is the range
		return fmt.Errorf("%.40s is beyond the range of float64", raw)
	}
	*x = number(v)
	return nil
}

// kinds are the kinds of JSON values by their first byte, other than numbers.
var kinds = map[byte]string{'{': "an object", '[': "an array", '"': "a string", 't': "a boolean", 'f': "a boolean", 'n': "null"}

// kindOf returns the kind of a JSON value.
func kindOf(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return cmp.Or(kinds[raw[0]], "a number")
}
