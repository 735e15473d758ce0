package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"credence/internal/bench"
	"credence/internal/par"
)

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
		par.SetThreads(1)
		out := cmd.OutOrStdout()
		if !asJSON {
			fmt.Fprintf(out, "%-13s  %-22s  %10s  %8s  %s\n", "operation", "size", "ms", "GFLOP/s", "share of peak")
		}
		// A failed write is kept by the output and reported at the end.
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
