package calculator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"credence/mixture"
)

// The answer to a Query, under its JSON names. No slice is nil, so that
// what was not asked for reads as an empty array.
type (
	answer struct {
		Mean     []number      `json:"mean"`
		Variance []number      `json:"variance"`
		LogPDF   []number      `json:"logpdf"`
		Classes  []classAnswer `json:"classes"`
		TopClass []number      `json:"top_class"`
	}
	classAnswer struct {
		Mean      number           `json:"mean"`
		Variance  number           `json:"variance"`
		Quantiles []quantileAnswer `json:"quantiles"`
		CDF       []cdfAnswer      `json:"cdf"`
		Intervals []intervalAnswer `json:"intervals"`
	}
	quantileAnswer struct {
		Q          number `json:"q"`
		X          number `json:"x"`
		Complement number `json:"complement"`
	}
	cdfAnswer struct {
		X        number `json:"x"`
		CDF      number `json:"cdf"`
		Survival number `json:"survival"`
	}
	intervalAnswer struct {
		Level    number      `json:"level"`
		TwoSided [2]number   `json:"two_sided"`
		Upper    [2]number   `json:"upper"`
		Lower    [2]number   `json:"lower"`
		HPD      [][2]number `json:"hpd"`
	}
)

// CheckLevel refuses what is not the level of an interval.
func CheckLevel(level float64) error {
	if !(level > 0 && level < 1) {
		return errors.New("a level lies between 0 and 1")
	}
	return nil
}

// CheckQuantile refuses what is not a probability.
func CheckQuantile(q float64) error {
	if !(q >= 0 && q <= 1) {
		return errors.New("a quantile's probability lies between 0 and 1")
	}
	return nil
}

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
	return q.Describe(m)
}

// mixture returns the mixture that q asks about, after the votes, and checks
// what it asks.
func (q *Query) mixture() (*mixture.Dirichlet, error) {
	m, err := mixture.NewDirichlet(q.weights, q.alpha)
	if err != nil {
		return nil, err
	}
	if q.votes != nil {
		if m, err = m.Update(q.votes); err != nil {
			return nil, fmt.Errorf("votes: %w", err)
		}
	}
	for i, l := range q.Levels {
		if err := CheckLevel(l); err != nil {
			return nil, fmt.Errorf("levels[%d] is %v: %w", i, l, err)
		}
	}
	for i, p := range q.Quantiles {
		if err := CheckQuantile(p); err != nil {
			return nil, fmt.Errorf("quantiles[%d] is %v: %w", i, p, err)
		}
	}
	return m, nil
}

// Describe returns what q asks about m as a line of JSON, without a line end.
func (q *Query) Describe(m *mixture.Dirichlet) ([]byte, error) {
	a := answer{
		Mean:     toNumbers(m.Mean(nil)),
		Variance: toNumbers(m.Variance(nil)),
		LogPDF:   make([]number, len(q.logPDF)),
		Classes:  make([]classAnswer, m.Classes()),
		TopClass: toNumbers(m.TopClass(nil)),
	}
	for i, p := range q.logPDF {
		l, err := m.LogPDF(p)
		if err != nil {
			return nil, fmt.Errorf("logpdf[%d]: %w", i, err)
		}
		a.LogPDF[i] = number(l)
	}
	for i := range a.Classes {
		a.Classes[i] = q.describeClass(m.Marginal(i))
	}
	return marshalLine(a)
}

func (q *Query) describeClass(f *mixture.Beta) classAnswer {
	mean, variance := f.Moments()
	a := classAnswer{
		Mean:      number(mean),
		Variance:  number(variance),
		Quantiles: make([]quantileAnswer, len(q.Quantiles)),
		CDF:       make([]cdfAnswer, len(q.cdf)),
		Intervals: make([]intervalAnswer, len(q.Levels)),
	}
	for i, p := range q.Quantiles {
		x, complement := f.QuantileBoth(p)
		a.Quantiles[i] = quantileAnswer{number(p), number(x), number(complement)}
	}
	for i, x := range q.cdf {
		a.CDF[i] = cdfAnswer{number(x), number(f.CDF(x)), number(f.Survival(x))}
	}
	for i, level := range q.Levels {
		hpd := [][2]number{}
		for _, piece := range f.HighestDensity(level) {
			hpd = append(hpd, ends(piece))
		}
		a.Intervals[i] = intervalAnswer{
			Level:    number(level),
			TwoSided: ends(f.Interval(mixture.TwoSided, level)),
			Upper:    ends(f.Interval(mixture.Upper, level)),
			Lower:    ends(f.Interval(mixture.Lower, level)),
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
