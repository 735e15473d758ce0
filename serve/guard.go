package serve

import (
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"credence/internal/votelog"
)

// failure writes an error in the format of a protocol.
type failure func(w http.ResponseWriter, status int, err error)

// route adds a route whose handler may return an error.
func (s *Server) route(mux *http.ServeMux, pattern string, fail failure, f func(w http.ResponseWriter, r *http.Request) error) {
	method, path, _ := strings.Cut(pattern, " ")
	pattern = method + " " + s.options.BasePath + path
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		err := causeOf(r.Context(), f(w, r))
		if err == nil {
			return
		}
		rec := w.(*recorder)
		if rec.err = err; rec.status == 0 { // the response has not started
			setRetry(w, err)
			fail(w, statusOf(err), publicError(err))
		}
	})
}

// modelRoute adds a route for a model; named returns the model's name and version from a request.
func (s *Server) modelRoute(mux *http.ServeMux, pattern string, fail failure, named func(r *http.Request) (model, version string),
	f func(w http.ResponseWriter, r *http.Request, m *served) error) {
	s.route(mux, pattern, fail, func(w http.ResponseWriter, r *http.Request) error {
		m, err := s.registry.get(named(r))
		if err != nil {
			return err
		}
		return f(w, r, m)
	})
}

// publicError returns the error to send to a client, without internal details.
func publicError(err error) error {
	if e, ok := errors.AsType[*votelog.WriteError](err); ok {
		return errors.New("votes cannot be written: " + e.Reason())
	}
	if statusOf(err) == http.StatusInternalServerError {
		return errors.New("internal error: see the log of the server")
	}
	return err
}

// recorder records the status and the error of a response, and limits its size.
type recorder struct {
	http.ResponseWriter
	status int
	err    error
	slots  chan struct{} // the server's semaphore; nil if the request has not acquired it
	access *access       // which counts the requests of its client
	held   int64         // bytes of the request and response bodies in memory
	limits *Limits
	bytes  int64 // written so far, of a response that is no error
	sent   int64 // bytes of the body
	client string
}

// wait releases the request's slot while f waits for the client, so that clients that send or read
// slowly, or not at all, do not block others.
func (r *recorder) wait(f func()) {
	if r.slots != nil {
		<-r.slots
		r.access.leave(r.client)
		defer func() {
			r.slots <- struct{}{}
			r.access.enter(r.client, math.MaxInt)
		}()
	}
	f()
}

// patientBody is a request body that releases the request's slot during reads.
type patientBody struct {
	io.ReadCloser
	of *recorder
}

func (b *patientBody) Read(p []byte) (n int, err error) {
	b.of.wait(func() { n, err = b.ReadCloser.Read(p) })
	return n, err
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		r.Header().Set("Retry-After", cmp.Or(r.Header().Get("Retry-After"), "1"))
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (n int, err error) {
	if r.status < http.StatusBadRequest { // or not set
		if err := r.limits.checkResponse(r.bytes + int64(len(b))); err != nil {
			if r.status != 0 { // the status is sent: abort the response
				r.err = err
				panic(http.ErrAbortHandler)
			}
			return 0, err
		}
		r.bytes += int64(len(b))
	}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.sent += int64(len(b))
	if len(b) < 1<<14 { // usually fits the socket buffer
		return r.ResponseWriter.Write(b)
	}
	r.wait(func() { n, err = r.ResponseWriter.Write(b) })
	return n, err
}

// FlushError sends buffered data, or the status if there is none. [http.ResponseController] calls it.
func (r *recorder) FlushError() error {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// refuse sends an error for a request that is not passed on to a route.
func (r *recorder) refuse(err error) {
	r.err = err
	setRetry(r, err)
	oipErrors(r, statusOf(err), publicError(err))
}

// Unwrap gives [http.ResponseController] access to the underlying writer.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// guard wraps all routes with access checks, limits on concurrency and time, logging and metrics.
func (s *Server) guard(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		start := time.Now()
		w := &recorder{ResponseWriter: rw, limits: &s.options.Limits}
		w.client, _ = s.access.forwarded(r)
		id := requestID(r)
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		defer func() {
			p := recover()
			if p != nil && p != http.ErrAbortHandler {
				err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				if w.err = err; w.status == 0 {
					w.refuse(err)
				}
			}
			s.record(w, r, id, time.Since(start))
			if p == http.ErrAbortHandler {
				panic(p)
			}
		}()
		if err := s.admit(mux, r, w.client); err != nil {
			if statusOf(err) == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", challenge(r))
			}
			w.refuse(err)
			return
		}
		if light[strings.TrimPrefix(r.URL.Path, s.options.BasePath)] {
			mux.ServeHTTP(w, r)
			return
		}
		if !s.access.enter(w.client, s.options.Limits.PerClient) {
			w.refuse(failf(http.StatusTooManyRequests, "too many requests of this client in progress: at most %d are processed at a time (credence serve --max-client-requests)", s.options.Limits.PerClient))
			return
		}
		defer s.access.leave(w.client)
		select {
		case s.slots <- struct{}{}:
			w.slots, w.access = s.slots, s.access
			defer func() { <-s.slots }()
		default:
			w.refuse(failf(http.StatusTooManyRequests, "too many requests in progress: at most %d are processed at a time (credence serve --max-requests)", s.options.Limits.Concurrency))
			return
		}
		ctx, cancel := context.WithTimeoutCause(r.Context(), s.options.Limits.Timeout, s.options.Limits.timedOut())
		defer cancel()
		defer func() { s.held.Add(-w.held) }()
		r = r.WithContext(ctx) // mux sets r.Pattern on this request
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &patientBody{r.Body, w}
		}
		mux.ServeHTTP(w, r)
	})
}

// challenge returns the WWW-Authenticate header. The page's scripts ask for the token themselves: if
// Basic were offered to them, the browser would show its own prompt too.
func challenge(r *http.Request) string {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
		return `Bearer realm="credence"`
	}
	return `Bearer realm="credence", Basic realm="credence"`
}

// light are the paths that bypass the limit on concurrency, so that probes succeed under load.
var light = map[string]bool{"/v2/health/live": true, "/v2/health/ready": true, "/ping": true, "/health": true, "/version": true, "/metrics": true}

// requestIDs numbers requests, with a random prefix per process.
var requestIDs = struct {
	process string
	last    atomic.Uint64
}{process: rand.Text()[:10]}

// requestID returns the X-Request-Id of the client, or a new one if it has none or it is not valid.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return requestIDs.process + "-" + strconv.FormatUint(requestIDs.last.Add(1), 10)
	}
	return id
}

// plain returns the decompressed body, limited in size.
func (s *Server) plain(w http.ResponseWriter, r *http.Request) (io.ReadCloser, error) {
	limit := s.options.Limits.Body
	if r.ContentLength > limit {
		return nil, failf(http.StatusRequestEntityTooLarge, "body: expected at most %d bytes, found %d (credence serve --max-body)", limit, r.ContentLength)
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	var unpacked io.Reader
	var err error
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return sentBody{body}, nil
	case "gzip":
		unpacked, err = gzip.NewReader(body)
	case "deflate":
		unpacked, err = zlib.NewReader(body)
	default:
		return nil, failf(http.StatusUnsupportedMediaType, "Content-Encoding %q: expected gzip, deflate or none", encoding)
	}
	if err != nil {
		return nil, badRequest("decompressing the body: %w", err)
	}
	return sentBody{http.MaxBytesReader(w, io.NopCloser(unpacked), limit)}, nil
}

// sentBody is the body of a request. That it ends too early, or is not what Content-Encoding states, is the client's error.
type sentBody struct{ io.ReadCloser }

func (b sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case corrupt, errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, zlib.ErrChecksum):
		err = badRequest("decompressing the body: %w", err)
	case errors.Is(err, io.ErrUnexpectedEOF), connectionReset(err):
		err = badRequest("the body of the request ends too early: %w", err)
	}
	return n, err
}

// connectionReset reports whether the other side closed a connection. Windows has an error number of its own.
func connectionReset(err error) bool {
	const windowsReset = syscall.Errno(10054) // WSAECONNRESET
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, windowsReset)
}

// record logs a request and updates the metrics.
func (s *Server) record(w *recorder, r *http.Request, id string, took time.Duration) {
	status := cmp.Or(w.status, http.StatusOK)
	route := cmp.Or(r.Pattern, "none")
	if _, path, ok := strings.Cut(route, " "); ok {
		route = path
	}
	s.metrics.requests.WithLabelValues(route, methodLabel(r.Method), strconv.Itoa(status)).Inc()
	s.metrics.latency.WithLabelValues(route).Observe(took.Seconds())
	level := slog.LevelDebug
	if status >= 500 {
		level = slog.LevelError
	} else if w.err != nil || s.options.AccessLog {
		level = slog.LevelInfo
	}
	if log := s.options.Log; log.Enabled(r.Context(), level) {
		about := []any{"id", id, "client", w.client, "method", r.Method, "route", route, "path", r.URL.Path, "status", status,
			"bytes", w.sent, "ms", float64(took.Microseconds()) / 1000}
		if w.err != nil {
			about = append(about, "error", w.err)
		}
		log.Log(context.Background(), level, "request", about...)
	}
}

// methodLabel returns the metrics label of a method. Unknown methods share one, so that clients cannot create more.
func methodLabel(method string) string {
	if slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
		return method
	}
	return "other"
}
