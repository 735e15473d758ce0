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
		Long:  helpText("reproduce-comparison"),
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
