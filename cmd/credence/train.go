package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/config"
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

func newTrainOptions() *trainOptions { return &trainOptions{Settings: *config.New()} }

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
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but warnings and errors")
	f.BoolVar(&o.json, "json", false, "print events as JSON lines")
	f.StringVar(&o.memberText, "member", "", "train network `I/M` alone, from 0/M, for credence join; auto or auto/M takes I from the environment")
	shortHelp(cmd, commonFlags)
	return cmd
}

// commonFlags are the flags of train that most runs need.
var commonFlags = []flagGroup{
	{"Data and votes", []string{"data", "votes", "item", "rater", "classes", "ignore", "group", "test"}},
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
			fmt.Fprintf(cmd.ErrOrStderr(), "credence: the run in %s has ended: there is nothing to resume\n", o.out)
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
	if len(o.Load.Data) == 0 {
		return withHint(usagef("no --data: expected a file of items with their features"),
			"for example, credence train --data items.csv --votes votes.csv --out runs/first")
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
	if o.warmStart != nil && o.warmStart.Gone != nil {
		show.warn(fmt.Sprintf("--from %s: its data are not at hand: %v", o.From, o.warmStart.Gone))
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
			fmt.Fprintf(w, "# What credence train was run with, version %s.\n", buildVersion())
			fmt.Fprintf(w, "# To repeat it: %s\n", repeatCommand(o.out))
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
var forceOneVote = hint{dataset.ErrOneVote, "--force trains nevertheless"}

// backTo returns the hint for data or flags that differ from those of the run in a folder.
func backTo(folder run.Folder) string {
	return "bring data and flags back to those of " + folder.Path(run.ConfigFile) + ", or begin anew with --overwrite"
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
	return withHint(err, "a list has commas and no blanks, such as --vote-columns r1,r2,r3")
}
