package main

import "github.com/spf13/cobra"

func newData() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Make data sets and votes",
		Long: `Make data sets and votes: a synthetic cohort of MRI scans to try things on, and
votes from the columns of a clinical table.`,
		Example: `  credence data adni-synthetic --out cohort
  credence data labels cohort/clinical.csv -o votes.csv`,
	}
	cmd.AddCommand(
		newDataADNISynthetic(),
		newDataLabels(),
	)
	return cmd
}
