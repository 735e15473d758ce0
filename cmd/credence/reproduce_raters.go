package main

import (
	"github.com/spf13/cobra"

	"credence/internal/study"
)

func newReproduceRaters() *cobra.Command {
	var o studyFlags
	cmd := &cobra.Command{
		Use:   "raters",
		Short: "What is gained by modelling raters who lean or guess? A simulation",
		Long:  helpText("reproduce-raters"),
		Example: `  credence reproduce raters --quick --out raters
  credence reproduce raters --out raters`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := study.NewRaters(o.quick, o.seed)
			s.Command = o.again(cmd)
			return o.run(cmd, "raters", s, s.Run)
		},
	}
	o.declare(cmd.Flags(), "raters")
	return cmd
}
