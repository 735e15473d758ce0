package main

import (
	"github.com/spf13/cobra"

	"credence/internal/study"
)

func newReproduceComparison() *cobra.Command {
	var o studyFlags
	remedies := false
	cmd := &cobra.Command{
		Use:   "comparison",
		Short: "Who finds the spread of the probability? The 2-D simulation, with rivals",
		Long: `Repeat the paper's comparison with other methods: items in the plane with two
votes each, the mixture head with K = 10 and K = 1, and rivals: mean-variance
estimation, quality-driven intervals and the confidence network, and beyond the
paper softmax, deep ensemble, Monte Carlo dropout and the evidential network.
Each is tuned by its own held-out criterion. Accuracy, predicted against true
variance, and coverage are measured on fresh items, over five seeds, in the
paper's design and in one where the spread does not follow from the mean.

It takes under ten minutes on two cores; --quick, one seed without tuning,
about one. --remedies adds how the methods fare with fewer and with more items,
and the configurations that were tried for the mixture, and about half
an hour.`,
		Example: `  credence reproduce comparison --quick --out comparison
  credence reproduce comparison --remedies`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := study.NewComparison(o.quick, o.seed)
			c.Remedies, c.Command = remedies, o.again(cmd)
			return o.run(cmd, "comparison", c, c.Run)
		},
	}
	o.declare(cmd.Flags(), "comparison")
	cmd.Flags().BoolVar(&remedies, "remedies", false, "also compare numbers of items and configurations of the mixture")
	return cmd
}
