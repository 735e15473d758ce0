package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
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
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Time training steps of the paper's networks",
		Long: `Time one whole training step (forward, loss, backward, Adam) on one fixed
batch, the very function that training repeats. The best of five windows
counts.

  mlp            2-64-64-30, 10 components, 2 votes, 64 items
  mlp-raters     the same with 3 votes by 30 raters, who lean and guess
  lenet5         28×28 images, 3 components, 2 votes, 64 items
  lenet5-raters  the same with 3 votes by 30 raters
  cnn2d          32×32 images in color, 3 components, 3 votes, 128 items
  cnn3d          96×96×80 volumes, 3 components, 3 votes, 16 items

On a GPU a step includes that its inputs are copied from host memory.`,
		Example: `  credence bench train --workload lenet5
  credence bench train --workload cnn3d --seconds 20 --threads 2 --json
  credence bench train --workload mlp --kernel generic
  credence-gpu bench train --workload cnn3d --device gpu`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(train.Workloads, workload) {
				return usagef("--workload %q: expected one of %s", workload, strings.Join(train.Workloads, ", "))
			}
			duration, stop, err := window.start()
			if err != nil {
				return err
			}
			defer stop()
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
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), `workload     %s, %d items per step
time         %.4g ms per step, %.4g ms per item
threads      %d
kernel       %s
allocations  %d per step
`, result.Workload, result.Batch, result.MsPerStep, result.MsPerStep/float64(result.Batch), result.Threads, result.Kernel, result.AllocsPerStep)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&workload, "workload", "lenet5", "`name` of the network: "+strings.Join(train.Workloads, ", "))
	window.flags(f, 5, 0)
	f.BoolVar(&asJSON, "json", false, "print one line of JSON")
	on.declare(f)
	return cmd
}

// benchWindow is how long a measurement takes and on how many cores.
type benchWindow struct {
	seconds float64
	threads int
}

// flags declares them, with the given defaults.
func (w *benchWindow) flags(f *pflag.FlagSet, seconds float64, threads int) {
	f.Float64Var(&w.seconds, "seconds", seconds, "how long to measure, all windows together, in `seconds`")
	f.IntVar(&w.threads, "threads", threads, "how many `cores` to use, 0 for all")
}

// start checks the flags and sets the number of cores, until stop.
func (w *benchWindow) start() (each time.Duration, stop func(), err error) {
	if !(w.seconds > 0 && w.seconds <= 3600) {
		return 0, nil, usagef("--seconds %v: expected more than 0 and at most 3600", w.seconds)
	}
	stop, err = useThreads(w.threads)
	return time.Duration(w.seconds * float64(time.Second)), stop, err
}
