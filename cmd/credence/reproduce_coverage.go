package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"credence/internal/mnist"
	"credence/internal/study"
)

func newReproduceCoverage() *cobra.Command {
	var o studyFlags
	var images string
	cmd := &cobra.Command{
		Use:   "coverage",
		Short: "How often intervals hold the true probability, on MNIST",
		Long:  helpText("reproduce-coverage"),
		Example: `  credence reproduce coverage --quick --out coverage
  credence reproduce coverage --out coverage --mnist data/mnist`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := study.NewCoverage(o.quick, o.seed)
			return o.run(cmd, "coverage", c, func(ctx context.Context, f *study.Folder) error {
				dir, err := findMNIST(ctx, cmd, images, o.quiet)
				if err != nil {
					return err
				}
				return c.Run(ctx, f, dir)
			})
		},
	}
	o.declare(cmd.Flags(), "coverage")
	cmd.Flags().StringVar(&images, "mnist", "", "`folder` with the four IDX files of MNIST, plain or compressed with gzip")
	return cmd
}

// findMNIST returns a folder with MNIST, fetched if need be and no folder is
// given.
func findMNIST(ctx context.Context, cmd *cobra.Command, folder string, quiet bool) (string, error) {
	src := mnist.Source{Folder: folder}
	if !quiet {
		src.Note = func(s string) { fmt.Fprintf(cmd.ErrOrStderr(), "credence: %s\n", s) }
	}
	dir, err := src.Find(ctx)
	if errors.Is(err, mnist.ErrNowhere) {
		return "", withHint(err, "fetch the four files train-images-idx3-ubyte.gz … by hand and name their folder with --mnist")
	}
	return dir, err
}
