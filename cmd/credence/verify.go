package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"credence/internal/kernel"
	"credence/run"
	"credence/train"
)

func newVerify() *cobra.Command {
	var quiet bool
	verify := func(cmd *cobra.Command, args []string) error { return verifyRun(cmd, run.Folder(args[0]), quiet) }
	cmd := newVerb("verify RUN", "Repeat a run and compare the model bit for bit", "the folder of a run", verify)
	declareThreads(cmd.Flags(), 0)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print no progress")
	return cmd
}

// verifyRun repeats a run, prints the hashes of both models and returns an error if they differ.
func verifyRun(cmd *cobra.Command, folder run.Folder, quiet bool) error {
	recorded, err := loadModel(io.Discard, string(folder))
	if err != nil {
		return err
	}
	switch {
	case folder.Unfinished():
		return withHint(fmt.Errorf("the run in %s has not ended", folder), "continue it with: "+resumeCommand(folder))
	case !folder.Has(run.ConfigFile):
		return withHint(fmt.Errorf("%s holds no %s to repeat", folder, run.ConfigFile), "give the folder that credence train wrote with --out")
	}
	if err := useKernel(cmd, recorded.Provenance.Kernel); err != nil {
		return err
	}
	v, err := repeat(cmd, folder, recorded.Provenance.Kernel, quiet)
	if d, ok := errors.AsType[*run.DifferenceError](err); ok && d.What == "data" {
		return withHint(err, "bring the data back to what they were, or train a run on these")
	}
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "recorded  sha256 %s\nrepeated  sha256 %s\n", v.Recorded, v.Repeated)
	if v.Difference != nil {
		return v.Difference
	}
	_, err = fmt.Fprintln(w, "equal     the run repeats to the bit")
	return err
}

// repeat trains the run again by its configuration, on the engine that it has recorded.
func repeat(cmd *cobra.Command, folder run.Folder, recorded string, quiet bool) (*run.Verification, error) {
	t := newTrainOptions()
	t.config, t.repeat, t.quiet = folder.Path(run.ConfigFile), true, quiet
	if err := t.resolve(); err != nil {
		return nil, err
	}
	var err error
	if t.Fit.Engine, err = device(t.Device).matching(recorded); err != nil {
		return nil, withHint(fmt.Errorf("%s does not repeat here: %w", folder, err),
			"call credence-gpu verify on a machine with such a GPU")
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var v *run.Verification
	err = t.train(ctx, cmd, func(d *run.Partition, show *trainDisplay) (err error) {
		v, err = run.Verify(ctx, folder, d, t.options(show))
		show.erase()
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, withHint(err, "call credence verify in the folder in which the run was started: the paths of its data are relative to that")
	case errors.Is(err, train.ErrStopped):
		return nil, errors.New("stopped before the end of training: nothing is proved")
	}
	return v, err
}

// useKernel selects the instruction set of a run, unless the user chose one.
func useKernel(cmd *cobra.Command, name string) error {
	if name == kernel.Name() || cmd.Flags().Changed("kernel") || os.Getenv(kernel.Env) != "" || !slices.Contains(kernel.Available(), name) {
		return nil
	}
	return kernel.Use(name)
}
