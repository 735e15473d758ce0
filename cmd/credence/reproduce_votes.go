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
		Long: `Train on two, three and five of the many votes that people gave on photographs
(CIFAR-10H) and on defendants (recidivism), and judge the reported intervals of
items not trained on by the votes that were held back: coverage corrected for
the error of a share of so many votes, widths, calibration and log score, beside
the raw mixture, a mixture without features, softmax with bootstrap and the
evidential network. The paper has no such study.

The data are not part of Credence. --data names a folder with one of these, or
both:

  cifar10h/    counts.npy, images_0-4999.bin.gz, images_5000-9999.bin.gz
  recidivism/  items.csv, votes.csv

It takes about a quarter of an hour on two cores; --quick, one split and fewer
photographs, about two minutes.`,
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
