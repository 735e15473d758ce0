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
	"strconv"
	"time"

	"credence/dataset"
	"credence/internal/budget"
	"credence/internal/calculator"
	"credence/internal/votelog"
	"credence/internal/words"
)

// Limits bound the size and cost of requests. A zero field means the value in [DefaultLimits].
type Limits struct {
	Body        int64         // bytes of a request
	Rows        int           // items in a request
	Columns     int           // columns of a request, and of a response table with several levels; classes of a mixture
	Values      int           // numbers in the lists of a request
	Levels      int           // levels of intervals in a request
	Intervals   int           // items × classes × levels
	Components  int           // components of a mixture in a mixture query
	Points      int           // (levels + quantiles + CDF points) × classes of a mixture query
	Response    int64         // bytes of a response
	Memory      int64         // bytes of the request and response bodies of all requests in progress
	Concurrency int           // requests in progress at the same time
	PerClient   int           // of these, requests of one client; 0 means half of Concurrency, but at least 16
	Timeout     time.Duration // duration of a request
}

// DefaultLimits are larger than any legitimate request is expected to need.
var DefaultLimits = Limits{
	Body: 64 << 20, Rows: 100_000, Columns: 10_000, Values: 16 << 20,
	Levels: 200, Intervals: 10_000_000, Components: 1000, Points: 100_000,
	Response: 256 << 20, Memory: 512 << 20, Concurrency: 256, PerClient: 128, Timeout: time.Minute,
}

// complete sets defaults and rejects negative limits.
func (l *Limits) complete() error {
	concurrency := cmp.Or(l.Concurrency, DefaultLimits.Concurrency)
	l.PerClient = cmp.Or(l.PerClient, max(16, concurrency/2))
	l.Memory = cmp.Or(l.Memory, max(DefaultLimits.Memory, 2*l.Body))
	all, initial := reflect.ValueOf(l).Elem(), reflect.ValueOf(DefaultLimits)
	for i := range all.NumField() {
		if all.Field(i).IsZero() {
			all.Field(i).Set(initial.Field(i))
		}
		if all.Field(i).Int() < 0 {
			return errors.New("limits must not be negative")
		}
	}
	return nil
}

// exceeds returns an error that names the flag if found is more than most, and nil otherwise.
func exceeds(what string, found, most int, flag string) error {
	if found <= most {
		return nil
	}
	return failf(http.StatusRequestEntityTooLarge, "%s: expected at most %s, found %s (credence serve --%s)",
		what, words.Thousands(most), words.Thousands(found), flag)
}

// checkLevels returns an error if a request has too many levels.
func (l *Limits) checkLevels(n int) error {
	return exceeds("levels of a request", n, l.Levels, "max-levels")
}

// checkIntervals returns an error if a request has too many intervals in total.
func (l *Limits) checkIntervals(rows, classes, levels int) error {
	what := fmt.Sprintf("intervals of a request (items × %d classes × %d levels)", classes, levels)
	return exceeds(what, rows*classes*levels, l.Intervals, "max-intervals")
}

// checkMixture returns an error if a mixture query is too large.
func (l *Limits) checkMixture(s calculator.Size) error {
	return cmp.Or(
		exceeds("components of the mixture", s.Components, l.Components, "max-components"),
		exceeds("classes of the mixture", s.Classes, l.Columns, "max-columns"),
		l.checkLevels(s.Levels),
		exceeds("(levels + quantiles + points) × classes of the mixture", s.Points, l.Points, "max-points"))
}

// checkResponse returns an error if a response has too many bytes.
func (l *Limits) checkResponse(bytes int64) error {
	if bytes <= l.Response {
		return nil
	}
	return failf(http.StatusRequestEntityTooLarge,
		"response: expected at most %s bytes (credence serve --max-answer); request fewer items, levels or outputs at a time", words.Thousands(int(l.Response)))
}

// timedOut returns the error for a request that took too long.
func (l *Limits) timedOut() error {
	return failf(http.StatusServiceUnavailable,
		"timeout: the request took longer than %v (credence serve --timeout); request fewer items, levels or components at a time", l.Timeout)
}

// firstBytes is the initial size of the buffer for a body.
const firstBytes = 64 << 10

// body reads the body of a request up to the limit. The buffer grows as bytes arrive, regardless of the
// announced Content-Length, and counts against the memory shared by all requests.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	plain, err := s.plain(w, r)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	size := int64(firstBytes)
	if n := r.ContentLength; n >= 0 && n < size {
		size = n + 1 // so that io.EOF is seen without growing
	}
	var b []byte
	for {
		if len(b) == cap(b) {
			if err := s.hold(w, size); err != nil {
				// A client that is still sending would see a broken connection instead of the response.
				_, _ = io.Copy(io.Discard, plain)
				return nil, err
			}
			b = slices.Grow(b, int(size))
			size = int64(cap(b)) // double the next time
		}
		n, err := plain.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			if r.ContentLength > int64(len(b)) && r.Header.Get("Content-Encoding") == "" {
				return nil, badRequest("the body of the request ends too early: expected %d bytes, found %d", r.ContentLength, len(b))
			}
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// hold reserves n bytes of the memory shared by all requests until this request ends.
func (s *Server) hold(w http.ResponseWriter, n int64) error {
	if s.held.Add(n) > s.options.Limits.Memory {
		s.held.Add(-n)
		return failf(http.StatusServiceUnavailable,
			"out of memory for requests: those in progress use the limit of %d bytes (credence serve --max-memory)", s.options.Limits.Memory)
	}
	w.(*recorder).held += n
	return nil
}

// httpError is an error with the HTTP status to respond with.
type httpError struct {
	status int
	err    error
	retry  int // seconds after which the request may succeed; 0 if unknown
}

func (e *httpError) Error() string { return e.err.Error() }
func (e *httpError) Unwrap() error { return e.err }

func failf(status int, format string, args ...any) error {
	return &httpError{status: status, err: fmt.Errorf(format, args...)}
}

// setRetry sets the header Retry-After if an error has a time after which the request may succeed.
func setRetry(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*httpError](err); ok && e.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retry))
	}
}

// badRequest returns an error with status 400.
func badRequest(format string, args ...any) error {
	return failf(http.StatusBadRequest, format, args...)
}

// causeOf replaces an error of a request's context with the cause: the request timed out, or the client disconnected.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}

// stopped returns ctx.Err() at every 1024th iteration of a loop over many items, and nil otherwise.
func stopped(ctx context.Context, i int) error {
	if i%1024 != 0 {
		return nil
	}
	return ctx.Err()
}

// statusClientGone is the status nginx logs if the client disconnects before the response.
const statusClientGone = 499

// statusOf returns the HTTP status for an error: the one it carries, or one that depends on its cause.
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
