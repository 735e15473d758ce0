package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/par"
	"credence/train"
)

// trainResult is what bench train prints, under its JSON names.
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

// benchWindow is how long a measurement takes, in seconds.
type benchWindow float64

// flags declares it and the number of cores, with the given defaults.
func (w *benchWindow) flags(f *pflag.FlagSet, seconds float64, threads int) {
	f.Float64Var((*float64)(w), "seconds", seconds, "how long to measure, all windows together, in `seconds`")
	declareThreads(f, threads, "how many `cores` to use, 0 for all")
}

// each checks the flag.
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
