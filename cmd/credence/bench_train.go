package main

import (
	"math"
	"strings"

	"github.com/spf13/cobra"

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
	LoopsPerStep  int     `json:"loops_per_step"`
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
		result := trainResult{Workload: workload, Threads: par.Threads(), Batch: w.Batch, Kernel: engine.Name(),
			MsPerStep: math.Round(t.PerStep.Seconds()*1e7) / 1e4, AllocsPerStep: t.AllocsPerStep,
			LoopsPerStep: t.LoopsPerStep}
		return printResult(cmd, asJSON, result, `workload     %s, %d items per step
time         %.4g ms per step, %.4g ms per item
threads      %d
kernel       %s
allocations  %d per step
loops        %d per step that cores share
`, result.Workload, result.Batch, result.MsPerStep, result.MsPerStep/float64(result.Batch), result.Threads, result.Kernel,
			result.AllocsPerStep, result.LoopsPerStep)
	}
	cmd := newVerb("train", "Time training steps of the paper's networks", "", run)
	f := cmd.Flags()
	f.StringVar(&workload, "workload", "lenet5", "`name` of the network: "+strings.Join(train.Workloads, ", "))
	window.flags(f, 5, 0)
	f.BoolVar(&asJSON, "json", false, "print one line of JSON")
	on.declare(f)
	return cmd
}
