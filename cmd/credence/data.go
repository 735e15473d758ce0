package main

import "github.com/spf13/cobra"

func newData() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Fetch or make data sets, and votes",
		Long: `Fetch or make the data that the studies use, to train on
them with other settings or to have them at hand where there is no network, and
make votes from the columns of a clinical table.`,
		Example: `  credence data mnist --out mnist
  credence data adni-synthetic --out cohort
  credence data labels cohort/clinical.csv -o votes.csv`,
	}
	cmd.AddCommand(
		newDataMNIST(),
		newDataADNISynthetic(),
		newDataLabels(),
	)
	return cmd
}
