package main

import (
	"github.com/spf13/cobra"

	"credence/internal/bench"
)

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
