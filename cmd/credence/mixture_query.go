package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// mixtureQuery is one line of input: a mixture and what to tell about it.
type mixtureQuery struct {
	weights                []float64
	alpha                  [][]float64
	levels, quantiles, cdf []float64
	logPDF                 [][]float64
	votes                  []float64
}

// parseQuery reads one JSON object strictly: exact names, each at most once,
// and numbers where numbers belong. encoding/json alone would match names in
// any case, and read null as 0.
func parseQuery(line []byte) (*mixtureQuery, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(line, &whole); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("malformed JSON at byte %d: %w", syntax.Offset, err)
		}
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("found %s, expected an object with the keys weights and alpha", jsonKind(bytes.TrimSpace(line)))
	}
	q := &mixtureQuery{}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("malformed JSON: %w", err)
		}
		key, _ := t.(string)
		if seen[key] {
			return nil, fmt.Errorf("key %q occurs twice", key)
		}
		seen[key] = true
		switch key {
		case "weights":
			err = decodeNumbers(dec, &q.weights)
		case "alpha":
			err = decodeRows(dec, &q.alpha)
		case "levels":
			err = decodeNumbers(dec, &q.levels)
		case "quantiles":
			err = decodeNumbers(dec, &q.quantiles)
		case "cdf":
			err = decodeNumbers(dec, &q.cdf)
		case "logpdf":
			err = decodeRows(dec, &q.logPDF)
		case "votes":
			err = decodeNumbers(dec, &q.votes)
		default:
			return nil, fmt.Errorf("unknown key %q: the keys are weights, alpha, levels, quantiles, cdf, logpdf and votes", key)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	for _, key := range []string{"weights", "alpha"} {
		if !seen[key] {
			return nil, fmt.Errorf("no key %q: weights and alpha are needed", key)
		}
	}
	return q, nil
}

func decodeNumbers(dec *json.Decoder, dst *[]float64) error {
	var values []jsonNumber
	if err := dec.Decode(&values); err != nil {
		return typeError(err, "an array of numbers")
	}
	*dst = floats(values)
	return nil
}

func decodeRows(dec *json.Decoder, dst *[][]float64) error {
	var rows [][]jsonNumber
	if err := dec.Decode(&rows); err != nil {
		return typeError(err, "an array of arrays of numbers")
	}
	for _, values := range rows {
		*dst = append(*dst, floats(values))
	}
	return nil
}

// typeError says in the words of JSON what encoding/json says in those of Go.
func typeError(err error, expected string) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("found a value of the type %s, expected %s", e.Value, expected)
	}
	return err
}

func floats(numbers []jsonNumber) []float64 {
	if numbers == nil {
		return nil
	}
	values := make([]float64, len(numbers))
	for i, v := range numbers {
		values[i] = float64(v)
	}
	return values
}
