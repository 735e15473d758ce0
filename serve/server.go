// Package serve answers predictions over HTTP, in the protocols that clients already speak: the Open
// Inference Protocol (KServe, Triton, MLServer), MLflow's scoring, Label Studio's ML backend, and an
// API of its own under /api/v1. All of them answer what credence predict writes, bit for bit.
//
// A [Server] serves the models below a folder and takes over those that are trained while it runs.
// Votes that are posted to it are acknowledged after they are on disk.
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
	"sync/atomic"
	"time"

	"credence/internal/votelog"
)

// Options says what is served and how.
type Options struct {
	// Path is a run, a model file, or a folder of runs.
	Path string
	// BasePath is what all routes begin with, such as /credence.
	BasePath string
	// Token, if set, is what clients have to send: as a bearer token or as the password of Basic
	// authentication.
	Token string
	// Hosts are the names under which the server may be asked for; nil allows any that is an
	// address of the machine itself, and every name if there is a token.
	Hosts []string
	// Votes is the file that posted votes go to; "" takes none.
	Votes string
	// Level of the intervals where a request names none; 0 means 0.95.
	Level float64
	// MaxWidth and MinTop, if not 0, say on which items to abstain: where the interval of the
	// predicted class is wider, or the probability that it is the most probable one smaller.
	MaxWidth, MinTop float64
	// Queue says which items people look at and vote on, if any.
	Queue Queue
	// Version is that of the program.
	Version string
	Limits  Limits
	Log     *slog.Logger
	// Reload is how often runs are looked for that were trained since; 0 means every two seconds.
	Reload time.Duration
}

// complete puts in what is not given.
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
		return fmt.Errorf("base path %q: expected one that begins with /", o.BasePath)
	}
	if o.Reload < 0 {
		return fmt.Errorf("reload %v: expected a time that is not negative", o.Reload)
	}
	if err := checkAbstention(o.MaxWidth, o.MinTop); err != nil {
		return err
	}
	return checkLevel(o.Level)
}

// wanted returns what is asked for where a request says nothing else.
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
	metrics  *metrics
	handler  http.Handler
	slots    chan struct{} // one for each request at work
	held     atomic.Int64  // bytes of bodies and answers in memory
	draining atomic.Bool
}

// New loads the models and opens the file of votes. The caller closes the server.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	r, err := newRegistry(o.Path, o.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, registry: r, slots: make(chan struct{}, o.Limits.Concurrency)}
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
	mux := http.NewServeMux()
	s.oip(mux)
	s.mlflow(mux)
	s.labelStudio(mux)
	s.operations(mux)
	s.api(mux)
	if err := s.page(mux); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.handler = s.guard(mux)
	return s, nil
}

// logVotes logs that votes can no longer be written, or can again.
func (s *Server) logVotes(err error) {
	if err != nil {
		s.options.Log.Error("votes cannot be written", "error", err)
	} else {
		s.options.Log.Info("votes are written again")
	}
}

// Handler answers requests.
func (s *Server) Handler() http.Handler { return s.handler }

// Models returns the names of the models.
func (s *Server) Models() []string { return s.registry.current.Load().names() }

// Reload looks for models that are new, replaced or gone. Requests at work keep what they have.
func (s *Server) Reload() error { return s.registry.reload() }

// Close closes the file of votes, after those that wait are written.
func (s *Server) Close() error {
	if s.queue != nil {
		s.queue.close()
	}
	if s.votes == nil {
		return nil
	}
	return s.votes.Close()
}

// Serve answers requests on a listener until the context ends, and then those that have begun, for
// ten seconds at most.
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
		err = errors.Join(errors.New("requests were still at work after ten seconds"), hs.Close())
	}
	<-done
	return err
}

// Listen opens an address: host:port, or unix:PATH.
func Listen(addr string) (net.Listener, error) {
	path, ok := strings.CutPrefix(addr, "unix:")
	if !ok {
		return net.Listen("tcp", addr)
	}
	l, err := net.Listen("unix", path)
	if err == nil || !inUse(path) {
		return l, err
	}
	// A socket that nobody listens on was left behind by a process that is gone.
	if c, dialErr := net.Dial("unix", path); dialErr == nil {
		c.Close()
		return nil, fmt.Errorf("%s: another process listens there", path)
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}

// inUse reports whether a socket lies at path.
func inUse(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// Loopback reports whether only this machine can reach an address.
func Loopback(addr string) bool {
	if strings.HasPrefix(addr, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
