package main

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/bench"
	"credence/internal/par"
	"credence/train"
)

// trainResult is the JSON output of bench train.
type trainResult struct {
	Workload      string  `json:"workload"`
	Threads       int     `json:"threads"`
	Batch         int     `json:"batch"`
	MsPerStep     float64 `json:"ms_per_step"`
	Kernel        string  `json:"kernel"`
	AllocsPerStep int     `json:"allocs_per_step"`
}

func newBenchTrain() *cobra.Command {
	var (
		workload string
		window   benchWindow
		asJSON   bool
		on       device
	)
	run := func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("workload", workload, train.Workloads...); err != nil {
			return err
		}
		duration, err := window.each()
		if err != nil {
			return err
		}
		engine, err := on.engine()
		if err != nil {
			return err
		}
		w, err := train.NewWorkload(engine, workload)
		if err != nil {
			return err
		}
		t := w.Time(duration)
		result := trainResult{
			Workload:      workload,
			Threads:       par.Threads(),
			Batch:         w.Batch,
			MsPerStep:     math.Round(t.PerStep.Seconds()*1e7) / 1e4,
			Kernel:        engine.Name(),
			AllocsPerStep: t.AllocsPerStep,
		}
		return printResult(cmd, asJSON, result, `workload     %s, %d items per step
time         %.4g ms per step, %.4g ms per item
threads      %d
kernel       %s
allocations  %d per step
`, result.Workload, result.Batch, result.MsPerStep, result.MsPerStep/float64(result.Batch), result.Threads, result.Kernel, result.AllocsPerStep)
	}
	cmd := newVerb("train", "Time training steps of the paper's networks", "", run)
	f := cmd.Flags()
	f.StringVar(&workload, "workload", "lenet5", "`name` of the network: "+strings.Join(train.Workloads, ", "))
	window.flags(f, 5, 0)
	f.BoolVar(&asJSON, "json", false, "print one line of JSON")
	on.declare(f)
	return cmd
}

// benchWindow is the duration of a measurement, in seconds.
type benchWindow float64

// flags declares the flags --seconds and --threads with the given defaults.
func (w *benchWindow) flags(f *pflag.FlagSet, seconds float64, threads int) {
	f.Float64Var((*float64)(w), "seconds", seconds, "how long to measure, all windows together, in `seconds`")
	declareThreads(f, threads, "how many `cores` to use, 0 for all")
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
	var (
		window benchWindow
		asJSON bool
	)
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
	f.Float64Var((*float64)(&window), "seconds", 1, "how long to measure each kernel, in `seconds`")
	f.BoolVar(&asJSON, "json", false, "print one line of JSON for each kernel and size")
	return cmd
}
