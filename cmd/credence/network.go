package main

import "github.com/spf13/cobra"

// newNetworkTopic is the help on files of layers; there is nothing to run.
func newNetworkTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "network",
		Short: "How to write layers of your own for --network",
		Long:  helpText("network"),
		Example: `  credence train --data items.csv --votes votes.csv --network net.yaml \
    --out runs/own`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}
