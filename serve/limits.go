package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"time"

	"credence/dataset"
	"credence/internal/budget"
	"credence/internal/calculator"
	"credence/internal/votelog"
	"credence/internal/words"
)

// Limits bound what a request may ask for. A field that is 0 has the value of [DefaultLimits].
type Limits struct {
	Body        int64         // bytes of a request
	Rows        int           // items in a request
	Columns     int           // columns of a request, and of a table with several levels that is answered; classes of a mixture
	Values      int           // numbers in the lists of a request
	Levels      int           // levels of intervals in a request
	Intervals   int           // items by classes by levels
	Components  int           // of a mixture that is asked about
	Points      int           // levels, quantiles and points of a mixture that is asked about, by classes
	Answer      int64         // bytes of an answer
	Memory      int64         // bytes that the bodies and answers of all requests at work hold
	Concurrency int           // requests at work at the same time
	Timeout     time.Duration // of a request
}

// DefaultLimits are beyond what clients ask for on purpose.
var DefaultLimits = Limits{
	Body: 64 << 20, Rows: 100_000, Columns: 10_000, Values: 16 << 20,
	Levels: 200, Intervals: 10_000_000, Components: 1000, Points: 100_000,
	Answer: 256 << 20, Memory: 512 << 20, Concurrency: 256, Timeout: time.Minute,
}

// complete puts in what is not given.
func (l *Limits) complete() error {
	l.Memory = cmp.Or(l.Memory, max(DefaultLimits.Memory, 2*l.Body))
	all, initial := reflect.ValueOf(l).Elem(), reflect.ValueOf(DefaultLimits)
	for i := range all.NumField() {
		if all.Field(i).IsZero() {
			all.Field(i).Set(initial.Field(i))
		}
		if all.Field(i).Int() < 0 {
			return errors.New("a limit is negative")
		}
	}
	return nil
}

// exceeds is the error of a request in which there is more of something than a flag allows; nil if there is not.
func exceeds(what string, found, most int, flag string) error {
	if found <= most {
		return nil
	}
	return failf(http.StatusRequestEntityTooLarge, "%s: found %s, expected at most %s (credence serve --%s)",
		what, words.Thousands(found), words.Thousands(most), flag)
}

// checkLevels refuses a request for too many levels.
func (l *Limits) checkLevels(n int) error {
	return exceeds("levels of a request", n, l.Levels, "max-levels")
}

// checkIntervals refuses items that have too many intervals in all.
func (l *Limits) checkIntervals(rows, classes, levels int) error {
	what := fmt.Sprintf("intervals of a request (items × %d classes × %d levels)", classes, levels)
	return exceeds(what, rows*classes*levels, l.Intervals, "max-intervals")
}

// checkMixture refuses questions about a mixture that are too large.
func (l *Limits) checkMixture(s calculator.Size) error {
	return cmp.Or(
		exceeds("components of the mixture", s.Components, l.Components, "max-components"),
		exceeds("classes of the mixture", s.Classes, l.Columns, "max-columns"),
		l.checkLevels(s.Levels),
		exceeds("levels, quantiles and points, times classes", s.Points, l.Points, "max-points"))
}

// checkAnswer refuses an answer of too many bytes.
func (l *Limits) checkResponse(bytes int64) error {
	if bytes <= l.Answer {
		return nil
	}
	return failf(http.StatusRequestEntityTooLarge,
		"the answer has more than %s bytes (credence serve --max-answer): ask for fewer items, levels or outputs at a time", words.Thousands(int(l.Answer)))
}

// timedOut is the error of a request that took too long.
func (l *Limits) timedOut() error {
	return failf(http.StatusServiceUnavailable,
		"the request took longer than %v (credence serve --timeout): ask for fewer items, levels or components at a time", l.Timeout)
}

// firstBytes is how much memory a body gets before any of it has come.
const firstBytes = 64 << 10

// body reads the body, which is bounded. Memory is taken as bytes come in, whatever length the client
// announces, and from what all requests share.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	plain, err := s.plain(w, r)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	size := int64(firstBytes)
	if n := r.ContentLength; n >= 0 && n < size {
		size = n + 1 // and the end is seen without further room
	}
	var b []byte
	for {
		if len(b) == cap(b) {
			if err := s.hold(w, size); err != nil {
				// A client that is still sending would see a broken connection instead of the answer.
				_, _ = io.Copy(io.Discard, plain)
				return nil, err
			}
			b = slices.Grow(b, int(size))
			size = int64(cap(b)) // doubled the next time
		}
		n, err := plain.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			if r.ContentLength > int64(len(b)) && r.Header.Get("Content-Encoding") == "" {
				return nil, io.ErrUnexpectedEOF
			}
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// hold takes n bytes of the memory that bodies and answers share, until the request ends.
func (s *Server) hold(w http.ResponseWriter, n int64) error {
	if s.held.Add(n) > s.options.Limits.Memory {
		s.held.Add(-n)
		return failf(http.StatusServiceUnavailable,
			"requests at work fill the memory they share, %d bytes (credence serve --max-memory)", s.options.Limits.Memory)
	}
	w.(*recorder).held += n
	return nil
}

// httpError is an error with the status that it is answered with.
type httpError struct {
	status int
	err    error
}

func (e *httpError) Error() string { return e.err.Error() }
func (e *httpError) Unwrap() error { return e.err }

func failf(status int, format string, args ...any) error {
	return &httpError{status, fmt.Errorf(format, args...)}
}

// badRequest is an error of the client's.
func badRequest(format string, args ...any) error {
	return failf(http.StatusBadRequest, format, args...)
}

// causeOf returns, for an error of a request's context, why that is done: the request took too long, or the client left.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// stopped returns the error of a request's context in a loop over many items, at every 1024th of them.
func stopped(ctx context.Context, i int) error {
	if i%1024 != 0 {
		return nil
	}
	return ctx.Err()
}

// statusClientGone is how nginx records a request whose client left before it was answered.
const statusClientGone = 499

// statusOf returns the status of an error: the one it carries, or the one that its cause calls for.
func statusOf(err error) int {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e.status
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if _, ok := errors.AsType[*votelog.WriteError](err); ok {
		return http.StatusInsufficientStorage
	}
	switch {
	case errors.Is(err, budget.ErrMemory):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.Canceled):
		return statusClientGone
	case errors.Is(err, dataset.ErrMissingFeature):
		return http.StatusBadRequest
	}
	if _, ok := errors.AsType[*dataset.ParseError](err); ok {
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
