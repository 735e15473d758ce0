package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"credence/dataset"
	"credence/internal/budget"
	"credence/internal/votelog"
)

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
