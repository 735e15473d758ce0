package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"credence/internal/words"
	"credence/serve"
)

// serveOptions is the command line of credence serve.
type serveOptions struct {
	serve.Options
	addr, tokenFile   string
	tlsCert, tlsKey   string
	insecure          bool
	logForm, logLevel string
	anyPort           bool             // use another port if that of addr is in use
	started           func(url string) // called when the server listens, or nil
}

// serverGC is the GOGC value of a server, in percent. Few objects outlive a request, so a larger heap
// costs a few megabytes and saves most of the collections.
const serverGC = 400

// boundMemory sets the soft memory limit of the garbage collector to the size of the models plus 1.5 times the given
// bytes of requests, unless GOMEMLIMIT is set. It returns a function that restores the limit.
func boundMemory(requests int64) (restore func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	requests = cmp.Or(requests, serve.DefaultLimits.Memory)
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	before := debug.SetMemoryLimit(int64(now.HeapAlloc) + requests + requests/2)
	return func() { debug.SetMemoryLimit(before) }
}

func newServe() *cobra.Command {
	var o serveOptions
	cmd := newVerb("serve RUNS", "Serve models over HTTP", "a run, or a folder of runs", o.run)
	f := cmd.Flags()
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` to listen on: host:port or unix:PATH")
	f.StringVar(&o.tokenFile, "token-file", "", "`file` with the token that clients must send")
	f.BoolVar(&o.insecure, "insecure", false, "accept requests from other machines without a token")
	f.StringVar(&o.tlsCert, "tls-cert", "", "`file` of the TLS certificate, PEM")
	f.StringVar(&o.tlsKey, "tls-key", "", "`file` of the TLS key, PEM")
	f.StringSliceVar(&o.Hosts, "host", nil, "host `names` under which the server accepts requests; may be repeated")
	f.StringVar(&o.BasePath, "base-path", "", "`path` prefix of all routes, such as /credence")
	f.StringVar(&o.Votes, "votes", "", "`file` to append posted votes to; without it they are rejected")
	f.StringArrayVar(&o.Queue.Items, "items", nil, "`file` of items to browse and vote on; repeat to join features by item")
	f.StringArrayVar(&o.Queue.Earlier, "earlier", nil, "`file` of earlier votes on the items; may be repeated")
	f.StringSliceVar(&o.Queue.By, "by", nil, "`columns` of the items to filter by, in addition to the categories of the model")
	o.Level = 0.95
	f.Var((*share)(&o.Level), "level", "`level` of the intervals if a request has none")
	f.Float64Var(&o.MaxWidth, "max-width", 0, "abstain if the interval of the predicted class is wider than this `width`")
	f.Float64Var(&o.MinTop, "min-top", 0, "abstain if p_top of the predicted class is below this `probability`")
	for _, l := range o.limits() {
		switch to := l.to.(type) {
		case *int:
			f.IntVar(to, l.name, *to, l.usage)
		case *int64:
			f.Int64Var(to, l.name, *to, l.usage)
		}
	}
	f.DurationVar(&o.Limits.Timeout, "timeout", 0, "maximum `time` of a request (default 1m0s)")
	f.StringVar(&o.logForm, "log", "text", "`format` of the log on standard error: text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "`level` of the log: debug (every request), info, warn or error")
	declareThreads(f, 0)
	notZero(f, "max-width", "min-top")
	return cmd
}

// limitFlag is a flag that limits requests.
type limitFlag struct {
	name, usage string
	to          any // *int or *int64; its value before flags are parsed is the default
}

// limits returns the flags that limit requests, except --timeout.
func (o *serveOptions) limits() []limitFlag {
	l := &o.Limits
	if *l == (serve.Limits{}) {
		*l = serve.DefaultLimits
		l.Timeout = 0 // the flag has no default, so that 0 can be rejected
	}
	return []limitFlag{
		{"max-body", "maximum `bytes` of a request", &l.Body},
		{"max-rows", "maximum `items` of a request", &l.Rows},
		{"max-columns", "maximum `columns` of a request and of a wide response, and classes of a mixture", &l.Columns},
		{"max-levels", "maximum interval `levels` of a request", &l.Levels},
		{"max-intervals", "maximum `intervals` of a request: items × classes × levels", &l.Intervals},
		{"max-components", "maximum `components` of a mixture at /api/v1/mixture", &l.Components},
		{"max-points", "maximum `points` of a mixture: (levels + quantiles + points) × classes", &l.Points},
		{"max-answer", "maximum `bytes` of a response", &l.Response},
		{"max-memory", "maximum `bytes` of all concurrent requests and responses", &l.Memory},
		{"max-requests", "maximum number of concurrent `requests`", &l.Concurrency},
	}
}

// check validates the flags.
func (o *serveOptions) check(cmd *cobra.Command) error {
	for _, l := range o.limits() {
		if text := cmd.Flags().Lookup(l.name).Value.String(); strings.HasPrefix(text, "-") || text == "0" {
			return usagef("--%s %s: expected at least 1", l.name, text)
		}
	}
	if !cmd.Flags().Changed("max-memory") {
		o.Limits.Memory = 0 // selects the default, which grows with the largest body
	}
	_, _, noPort := net.SplitHostPort(o.addr)
	err := cmp.Or(
		expect(noPort == nil || strings.HasPrefix(o.addr, "unix:"),
			"--addr %q: expected host:port, such as 127.0.0.1:8080, or unix:PATH", o.addr),
		expect(o.Level > 0 && o.Level < 1, "--level %v: expected a level between 0 and 1", o.Level),
		checkAbstention(o.MaxWidth, o.MinTop),
		expect(o.Limits.Timeout > 0 || !cmd.Flags().Changed("timeout"),
			"--timeout %v: expected a time such as 30s", o.Limits.Timeout),
		expect((o.tlsCert == "") == (o.tlsKey == ""), "--tls-cert and --tls-key require each other"),
		expect(len(o.Queue.Items) > 0 || len(o.Queue.Earlier) == 0, "--earlier requires --items"),
		expect(len(o.Queue.Items) > 0 || len(o.Queue.By) == 0, "--by requires --items"),
		oneOf("log", o.logForm, "text", "json"),
		expect(o.BasePath == "" || strings.HasPrefix(o.BasePath, "/"),
			"--base-path %q: expected a path that begins with /", o.BasePath))
	if err == nil && o.tokenFile == "" && !o.insecure && !serve.Loopback(o.addr) {
		return withHint(usagef("--addr %s is reachable from other machines: expected a token", o.addr),
			"--token-file FILE requires clients to send the token in FILE; --insecure serves everyone")
	}
	return err
}

func (o *serveOptions) run(cmd *cobra.Command, args []string) error {
	o.Path = args[0]
	if err := o.check(cmd); err != nil {
		return err
	}
	return o.serve(cmd)
}

// serve serves until the program is stopped.
func (o *serveOptions) serve(cmd *cobra.Command) error {
	log, err := o.logger(cmd)
	if err != nil {
		return err
	}
	secure, err := o.secrets()
	if err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(serverGC))
	}
	o.Log, o.Version = log, buildVersion()
	s, err := serve.New(o.Options)
	if err != nil {
		return err
	}
	defer boundMemory(o.Limits.Memory)()
	l, err := serve.Listen(o.addr)
	if o.anyPort && errors.Is(err, syscall.EADDRINUSE) {
		l, err = serve.Listen("127.0.0.1:0")
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = withHint(err, "another program, perhaps another credence serve, uses this address: stop it, or choose another with --addr, such as --addr 127.0.0.1:0 for any free port")
	}
	if err != nil {
		s.Close()
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	go reloadOnHangup(ctx, s, log)
	names := s.Models()
	fmt.Fprintf(cmd.ErrOrStderr(), "serving %s (%s) at %s\n", words.Plural(len(names), "model"), words.Few(names), o.url(l, secure != nil))
	if o.started != nil {
		o.started(o.url(l, secure != nil))
	}
	err = s.Serve(ctx, l, secure)
	return errors.Join(err, s.Close())
}

// secrets reads the token and the certificate.
func (o *serveOptions) secrets() (*tls.Config, error) {
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		if o.Token = strings.TrimSpace(string(text)); len(o.Token) < 8 {
			return nil, fmt.Errorf("%s: the token has %d characters, expected at least 8", o.tokenFile, len(o.Token))
		}
	}
	if o.tlsCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("reading %s and %s: %w", o.tlsCert, o.tlsKey, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// logger returns the log, on standard error.
func (o *serveOptions) logger(cmd *cobra.Command) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, usagef("--log-level %q: expected debug, info, warn or error", o.logLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	if o.logForm == "json" {
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), opts)), nil
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), opts)), nil
}

// url returns the address of the server.
func (o *serveOptions) url(l net.Listener, secure bool) string {
	if strings.HasPrefix(o.addr, "unix:") {
		return o.addr
	}
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return scheme + "://" + l.Addr().String() + o.BasePath
}

// reloadOnHangup reloads the models when the process receives SIGHUP.
func reloadOnHangup(ctx context.Context, s *serve.Server, log *slog.Logger) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	defer signal.Stop(c)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c:
			if err := s.Reload(); err != nil {
				log.Error("checking for new models failed", "error", err)
			}
		}
	}
}
