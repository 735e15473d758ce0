package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"credence/internal/mnist"
)

func newDataMNIST() *cobra.Command {
	var out, from string
	var overwrite bool
	run := func(cmd *cobra.Command, _ []string) error {
		if out != "" {
			for _, path := range mnist.Paths(out) {
				if err := refuseExisting(path, overwrite); err != nil {
					return err
				}
			}
		}
		ctx, stop := interruptible(cmd)
		defer stop()
		dir, err := findMNIST(ctx, cmd, from, false)
		if err != nil {
			return err
		}
		if out != "" {
			if err := mnist.Copy(dir, out); err != nil {
				return err
			}
			dir = out
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
		return err
	}
	cmd := newVerb("mnist", "Fetch the MNIST handwritten digits, verified", "", run)
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "`folder` to copy the files to")
	declareOverwrite(f, &overwrite)
	f.StringVar(&from, "mnist", "", "`folder` to take the files from, plain or compressed, instead of cache and network")
	return cmd
}
