package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"credence/internal/words"
	"credence/serve"
)

// serveOptions is the command line of credence serve.
type serveOptions struct {
	serve.Options
	addr, tokenFile   string
	alarmKey          string // file
	monitor           bool
	tlsCert, tlsKey   string
	insecure          bool
	logForm, logLevel string
	metricsAddr       string
	oldVotes          string           // of --votes, the former name of --vote-log
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
	f.StringVar(&o.Backbone.Path, "backbone", "", "ONNX `file` or folder of the backbone, if it is not where it was in training")
	f.StringVar(&o.Backbone.Library, "onnxruntime", "", "`file` of the library of ONNX Runtime, which runs backbones")
	o.Backbone.Worker = workerCommand()
	f.StringVar(&o.Votes, "vote-log", "", "`file` to append posted votes to; without it they are rejected")
	f.StringVar(&o.oldVotes, "votes", "", "`file`: former name of --vote-log")
	_ = f.MarkHidden("votes")
	_ = f.SetAnnotation("vote-log", oldName, []string{"votes"})
	f.StringArrayVar(&o.Queue.Items, "items", nil, "`file` of items to browse and vote on; repeat to join features by item")
	f.StringArrayVar(&o.Queue.Earlier, "earlier", nil, "`file` of earlier votes on the items; may be repeated")
	f.StringSliceVar(&o.Queue.By, "by", nil, "`columns` of the items to filter by, in addition to the categories of the model")
	f.StringVar(&o.Queue.Instructions, "instructions", "", "`file` with instructions for raters, Markdown")
	f.IntVar(&o.Queue.PerItem, "votes-per-item", 0, "`number` of raters to assign to each item; by default every rater gets all items")
	f.BoolVar(&o.monitor, "monitor", true, "with --items and --vote-log, check whether posted votes still follow the model; =false does not")
	f.StringVar(&o.Health.Options.By, "monitor-by", "", "`column` of groups to monitor, one of the categories or --by")
	declareMonitor(f, &o.Health.Options)
	f.StringVar(&o.Health.AlarmURL, "alarm-url", "", "`URL` that alarms are posted to as JSON, repeated until it accepts them")
	f.StringVar(&o.alarmKey, "alarm-key-file", "", "`file` with the key that signs requests to --alarm-url (HMAC-SHA256)")
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
	f.StringSliceVar(&o.Proxies, "trusted-proxy", nil, "`addresses`, networks or \"unix\" of reverse proxies whose forwarding headers are believed")
	f.StringVar(&o.metricsAddr, "metrics-addr", "", "`address` for /metrics alone, without a token: host:port or unix:PATH")
	f.BoolVar(&o.OpenMetrics, "metrics-open", false, "/metrics requires no token")
	f.StringVar(&o.logForm, "log", "text", "`format` of the log on standard error: text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "`level` of the log: debug, info, warn or error")
	f.BoolVar(&o.AccessLog, "access-log", false, "log every request: client, route, status, bytes, milliseconds")
	declareThreads(f, 0)
	notZero(f, "max-width", "min-top", "votes-per-item")
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
		{"max-client-requests", "maximum number of concurrent `requests` of one client", &l.PerClient},
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
	if !cmd.Flags().Changed("max-client-requests") {
		o.Limits.PerClient = 0 // selects the default, which depends on --max-requests
	}
	_, _, noMetricsPort := net.SplitHostPort(o.metricsAddr)
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
		expect(len(o.Queue.Items) > 0 || o.Queue.Instructions == "", "--instructions requires --items"),
		expect(len(o.Queue.Items) > 0 || o.Queue.PerItem == 0, "--votes-per-item requires --items"),
		expect(o.Queue.PerItem >= 0, "--votes-per-item %d: expected at least 1", o.Queue.PerItem),
		expect(o.oldVotes == "" || o.Votes == "" || !cmd.Flags().Changed("vote-log"), "--votes is the former name of --vote-log: expected one of them"),
		expect(o.metricsAddr == "" || noMetricsPort == nil || strings.HasPrefix(o.metricsAddr, "unix:"),
			"--metrics-addr %q: expected host:port, such as 127.0.0.1:9090, or unix:PATH", o.metricsAddr),
		expect(o.metricsAddr == "" || o.metricsAddr != o.addr, "--metrics-addr %s is the address of the server: use --metrics-open", o.metricsAddr),
		expect(o.Limits.PerClient == 0 || o.Limits.PerClient <= o.Limits.Concurrency,
			"--max-client-requests %d: expected at most %d, the requests of all clients (--max-requests)", o.Limits.PerClient, o.Limits.Concurrency),
		expect(!o.OpenMetrics || o.tokenFile != "", "--metrics-open requires --token-file: without a token everything is open"),
		o.checkHealth(cmd),
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
	err := o.check(cmd)
	if err == nil {
		err = o.serve(cmd)
	}
	if err != nil && o.logForm == "json" {
		// The log has nothing but JSON, for the programs that read it.
		slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil)).Error("credence serve failed", "error", err.Error(), "hint", hintOn(cmd, err))
		return &loggedError{err}
	}
	return err
}

// addressInUse reports whether another program listens on an address. Windows has an error number of its own.
func addressInUse(err error) bool {
	const windowsInUse = syscall.Errno(10048) // WSAEADDRINUSE
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windowsInUse)
}

// portHint adds a hint to an error about an address that is in use, that of a flag.
func portHint(err error, flag string) error {
	if !addressInUse(err) {
		return err
	}
	return withHint(err, fmt.Sprintf("another program, perhaps another credence serve, uses this address: stop it, or choose another with --%s, such as --%s 127.0.0.1:0 for any free port", flag, flag))
}

// metrics serves /metrics on its own address until ctx is done.
func (o *serveOptions) metrics(ctx context.Context, s *serve.Server, log *slog.Logger) error {
	if o.metricsAddr == "" {
		return nil
	}
	l, err := serve.Listen(o.metricsAddr)
	if err != nil {
		return portHint(fmt.Errorf("--metrics-addr: %w", err), "metrics-addr")
	}
	hs := &http.Server{Handler: s.Metrics(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, WriteTimeout: time.Minute}
	context.AfterFunc(ctx, func() { hs.Close() })
	go func() {
		if err := hs.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("serving metrics failed", "error", err)
		}
	}()
	return nil
}

// serve serves until the program is stopped.
func (o *serveOptions) serve(cmd *cobra.Command) error {
	log, err := o.logger(cmd)
	if err != nil {
		return err
	}
	if o.oldVotes != "" {
		o.Votes = o.oldVotes
		if o.logForm == "json" {
			log.Warn("--votes is deprecated: use --vote-log")
		} else {
			fmt.Fprintln(cmd.ErrOrStderr(), "credence: warning: --votes is deprecated: use --vote-log")
		}
	}
	token, pair, err := o.secrets()
	if err != nil {
		return err
	}
	o.Token = token
	var secure *tls.Config
	var certificate atomic.Pointer[tls.Certificate]
	if certificate.Store(pair); pair != nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Load(), nil }}
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(serverGC))
	}
	o.Log, o.Version = log, buildVersion()
	// From here on, so that SIGHUP does not end a server that is still loading models, nor one that is stopping.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	s, err := serve.New(o.Options)
	if err != nil {
		return err
	}
	defer boundMemory(o.Limits.Memory)()
	l, err := serve.Listen(o.addr)
	if o.anyPort && addressInUse(err) {
		l, err = serve.Listen("127.0.0.1:0")
	}
	if err != nil {
		s.Close()
		return portHint(err, "addr")
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	if err := o.metrics(ctx, s, log); err != nil {
		return errors.Join(err, l.Close(), s.Close())
	}
	go onHangup(ctx, hangup, func() {
		token, pair, err := o.secrets()
		if err == nil {
			err = s.SetToken(token)
		}
		if err != nil {
			log.Error("reading the token and the certificate again failed: those before remain", "error", err)
		} else {
			certificate.Store(pair)
			log.Info("token and certificate read again")
		}
		if err := s.Reload(); err != nil {
			log.Error("checking for new models failed", "error", err)
		}
	})
	names := s.Models()
	if o.logForm == "json" {
		log.Info("serving", "models", len(names), "names", words.Few(names), "url", o.url(l, secure != nil))
	} else {
		fmt.Fprintf(cmd.ErrOrStderr(), "serving %s (%s) at %s\n", words.Plural(len(names), "model"), words.Few(names), o.url(l, secure != nil))
	}
	if o.started != nil {
		o.started(o.url(l, secure != nil))
	}
	err = s.Serve(ctx, l, secure)
	return errors.Join(err, s.Close())
}

// secrets reads the token and the certificate, "" and nil if there are none.
func (o *serveOptions) secrets() (token string, pair *tls.Certificate, err error) {
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return "", nil, fmt.Errorf("reading the token: %w", err)
		}
		token = strings.TrimSpace(string(text))
		if len(token) < 8 {
			return "", nil, fmt.Errorf("%s: the token has %d characters, expected at least 8", o.tokenFile, len(token))
		}
		if strings.ContainsAny(token, "\r\n") {
			return "", nil, fmt.Errorf("%s: expected a token on one line, found several lines", o.tokenFile)
		}
	}
	if o.tlsCert == "" {
		return token, nil, nil
	}
	p, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
	if err != nil {
		return "", nil, fmt.Errorf("reading %s and %s: %w", o.tlsCert, o.tlsKey, err)
	}
	return token, &p, nil
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

// onHangup calls f for every signal, until ctx is done.
func onHangup(ctx context.Context, hangup <-chan os.Signal, f func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			f()
		}
	}
}

// checkHealth validates the flags of the monitor and reads the key of the webhook.
func (o *serveOptions) checkHealth(cmd *cobra.Command) error {
	if name := firstChanged(cmd.Flags(), "monitor", "monitor-by", "tolerate", "note", "alarm", "alarm-url", "alarm-key-file"); name != "" && (len(o.Queue.Items) == 0 || o.Votes == "") {
		return usagef("--%s requires --items and --vote-log", name)
	}
	h := &o.Health
	h.Off = cmd.Flags().Lookup("monitor") != nil && !o.monitor
	u, err := url.Parse(h.AlarmURL)
	err = cmp.Or(
		checkMonitor(&h.Options),
		expect(h.AlarmURL == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "",
			"--alarm-url %q: expected http://… or https://…", h.AlarmURL),
		expect(o.alarmKey == "" || h.AlarmURL != "", "--alarm-key-file requires --alarm-url"))
	if err != nil || o.alarmKey == "" {
		return err
	}
	text, err := os.ReadFile(o.alarmKey)
	if err != nil {
		return err
	}
	h.AlarmKey = bytes.TrimSpace(text)
	return expect(len(h.AlarmKey) >= 16, "--alarm-key-file %s: expected a key of at least 16 characters, found %d", o.alarmKey, len(h.AlarmKey))
}
