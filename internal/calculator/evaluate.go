package calculator

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"credence/internal/par"
	"credence/mixture"
)

// The result of a Query, with its JSON names. No slice is nil, so that quantities that
// were not requested are empty arrays.
type (
	result struct {
		Mean     []float64     `json:"mean"`
		Variance []float64     `json:"variance"`
		LogPDF   []number      `json:"logpdf"`
		Classes  []classResult `json:"classes"`
		TopClass []float64     `json:"top_class"`
	}
	classResult struct {
		Mean      float64          `json:"mean"`
		Variance  float64          `json:"variance"`
		Quantiles []quantileResult `json:"quantiles"`
		CDF       []cdfResult      `json:"cdf"`
		Intervals []intervalResult `json:"intervals"`
	}
	quantileResult struct {
		Q          float64 `json:"q"`
		X          float64 `json:"x"`
		Complement float64 `json:"complement"`
	}
	cdfResult struct {
		X        float64 `json:"x"`
		CDF      float64 `json:"cdf"`
		Survival float64 `json:"survival"`
	}
	intervalResult struct {
		Level    float64      `json:"level"`
		TwoSided [2]float64   `json:"two_sided"`
		Upper    [2]float64   `json:"upper"`
		Lower    [2]float64   `json:"lower"`
		HPD      [][2]float64 `json:"hpd"`
	}
)

// CheckLevel returns an error unless level is in (0, 1).
func CheckLevel(level float64) error {
	if !(level > 0 && level < 1) {
		return errors.New("expected a level between 0 and 1")
	}
	return nil
}

// CheckQuantile returns an error unless q is in [0, 1].
func CheckQuantile(q float64) error {
	if !(q >= 0 && q <= 1) {
		return errors.New("expected a probability between 0 and 1")
	}
	return nil
}

// Size is the size of a query.
type Size struct {
	Components, Classes, Levels int
	Points                      int // (levels + quantiles + CDF points) × classes + density points
}

// EvaluateOne evaluates one query and returns the result as JSON, without a line end. check, if not nil, may reject
// the query by its size. When ctx is done EvaluateOne stops and returns the context's error.
func EvaluateOne(ctx context.Context, question []byte, check func(Size) error) ([]byte, error) {
	q, err := parseQuery(question)
	if err != nil {
		return nil, err
	}
	if check != nil {
		s := Size{Components: max(len(q.weights), len(q.alpha)), Levels: len(q.Levels)}
		for _, a := range q.alpha {
			s.Classes = max(s.Classes, len(a))
		}
		s.Points = s.Classes*(len(q.Levels)+len(q.Quantiles)+len(q.cdf)) + len(q.logPDF)
		if err := check(s); err != nil {
			return nil, err
		}
	}
	m, err := q.mixture()
	if err != nil {
		return nil, err
	}
	return q.Describe(ctx, m)
}

// mixture returns the mixture of the query, updated with the votes, and checks
// the levels and quantiles.
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
	return m, cmp.Or(checkEach("levels", q.Levels, CheckLevel), checkEach("quantiles", q.Quantiles, CheckQuantile))
}

// checkEach returns the first error of check about the values of a key.
func checkEach(key string, values []float64, check func(float64) error) error {
	for i, x := range values {
		if err := check(x); err != nil {
			return fmt.Errorf("%s[%d] %v: %w", key, i, x, err)
		}
	}
	return nil
}

// Describe evaluates q for m and returns the result as a line of JSON, without a line end. When ctx is done it stops
// and returns the context's error.
func (q *Query) Describe(ctx context.Context, m *mixture.Dirichlet) ([]byte, error) {
	top, err := m.TopClassContext(ctx, nil)
	if err != nil {
		return nil, err
	}
	a := result{
		Mean: m.Mean(nil), Variance: m.Variance(nil), TopClass: top,
		LogPDF: make([]number, len(q.logPDF)), Classes: make([]classResult, m.Classes()),
	}
	for i, p := range q.logPDF {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := m.LogPDF(p)
		if err != nil {
			return nil, fmt.Errorf("logpdf[%d]: %w", i, err)
		}
		a.LogPDF[i] = number(l)
	}
	for i := range a.Classes {
		if a.Classes[i], err = q.describeClass(ctx, m.Marginal(i)); err != nil {
			return nil, err
		}
	}
	return marshalLine(a)
}

func (q *Query) describeClass(ctx context.Context, f *mixture.Beta) (classResult, error) {
	a := classResult{
		Quantiles: make([]quantileResult, len(q.Quantiles)),
		CDF:       make([]cdfResult, len(q.cdf)),
		Intervals: make([]intervalResult, len(q.Levels)),
	}
	a.Mean, a.Variance = f.Moments()
	for i, p := range q.Quantiles {
		if err := ctx.Err(); err != nil {
			return a, err
		}
		x, complement := f.QuantileBoth(p)
		a.Quantiles[i] = quantileResult{p, x, complement}
	}
	for i, x := range q.cdf {
		if err := ctx.Err(); err != nil {
			return a, err
		}
		a.CDF[i] = cdfResult{x, f.CDF(x), f.Survival(x)}
	}
	ends := func(i mixture.Interval) [2]float64 { return [2]float64{i.Lo, i.Hi} }
	for i, level := range q.Levels {
		set, err := f.HighestDensityContext(ctx, level)
		if err != nil {
			return a, err
		}
		hpd := [][2]float64{}
		for _, piece := range set {
			hpd = append(hpd, ends(piece))
		}
		a.Intervals[i] = intervalResult{
			Level:    level,
			TwoSided: ends(f.Interval(mixture.TwoSided, level)),
			Upper:    ends(f.Interval(mixture.Upper, level)),
			Lower:    ends(f.Interval(mixture.Lower, level)),
			HPD:      hpd,
		}
	}
	return a, ctx.Err()
}

// errNaN does not occur for mixtures with parameters in the documented range.
var errNaN = errors.New("a result is not a number: expected parameters from 1e-3 to 1e7")

// marshalLine returns v as JSON on one line, without a line end.
func marshalLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // keep quoted input in error messages readable
	err := enc.Encode(v)
	if _, ok := errors.AsType[*json.UnsupportedValueError](err); ok || errors.Is(err, errNaN) {
		return nil, errNaN
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

const (
	// longestLine bounds the length of a line of input.
	longestLine = 64 << 20
	// linesAtOnce bounds the number of lines per batch.
	linesAtOnce = 256
)

// lineError is the output for a line that could not be evaluated.
type lineError struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// Evaluate writes the results for the lines of in, in order. It returns the number of
// lines that are not blank and the number of those that could not be evaluated. Lines
// that have arrived are evaluated in parallel; none waits for more input.
func Evaluate(in io.Reader, w io.Writer) (lines, bad int, err error) {
	r := &lineReader{r: bufio.NewReaderSize(in, 256<<10)}
	var results bytes.Buffer
	for {
		batch, readErr := r.batch()
		par.For(len(batch), func(i int) { batch[i].solve() })
		results.Reset()
		for _, l := range batch {
			results.Write(l.result)
			results.WriteByte('\n')
			lines++
			if l.err != nil {
				bad++
			}
		}
		if results.Len() > 0 {
			if _, err := w.Write(results.Bytes()); err != nil {
				return lines, bad, fmt.Errorf("writing results: %w", err)
			}
		}
		if readErr == io.EOF {
			return lines, bad, nil
		}
		if readErr != nil {
			return lines, bad, fmt.Errorf("reading line %d of standard input: %w", r.number, readErr)
		}
	}
}

// inputLine is a line of input with its result.
type inputLine struct {
	number int // counted from 1
	text   []byte
	err    error
	result []byte
}

func (l *inputLine) solve() {
	if l.err == nil {
		l.result, l.err = EvaluateOne(context.Background(), l.text, nil)
	}
	if l.err != nil {
		// Cannot fail: lineError has only an int and a string.
		l.result, _ = marshalLine(lineError{l.number, l.err.Error()})
	}
}

// lineReader reads lines of bounded length.
type lineReader struct {
	r      *bufio.Reader
	number int // of the line read last
}

// batch waits for a line and returns it with the lines that have already arrived,
// except blank ones. The error, such as io.EOF, concerns the input after them.
func (r *lineReader) batch() ([]inputLine, error) {
	var lines []inputLine
	for {
		text, err := r.line()
		l := inputLine{number: r.number, text: bytes.TrimRight(text, "\r\n")}
		if errors.Is(err, errLongLine) {
			l.err, err = err, nil
		}
		if err != nil && err != io.EOF {
			return lines, err // an incomplete line is not evaluated
		}
		if l.err != nil || len(bytes.TrimSpace(text)) > 0 {
			lines = append(lines, l)
		}
		if err != nil || len(lines) == linesAtOnce || len(lines) > 0 && !r.ready() {
			return lines, err
		}
	}
}

// ready reports whether the next line can be read without blocking.
func (r *lineReader) ready() bool {
	arrived, _ := r.r.Peek(r.r.Buffered())
	return bytes.IndexByte(arrived, '\n') >= 0
}

var errLongLine = errors.New("line too long")

// line returns a copy of the next line. One that is too long is skipped to its
// end, so that the next can be read. The last line may lack its end: it comes
// with io.EOF.
func (r *lineReader) line() ([]byte, error) {
	r.number++
	var line []byte
	long := false
	for {
		chunk, err := r.r.ReadSlice('\n')
		if len(line)+len(chunk) > longestLine {
			long, line = true, nil
		}
		if !long {
			line = append(line, chunk...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case long && (err == nil || err == io.EOF):
			// At the end of input the next call reports it.
			return nil, fmt.Errorf("%w: expected at most %d bytes", errLongLine, longestLine)
		default:
			return line, err
		}
	}
}
