package main

import "github.com/spf13/cobra"

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast this machine computes",
		Long: `Measure how fast this machine computes, on workloads that are the same
everywhere. Of several windows of time the best counts, because other programs
can only slow one down. With --json a measurement is one line.`,
		Example: `  credence bench train --workload lenet5
  credence bench kernels
  credence bench serve runs/first
  credence bench intervals --seconds 10 --threads 2 --json`,
	}
	cmd.AddCommand(
		newBenchIntervals(),
		newBenchKernels(),
		newBenchServe(),
		newBenchTrain(),
	)
	return cmd
}
