package main

import "github.com/spf13/cobra"

// newReproduce returns the command that says where the studies are now. It stays for one release.
func newReproduce() *cobra.Command {
	return &cobra.Command{
		Use:                "reproduce",
		Short:              "The studies are a program of their own: go run ./studies/reproduce",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			line := "go run ./studies/reproduce"
			for _, a := range args {
				line += " " + shellQuote(a)
			}
			return withHint(usagef("the studies have moved to a program of their own"), "in a clone of the project: "+line)
		},
	}
}
