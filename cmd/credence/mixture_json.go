package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"credence/mixture"
)

// The answer to a mixtureQuery, under its JSON names. No slice is nil, so that
// what was not asked for reads as an empty array.
type (
	mixtureAnswer struct {
		Mean     []jsonNumber  `json:"mean"`
		Variance []jsonNumber  `json:"variance"`
		LogPDF   []jsonNumber  `json:"logpdf"`
		Classes  []classAnswer `json:"classes"`
		TopClass []jsonNumber  `json:"top_class"`
	}
	classAnswer struct {
		Mean      jsonNumber       `json:"mean"`
		Variance  jsonNumber       `json:"variance"`
		Quantiles []quantileAnswer `json:"quantiles"`
		CDF       []cdfAnswer      `json:"cdf"`
		Intervals []intervalAnswer `json:"intervals"`
	}
	quantileAnswer struct {
		Q          jsonNumber `json:"q"`
		X          jsonNumber `json:"x"`
		Complement jsonNumber `json:"complement"`
	}
	cdfAnswer struct {
		X        jsonNumber `json:"x"`
		CDF      jsonNumber `json:"cdf"`
		Survival jsonNumber `json:"survival"`
	}
	intervalAnswer struct {
		Level    jsonNumber      `json:"level"`
		TwoSided [2]jsonNumber   `json:"two_sided"`
		Upper    [2]jsonNumber   `json:"upper"`
		Lower    [2]jsonNumber   `json:"lower"`
		HPD      [][2]jsonNumber `json:"hpd"`
	}
)

// answerLine returns the answer to one line of input, without a line end.
func answerLine(line []byte) ([]byte, error) {
	q, err := parseQuery(line)
	if err != nil {
		return nil, err
	}
	m, err := q.mixture()
	if err != nil {
		return nil, err
	}
	return q.describe(m)
}

// mixture returns the mixture that q asks about, after the votes, and checks
// what it asks.
func (q *mixtureQuery) mixture() (*mixture.Dirichlet, error) {
	m, err := mixture.NewDirichlet(q.weights, q.alpha)
	if err != nil {
		return nil, err
	}
	if q.votes != nil {
		if m, err = m.Update(q.votes); err != nil {
			return nil, fmt.Errorf("votes: %w", err)
		}
	}
	for i, l := range q.levels {
		if err := checkLevel(l); err != nil {
			return nil, fmt.Errorf("levels[%d] is %v: %w", i, l, err)
		}
	}
	for i, p := range q.quantiles {
		if err := checkQuantile(p); err != nil {
			return nil, fmt.Errorf("quantiles[%d] is %v: %w", i, p, err)
		}
	}
	return m, nil
}

// describe writes what q asks about m.
func (q *mixtureQuery) describe(m *mixture.Dirichlet) ([]byte, error) {
	a := mixtureAnswer{
		Mean:     jsonNumbers(m.Mean(nil)),
		Variance: jsonNumbers(m.Variance(nil)),
		LogPDF:   make([]jsonNumber, len(q.logPDF)),
		Classes:  make([]classAnswer, m.Classes()),
		TopClass: jsonNumbers(m.TopClass(nil)),
	}
	for i, p := range q.logPDF {
		l, err := m.LogPDF(p)
		if err != nil {
			return nil, fmt.Errorf("logpdf[%d]: %w", i, err)
		}
		a.LogPDF[i] = jsonNumber(l)
	}
	for i := range a.Classes {
		a.Classes[i] = q.describeClass(m.Marginal(i))
	}
	return marshalLine(a)
}

func (q *mixtureQuery) describeClass(f *mixture.Beta) classAnswer {
	mean, variance := f.Moments()
	a := classAnswer{
		Mean:      jsonNumber(mean),
		Variance:  jsonNumber(variance),
		Quantiles: make([]quantileAnswer, len(q.quantiles)),
		CDF:       make([]cdfAnswer, len(q.cdf)),
		Intervals: make([]intervalAnswer, len(q.levels)),
	}
	for i, p := range q.quantiles {
		x, complement := f.QuantileBoth(p)
		a.Quantiles[i] = quantileAnswer{jsonNumber(p), jsonNumber(x), jsonNumber(complement)}
	}
	for i, x := range q.cdf {
		a.CDF[i] = cdfAnswer{jsonNumber(x), jsonNumber(f.CDF(x)), jsonNumber(f.Survival(x))}
	}
	for i, level := range q.levels {
		hpd := [][2]jsonNumber{}
		for _, piece := range f.HighestDensity(level) {
			hpd = append(hpd, jsonInterval(piece))
		}
		a.Intervals[i] = intervalAnswer{
			Level:    jsonNumber(level),
			TwoSided: jsonInterval(f.Interval(mixture.TwoSided, level)),
			Upper:    jsonInterval(f.Interval(mixture.Upper, level)),
			Lower:    jsonInterval(f.Interval(mixture.Lower, level)),
			HPD:      hpd,
		}
	}
	return a
}

// marshalLine returns v as JSON on one line, without a line end.
func marshalLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // an error may quote its input, for people to read
	if err := enc.Encode(v); err != nil {
		if e, ok := errors.AsType[*json.MarshalerError](err); ok {
			err = e.Err
		}
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
