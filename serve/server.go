// Package serve serves predictions over HTTP, using protocols that existing clients support: the Open
// Inference Protocol (KServe, Triton, MLServer), MLflow's scoring protocol, Label Studio's ML backend, and
// its own API under /api/v1. All of them return the values that credence predict writes, bit for bit.
//
// A [Server] serves the models below a folder and picks up models that are trained while it runs.
// It acknowledges a posted vote only after the vote is on disk.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"credence/dataset"
	"credence/internal/votelog"
)

// Options configures a [Server].
type Options struct {
	// Path is a run, a model file, or a folder of runs.
	Path string
	// BasePath is the prefix of all routes, such as /credence.
	BasePath string
	// Token, if set, is required from clients, as a bearer token or as the password of Basic
	// authentication.
	Token string
	// Proxies are addresses, networks or "unix": reverse proxies whose X-Forwarded-For and X-Forwarded-Proto,
	// or Forwarded, are believed.
	Proxies []string
	// Hosts are the accepted values of the Host header. If nil, localhost and IP addresses are
	// accepted, and any name if there is a token.
	Hosts []string
	// Backbone has the library and the process that run the backbones of models, and the path of the backbone if it is not that
	// of the model's run.
	Backbone dataset.BackboneOptions
	// Votes is the file that posted votes are appended to; if "", votes are not accepted.
	Votes string
	// Level is the default level of intervals; 0 means 0.95.
	Level float64
	// MaxWidth and MinTop, if not 0, define the items to abstain on: those where the interval of the
	// predicted class is wider than MaxWidth, or its probability of being the top class is below MinTop.
	MaxWidth, MinTop float64
	// Queue holds the items that people review and vote on, if any.
	Queue Queue
	// Health configures the monitoring of the model by posted votes.
	Health Health
	// Version is the version of the program.
	Version string
	Limits  Limits
	Log     *slog.Logger
	// AccessLog logs every request at level info instead of debug.
	AccessLog bool
	// OpenMetrics makes /metrics require no token. [Server.Metrics] is a handler for an address of its own.
	OpenMetrics bool
	// Reload is the interval between checks for new models; 0 means two seconds.
	Reload time.Duration
}

// complete validates the options and sets defaults.
func (o *Options) complete() error {
	o.Level = cmp.Or(o.Level, 0.95)
	o.Reload = cmp.Or(o.Reload, 2*time.Second)
	if err := o.Limits.complete(); err != nil {
		return err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.BasePath = strings.TrimSuffix(o.BasePath, "/")
	if o.BasePath != "" && !strings.HasPrefix(o.BasePath, "/") {
		return fmt.Errorf("base path %q: expected a path that begins with /", o.BasePath)
	}
	if o.Reload < 0 {
		return fmt.Errorf("reload interval %v: expected at least 0", o.Reload)
	}
	return cmp.Or(checkAbstention(o.MaxWidth, o.MinTop), checkLevel(o.Level))
}

// defaultOptions returns the options of a prediction before those of the request are applied.
func (s *Server) defaultOptions() *predictOptions {
	o := &s.options
	w := &predictOptions{level: o.Level, limits: &o.Limits}
	w.MaxWidth, w.MinTop = o.MaxWidth, o.MinTop
	return w
}

// Server serves models.
type Server struct {
	options  Options
	registry *registry
	votes    *votelog.Log // or nil
	queue    *queue       // or nil
	health   *health      // or nil
	metrics  *metrics
	access   *access
	handler  http.Handler
	slots    chan struct{} // a semaphore of the requests in progress
	stats    sync.Map      // {model, version} → *inferStats
	held     atomic.Int64  // bytes of request and response bodies in memory
	draining atomic.Bool
}

// New loads the models and opens the vote file. The caller must close the server.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	a, err := newAccess(o.Token, o.Proxies)
	if err != nil {
		return nil, err
	}
	r, err := newRegistry(o.Path, o.Backbone, o.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, registry: r, access: a, slots: make(chan struct{}, o.Limits.Concurrency)}
	if o.Votes != "" {
		if s.votes, err = votelog.Open(o.Votes, s.logVotes); err != nil {
			return nil, err
		}
	}
	if len(o.Queue.Items) > 0 {
		if s.queue, err = newQueue(s, o.Queue); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.metrics = newMetrics(r, s.votes)
	if s.queue != nil && s.votes != nil && !o.Health.Off {
		if s.health, err = newHealth(s, o.Health); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.metrics.all.MustRegister(&healthInfo{s.health})
	}
	mux := http.NewServeMux()
	s.oip(mux)
	s.mlflow(mux)
	s.labelStudio(mux)
	s.operations(mux)
	s.api(mux)
	s.page(mux)
	s.handler = s.guard(mux)
	return s, nil
}

// logVotes logs that votes cannot be written, or that they can be written again if err is nil.
func (s *Server) logVotes(err error) {
	if err != nil {
		s.options.Log.Error("writing votes failed", "error", err)
	} else {
		s.options.Log.Info("votes can be written again")
	}
}

// Handler returns the HTTP handler of the server.
func (s *Server) Handler() http.Handler { return s.handler }

// Models returns the sorted names of the models.
func (s *Server) Models() []string { return s.registry.current.Load().names() }

// Reload checks for new, replaced and removed models. Requests in progress keep the model they started with.
func (s *Server) Reload() error { return s.registry.reload() }

// Close writes pending votes and closes the vote file.
func (s *Server) Close() error {
	if s.health != nil {
		s.health.close()
	}
	if s.queue != nil {
		s.queue.close()
	}
	if s.votes == nil {
		return nil
	}
	return s.votes.Close()
}

// Serve accepts connections on l until ctx is done, then waits up to ten seconds for the requests in
// progress.
func (s *Server) Serve(ctx context.Context, l net.Listener, secure *tls.Config) error {
	hs := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       s.options.Limits.Timeout + 10*time.Second,
		WriteTimeout:      2*s.options.Limits.Timeout + 20*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		TLSConfig:         secure,
		ErrorLog:          slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug),
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go s.registry.watch(watching, s.options.Reload)
	done := make(chan error, 1)
	go func() { done <- hs.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	s.draining.Store(true)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := hs.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(errors.New("requests were still in progress after ten seconds"), hs.Close())
	}
	<-done
	return err
}

// Listen listens on an address: host:port, or unix:PATH.
func Listen(addr string) (net.Listener, error) {
	path, ok := strings.CutPrefix(addr, "unix:")
	if !ok {
		return net.Listen("tcp", addr)
	}
	l, err := net.Listen("unix", path)
	if info, statErr := os.Lstat(path); err == nil || statErr != nil || info.Mode()&os.ModeSocket == 0 {
		return l, err
	}
	// A socket without a listener was left behind by a process that has exited.
	if c, dialErr := net.Dial("unix", path); dialErr == nil {
		c.Close()
		return nil, fmt.Errorf("%s: another process is listening on this socket", path)
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}

// Loopback reports whether an address can only be reached from this machine.
func Loopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr) // "" if addr has no port
	return strings.HasPrefix(addr, "unix:") || host == "localhost" || net.ParseIP(host).IsLoopback()
}
