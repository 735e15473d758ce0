package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/kernel"
	"credence/internal/rank"
	"credence/internal/words"
	"credence/run"
	"credence/train"
)

// trainOptions is the command line of credence train.
type trainOptions struct {
	config.Settings
	out       run.Folder
	config    string
	resume    bool
	overwrite bool
	quiet     bool
	json      bool

	layers     string // file that the network was read from
	memberText string
	member     *rank.Rank // the only network to train, nil for all

	warmStart *run.WarmStart // the run of --from, once it is open

	repeat bool // ignore the environment, to repeat a run from its configuration
}

func newTrainOptions() *trainOptions {
	o := &trainOptions{Settings: *config.New()}
	o.Load.FeatureOptions.Backbone.Worker = workerCommand()
	return o
}

func newTrain() *cobra.Command {
	o := newTrainOptions()
	cmd := newVerb("train", "Train a model on items with votes", "", o.run)
	cmd.Args = trainArgs
	f := cmd.Flags()
	f.StringVar((*string)(&o.out), "out", "", "`folder` to write to")
	declare(f, &o.Settings, config.Train)
	f.StringVar(&o.config, "config", "", "`file` of settings, .yaml")
	f.BoolVar(&o.resume, "resume", false, "continue the run in --out")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace the run in --out")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only warnings and errors")
	f.BoolVar(&o.json, "json", false, "print events as JSON lines")
	f.StringVar(&o.memberText, "member", "", "train only network `I/M`, with I from 0, for credence join; auto or auto/M reads I from the environment")
	shortHelp(cmd, commonFlags)
	return cmd
}

// commonFlags are the flags of train that most runs need.
var commonFlags = []flagGroup{
	{"Data and votes", []string{"data", "votes", "item", "rater", "judges", "classes", "ignore", "group", "test"}},
	{"Model", []string{"method", "network", "ensemble", "raters", "from"}},
	{"Training", []string{"epochs", "seed", "device"}},
	{"Output", []string{"out", "config", "resume", "overwrite"}},
}

func (o *trainOptions) run(cmd *cobra.Command, _ []string) error {
	if err := o.check(); err != nil {
		return err
	}
	runtime.GOMAXPROCS(o.Threads)
	if o.member != nil {
		return o.runMember(cmd)
	}
	err := o.out.Check(o.mode())
	switch {
	case errors.Is(err, run.ErrEnded):
		if !o.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "credence: the run in %s has finished: nothing to resume\n", o.out)
		}
		return nil
	case errors.Is(err, run.ErrExists):
		return withHint(err, "choose another --out, continue the run with --resume, or replace it with --overwrite")
	case errors.Is(err, run.ErrNoRun), errors.Is(err, run.ErrInUse):
		return o.advise(cmd, err)
	case err != nil:
		return fmt.Errorf("--out %w", err)
	}
	ctx, stop := interruptible(cmd) // the first signal stops training cleanly
	defer stop()
	return o.train(ctx, cmd, func(d *run.Partition, show *trainDisplay) error {
		trained, err := run.Train(ctx, o.out, d, o.options(show))
		return o.advise(cmd, show.result(trained, err))
	})
}

// train reads and splits the data, calls work with them, and closes them.
func (o *trainOptions) train(ctx context.Context, cmd *cobra.Command,
	work func(d *run.Partition, show *trainDisplay) error) error {
	show := newTrainDisplay(o, cmd)
	d, err := o.read(ctx, show)
	if err != nil {
		return err
	}
	defer d.Items.Close()
	defer o.warmStart.Close()
	return work(d, show)
}

// check validates the command line and completes the settings.
func (o *trainOptions) check() error {
	if o.out == "" {
		return withHint(usagef("no --out: expected the folder to write the run to"),
			"for example, credence train --data items.csv --votes votes.csv --out runs/first")
	}
	if err := o.resolve(); err != nil {
		return err
	}
	if len(o.Load.Data) == 0 && len(o.Load.Votes) == 0 {
		return errNoData()
	}
	if o.Fit.Engine == nil {
		if _, err := device(o.Device).engine(); err != nil {
			return err // before the data are read
		}
	}
	if o.resume && o.overwrite {
		return usagef("--resume and --overwrite exclude each other")
	}
	// Data may be a folder that contains the run, but not files of the run.
	for _, input := range slices.Concat(o.Load.Data, o.Load.Votes) {
		if info, err := os.Stat(input); err != nil || info.IsDir() {
			continue
		}
		for _, f := range o.out.Files() {
			if err := refuseInput(nil, f, input); err != nil {
				return err
			}
		}
	}
	return nil
}

// errNoData is the error of a training without features.
func errNoData() error {
	return withHint(usagef("no --data: expected a file of items with their features, or votes of --judges"),
		"for example, credence train --data items.csv --votes votes.csv --out runs/first")
}

// mode returns whether the run is new, continued or replaced.
func (o *trainOptions) mode() run.Mode {
	switch {
	case o.resume:
		return run.Resume
	case o.overwrite:
		return run.Overwrite
	}
	return run.New
}

// read reads the data, prints how they were read, and splits them. The caller closes them.
func (o *trainOptions) read(ctx context.Context, show *trainDisplay) (*run.Partition, error) {
	o.Load.FeatureOptions.Progress = show.volumes
	ds, err := o.load(ctx)
	show.erase()
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w: the data were still being read", train.ErrStopped)
	}
	if err != nil {
		return nil, err
	}
	show.data(ds)
	if text := sharedErrors(ds); text != "" {
		show.warn(text)
	}
	if o.warmStart != nil && o.warmStart.Gone != nil {
		show.warn(fmt.Sprintf("--from %s: its data are not available: %v", o.From, o.warmStart.Gone))
	}
	d, err := o.divide(ds)
	if err != nil {
		return nil, errors.Join(err, ds.Close())
	}
	show.split(d)
	if o.Fit.Engine == nil { // not determined by a recorded run
		if o.Fit.Engine, err = device(o.Device).forTraining(d.Items.Features); err != nil {
			return nil, errors.Join(err, ds.Close())
		}
	}
	if e, ok := o.Fit.Engine.(interface{ Describe() string }); ok {
		show.note("device    %s", e.Describe())
	}
	return d, nil
}

// divide splits the items by the flags.
func (o *trainOptions) divide(ds *dataset.Dataset) (*run.Partition, error) {
	if n := len(o.Fit.ClassWeights); n > 0 && n != len(ds.Classes) {
		return nil, usagef("--class-weights gives %s for %d classes %q: expected one for each", words.Plural(n, "weight"), len(ds.Classes), ds.Classes)
	}
	return o.warmStart.Divide(ds, o.Validation, o.Test, o.Fit.Seed)
}

// options returns the options for package run. When the fit has chosen its options,
// the settings are completed by them.
func (o *trainOptions) options(show *trainDisplay) run.Options {
	fit := o.Fit
	fit.Version, fit.Memory, fit.Progress = buildVersion(), o.Load.FeatureOptions.Memory, show.progress
	return run.Options{
		Mode: o.mode(), Fit: fit, Command: repeatCommand(o.out),
		Config: func(w io.Writer, chosen *train.Options) error {
			if chosen != nil {
				o.Complete(*chosen)
			}
			fmt.Fprintf(w, recordHeader+", version %s.\n", buildVersion())
			fmt.Fprintf(w, "# To repeat it: %s\n", repeatCommand(o.out))
			if chosen == nil {
				fmt.Fprintln(w, recordBegun)
			}
			return o.WriteRecord(w)
		},
	}
}

// advise adds a hint to the error of a run.
func (o *trainOptions) advise(cmd *cobra.Command, err error) error {
	if errors.Is(err, train.ErrStopped) && o.out.Unfinished() {
		again := resumeCommand(o.out)
		if k := cmd.Flags().Lookup("kernel"); k != nil && k.Changed {
			again += " --kernel " + k.Value.String()
		}
		return withHint(err, "continue with: "+again)
	}
	return withHintOn(err,
		hint{run.ErrInUse, "wait until it has ended, or choose another --out"},
		hint{train.ErrResume, backTo(o.out)},
		forceOneVote)
}

// forceOneVote is the hint about items with one vote each.
var forceOneVote = hint{dataset.ErrOneVote, "--force trains anyway"}

// backTo returns the hint for data or flags that differ from those of the run in a folder.
func backTo(folder run.Folder) string {
	return "restore the data and flags of " + folder.Path(run.ConfigFile) + ", or start over with --overwrite"
}

// trainArgs returns an error with a hint if there are arguments: files without their
// flag, or the rest of a list that was written with spaces.
func trainArgs(cmd *cobra.Command, args []string) error {
	err := noArgs(cmd, args)
	if err == nil {
		return nil
	}
	if _, stat := os.Stat(args[0]); stat == nil {
		return withHint(err, "files are given with flags: credence train --data items.csv --votes votes.csv --out runs/first")
	}
	return withHint(err, "lists are separated by commas without spaces, such as --vote-columns r1,r2,r3")
}

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
		return withHint(fmt.Errorf("%s has no %s to repeat", folder, run.ConfigFile), "give the folder that credence train wrote with --out")
	}
	if err := useKernel(cmd, recorded.Provenance.Kernel); err != nil {
		return err
	}
	v, err := repeat(cmd, folder, recorded.Provenance.Kernel, quiet)
	if d, ok := errors.AsType[*run.DifferenceError](err); ok && d.What == "data" {
		return withHint(err, "restore the original data, or train a new run on these")
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
		return nil, withHint(fmt.Errorf("%s cannot be repeated here: %w", folder, err),
			"run credence-full verify on a machine with such a GPU")
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
		return nil, withHint(err, "run credence verify in the folder where the run was started: its data paths are relative to it")
	case errors.Is(err, train.ErrStopped):
		return nil, errors.New("stopped before the end of training: nothing was verified")
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
