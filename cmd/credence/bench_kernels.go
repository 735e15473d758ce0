package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"credence/internal/bench"
)

func newBenchKernels() *cobra.Command {
	var (
		seconds float64
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "Time the compute kernels against the peak of the chip",
		Long: `Time the matrix product and the convolutions on one core, and set their rate
beside the multiply-add peak of that core, measured in the same run by a loop
that touches registers only. The sizes are those of the paper's networks. For
each convolution: the forward pass, the same fused with ReLU and max-pooling,
the dense gradients of weights and inputs, and the sparse gradients that the
fused layer needs instead, whose rate counts only what is not zero.`,
		Example: `  credence bench kernels
  credence bench kernels --kernel avx2 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			window := benchWindow{seconds: seconds, threads: 1}
			each, stop, err := window.start()
			if err != nil {
				return err
			}
			defer stop()
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
		},
	}
	f := cmd.Flags()
	f.Float64Var(&seconds, "seconds", 1, "how long to measure each kernel, in `seconds`")
	f.BoolVar(&asJSON, "json", false, "print one line of JSON for each kernel and size")
	return cmd
}
