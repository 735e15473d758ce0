package main

import (
	"github.com/spf13/cobra"

	"credence/internal/study"
)

func newReproduceVotes() *cobra.Command {
	var o studyFlags
	data := ""
	cmd := &cobra.Command{
		Use:   "votes",
		Short: "Do intervals hold what people's held-back votes show?",
		Long:  helpText("reproduce-votes"),
		Example: `  credence reproduce votes --data data --quick --out votes
  credence reproduce votes --data data --out votes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				return usagef("--data is missing: a folder with cifar10h or recidivism in it is expected")
			}
			v, err := study.NewVotes(data, o.quick, o.seed)
			if err != nil {
				return err
			}
			v.Command = o.again(cmd)
			return o.run(cmd, "votes", v, v.Run)
		},
	}
	o.declare(cmd.Flags(), "votes")
	cmd.Flags().StringVar(&data, "data", "", "`folder` with the sets cifar10h and recidivism, or one of them")
	return cmd
}
