package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/bench"
	"credence/internal/par"
	"credence/internal/simulation"
	"credence/run"
	"credence/serve"
	"credence/train"
)

// benchWindow is the duration of a measurement, in seconds.
type benchWindow float64

// flags declares the flags --seconds and --threads with the given defaults.
func (w *benchWindow) flags(f *pflag.FlagSet, seconds float64, threads int) {
	f.Float64Var((*float64)(w), "seconds", seconds, "total `seconds` to measure")
	declareThreads(f, threads)
}

// each checks the flag and returns the duration.
func (w benchWindow) each() (time.Duration, error) {
	seconds := float64(w)
	return time.Duration(seconds * float64(time.Second)),
		expect(seconds > 0 && seconds <= 3600, "--seconds %v: expected more than 0 and at most 3600", seconds)
}

// printResult prints a result as one line of JSON or as text.
func printResult(cmd *cobra.Command, asJSON bool, result any, format string, args ...any) error {
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), format, args...)
	return err
}

func newBenchIntervals() *cobra.Command {
	var (
		window benchWindow
		seed   uint64
		asJSON bool
	)
	run := func(cmd *cobra.Command, _ []string) error {
		duration, err := window.each()
		if err != nil {
			return err
		}
		result, err := bench.Intervals(duration, seed)
		if err != nil {
			return err
		}
		return printResult(cmd, asJSON, result, `workload         two-sided 95%% intervals, %d components, %d rows, seed %d
rows per second  %.0f
threads          %d
kernel           %s
largest error    %.2g
`, result.Components, bench.IntervalRows, seed, result.RowsPerSecond, result.Threads, result.Kernel, result.MaxError)
	}
	cmd := newVerb("intervals", "Time credible intervals of Beta mixtures", "", run)
	f := cmd.Flags()
	window.flags(f, 5, 1)
	f.Uint64Var(&seed, "seed", 1, "`seed` of the random mixtures")
	f.BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

func newBenchKernels() *cobra.Command {
	var window benchWindow
	var asJSON bool
	run := func(cmd *cobra.Command, _ []string) error {
		each, err := window.each()
		if err != nil {
			return err
		}
		runtime.GOMAXPROCS(1)
		out := cmd.OutOrStdout()
		if !asJSON {
			fmt.Fprintf(out, "%-13s  %-22s  %10s  %8s  %s\n", "operation", "size", "ms", "GFLOP/s", "share of peak")
		}
		// The output keeps write errors, which are reported at the end.
		return bench.Kernels(each/5, func(r bench.KernelResult) {
			if asJSON {
				_ = json.NewEncoder(out).Encode(r)
				return
			}
			fmt.Fprintf(out, "%-13s  %-22s  %10.4f  %8.1f  %5.1f%% of %.0f\n",
				r.Operation, r.Size, r.Ms, r.GFLOPS, 100*r.Share, r.Peak)
		})
	}
	cmd := newVerb("kernels", "Time the compute kernels against the peak of the chip", "", run)
	f := cmd.Flags()
	f.Float64Var((*float64)(&window), "seconds", 1, "`seconds` to measure each kernel")
	f.BoolVar(&asJSON, "json", false, "print one line of JSON for each kernel and size")
	return cmd
}

// benchServe is the command line of credence bench serve.
type benchServe struct {
	window      benchWindow
	url         string
	connections int
	rate        float64
	rows        int
	requests    int
	json        bool
}

// serveResult is the JSON output of bench serve.
type serveResult struct {
	Workload    string  `json:"workload"`
	Threads     int     `json:"threads"`
	Connections int     `json:"connections"`
	PerSecond   float64 `json:"requests_per_second"`
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
	CPU         float64 `json:"cpu_us_per_request"`
	Rate        float64 `json:"open_rate"`
	OpenP50     float64 `json:"open_p50_ms"`
	OpenP99     float64 `json:"open_p99_ms"`
	BatchRows   int     `json:"batch_rows"`
	Batches     float64 `json:"batch_rows_per_second"`
	BatchCPU    float64 `json:"batch_cpu_us_per_row"`
	Predict     float64 `json:"predict_rows_per_second"`
	Requests    int     `json:"soak_requests"`
	MemoryFrom  float64 `json:"soak_mb_at_a_tenth"`
	MemoryTo    float64 `json:"soak_mb_at_the_end"`
}

func newBenchServe() *cobra.Command {
	var o benchServe
	cmd := newVerb("serve [RUN]", "Time requests to a server, one at a time and in batches", "", o.run)
	cmd.Args = cobra.MaximumNArgs(1)
	f := cmd.Flags()
	o.window.flags(f, 15, 0)
	f.StringVar(&o.url, "url", "", "`address` of a running server, such as http://127.0.0.1:8080")
	f.IntVar(&o.connections, "connections", 64, "number of concurrent `connections`")
	f.Float64Var(&o.rate, "rate", 6000, "`requests` per second of the open loop, 0 to skip it")
	f.IntVar(&o.rows, "rows", 1000, "`items` per batch, 0 to skip batches")
	f.IntVar(&o.requests, "requests", 0, "`requests` over which to measure the server's memory, 0 to skip it")
	f.BoolVar(&o.json, "json", false, "print one line of JSON")
	return cmd
}

func (o *benchServe) run(cmd *cobra.Command, args []string) error {
	path := strings.Join(args, "") // the only argument, or ""
	each, err := o.window.each()
	err = cmp.Or(
		expect(o.connections >= 1 && o.connections <= 10_000, "--connections %d: expected 1 to 10000", o.connections),
		expect(o.rate >= 0 && o.rate <= 1e7 && o.rows >= 0 && o.rows <= 100_000 && o.requests >= 0,
			"--rate %v, --rows %d, --requests %d: expected numbers of at least 0, and at most 100000 rows", o.rate, o.rows, o.requests),
		err)
	if err != nil {
		return err
	}
	ctx, stopped := interruptible(cmd)
	defer stopped()
	scratch, err := os.MkdirTemp("", "credence-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if path == "" {
		if path, err = trainDemo(ctx, scratch); err != nil {
			return err
		}
	}
	end := func() error { return nil }
	if o.url == "" {
		if o.url, end, err = startServer(ctx, path); err != nil {
			return err
		}
	}
	r, err := o.measure(ctx, path, scratch, each/3)
	if err := errors.Join(err, end()); err != nil {
		return orStopped(ctx, err)
	}
	return printResult(cmd, o.json, r, "%s", r.text())
}

// trainDemo trains the model of credence demo and returns its folder.
func trainDemo(ctx context.Context, scratch string) (string, error) {
	items, err := simulation.Simulate(simulation.Spread, planeSizes.items, planeSizes.votes, 2)
	if err != nil {
		return "", err
	}
	fit, err := train.Fit(ctx, items.Dataset(), train.Options{Seed: 1, Version: buildVersion()})
	if err != nil {
		return "", err
	}
	folder := filepath.Join(scratch, "demo")
	if err := os.Mkdir(folder, 0o777); err != nil {
		return "", err
	}
	return folder, fit.Model.Save(run.Folder(folder).Path(run.ModelFile))
}

// startServer serves a run on a free port until end is called.
func startServer(ctx context.Context, path string) (url string, end func() error, err error) {
	before := debug.SetGCPercent(serverGC)
	s, err := serve.New(serve.Options{Path: path, Log: slog.New(slog.DiscardHandler), Version: buildVersion()})
	if err != nil {
		return "", nil, err
	}
	l, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, s.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, nil) }()
	return "http://" + l.Addr().String(), func() error {
		stop()
		debug.SetGCPercent(before)
		return errors.Join(<-done, s.Close())
	}, nil
}

// rowsFor returns n rows of feature values for a model as CSV, and the values of the first row.
func rowsFor(path string, n int) (csv []byte, first string, err error) {
	m, err := run.Load(path)
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	var names []string
	for _, p := range m.Transform.Schema() {
		if p.Kind != 0 {
			return nil, "", fmt.Errorf("%s: expected numeric features only, found %q", path, p.Name)
		}
		names = append(names, p.Name)
	}
	quoted, err := json.Marshal(names)
	if err != nil {
		return nil, "", err
	}
	b.WriteString("item," + strings.Trim(string(quoted), "[]") + "\n")
	row := func(i int) string {
		var cells []string
		for k := range names {
			cells = append(cells, fmt.Sprintf("%.4f", float64((i*37+k*101)%2000)/1000-1))
		}
		return strings.Join(cells, ",")
	}
	for i := range n {
		fmt.Fprintf(&b, "i%d,%s\n", i, row(i))
	}
	return b.Bytes(), row(0), nil
}

func (o *benchServe) measure(ctx context.Context, path, scratch string, each time.Duration) (*serveResult, error) {
	csv, row, err := rowsFor(path, o.rows)
	if err != nil {
		return nil, err
	}
	r := &serveResult{Workload: "serve", Threads: par.Threads(), Connections: o.connections, Rate: o.rate, BatchRows: o.rows, Requests: o.requests}
	l := bench.Load{URL: o.url, Path: "/invocations", Kind: "application/json", Body: []byte(`{"instances":[[` + row + `]]}`),
		Connections: o.connections, Duration: each}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	got, err := l.Run(ctx)
	if err != nil {
		return nil, err
	}
	r.PerSecond, r.P50, r.P99 = float64(got.Requests)/got.Seconds, ms(got.P50), ms(got.P99)
	r.CPU = float64(got.CPU.Microseconds()) / float64(got.Requests)
	if o.rate > 0 {
		open := l
		open.Rate = o.rate
		if got, err = open.Run(ctx); err != nil {
			return nil, err
		}
		r.OpenP50, r.OpenP99 = ms(got.P50), ms(got.P99)
	}
	if o.rows > 0 {
		name := strings.TrimSuffix(filepath.Base(filepath.Clean(path)), ".credence")
		batch := bench.Load{URL: o.url, Path: "/api/v1/models/" + name + "/predict", Kind: "text/csv", Accept: "text/csv", Body: csv, Connections: 4, Duration: each}
		if got, err = batch.Run(ctx); err != nil {
			return nil, err
		}
		r.Batches = float64(got.Requests*o.rows) / got.Seconds
		r.BatchCPU = float64(got.CPU.Microseconds()) / float64(got.Requests*o.rows)
		if r.Predict, err = timePredict(path, scratch, int(max(20_000, r.Batches*each.Seconds()/2))); err != nil {
			return nil, err
		}
	}
	if o.requests > 0 {
		soak := l
		soak.Requests = o.requests
		if got, err = soak.Run(ctx); err != nil {
			return nil, err
		}
		r.MemoryFrom, r.MemoryTo = float64(got.MemoryFrom)/1e6, float64(got.MemoryTo)/1e6
	}
	return r, nil
}

// timePredict returns the rows per second of credence predict from a file of n rows to CSV.
func timePredict(path, scratch string, n int) (float64, error) {
	csv, _, err := rowsFor(path, n)
	if err != nil {
		return 0, err
	}
	file := filepath.Join(scratch, "rows.csv")
	if err := os.WriteFile(file, csv, 0o666); err != nil {
		return 0, err
	}
	start := time.Now()
	var stderr bytes.Buffer
	if code := program([]string{"predict", path, file, "--format", "csv", "--progress", "0"}, nil, io.Discard, &stderr); code != exitOK {
		return 0, fmt.Errorf("credence predict: %s", &stderr)
	}
	return float64(n) / time.Since(start).Seconds(), nil
}

func (r *serveResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "closed loop  %.0f requests/s on %d connections; latency %.2f ms (median), %.2f ms (99%%)\n", r.PerSecond, r.Connections, r.P50, r.P99)
	fmt.Fprintf(&b, "processor    %.1f µs per request\n", r.CPU)
	if r.Rate > 0 {
		fmt.Fprintf(&b, "open loop    %.0f requests/s; answers after %.2f ms (median), %.2f ms (99%%)\n", r.Rate, r.OpenP50, r.OpenP99)
	}
	if r.BatchRows > 0 {
		fmt.Fprintf(&b, "batches      %.0f rows/s in requests of %d; credence predict %.0f rows/s\n", r.Batches, r.BatchRows, r.Predict)
	}
	if r.Requests > 0 {
		fmt.Fprintf(&b, "memory       %.1f MB after a tenth of %d requests, %.1f MB after all\n", r.MemoryFrom, r.Requests, r.MemoryTo)
	}
	fmt.Fprintf(&b, "threads      %d\n", r.Threads)
	return b.String()
}
