package main

import "github.com/spf13/cobra"

// newFormatsTopic is the help on files of data; there is nothing to run.
func newFormatsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "formats",
		Short: "Which files of items and votes are read, and how",
		Long:  helpText("formats"),
		Example: `  credence train --data train.json --data dev.json --out runs/tweets
  credence train --data study.xlsx --sheet Patients \
    --votes study.xlsx --votes-sheet Readings --out runs/study
  credence train --data project-1.json --label sentiment --out runs/texts`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}
