package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"credence/internal/bench"
)

func newBenchIntervals() *cobra.Command {
	var (
		window benchWindow
		seed   uint64
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "intervals",
		Short: "Time credible intervals of Beta mixtures",
		Long: `Time the two-sided 95% intervals of 20,000 random Beta mixtures of three
components: weights from Dirichlet(1, 1, 1), both parameters from
exp(N(1, 1.5²)). The best of five windows counts. Afterwards every end Q(q) is
put back into the distribution function F, and the largest |F(Q(q)) - q|/q is
printed (at the upper end, that of the survival function). Ends below 2.2e-308,
which have lost digits, are left out of it.`,
		Example: `  credence bench intervals
  credence bench intervals --seconds 5 --threads 1 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			duration, stop, err := window.start()
			if err != nil {
				return err
			}
			defer stop()
			result, err := bench.Intervals(duration, seed)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), `workload         two-sided 95%% intervals, %d components, %d rows, seed %d
rows per second  %.0f
threads          %d
kernel           %s
largest error    %.2g
`, result.Components, bench.IntervalRows, seed, result.RowsPerSecond, result.Threads, result.Kernel, result.MaxError)
			return err
		},
	}
	f := cmd.Flags()
	window.flags(f, 5, 1)
	f.Uint64Var(&seed, "seed", 1, "`seed` of the random mixtures")
	f.BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}
