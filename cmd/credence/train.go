package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/par"
	"credence/train"
)

// trainOptions is the command line of credence train.
type trainOptions struct {
	config.Settings
	out       runFolder
	config    string
	resume    bool
	overwrite bool
	quiet     bool
	json      bool
	split     *dataset.Split // of the items, if there is one

	repeat bool // as the file says, whatever the environment, to compare the result
}

func newTrain() *cobra.Command { return newTrainOptions().command() }

func newTrainOptions() *trainOptions { return &trainOptions{Settings: *config.New()} }

// command returns the verb that fills in o.
func (o *trainOptions) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a model on items with votes",
		Long: `Train a model on items that carry several votes each, and write it to a folder:

  model.credence  the model, for credence predict, evaluate and inspect
  config.yaml     the complete configuration: credence train --config repeats
                  the run to the bit, on the same instruction set
  metrics.json    scores on held-out votes, beside those of simple references
  history.csv     the losses of every epoch
  report.html     the scores with figures and explanations, for a browser
  split.csv       the part of each item, if --test, --validation or --split
                  divides them

Votes may be long (item, rater, label), wide (a column a rater), counts (a
column a class) or fractions with a total. How they were read is printed before
training begins. Everything that is not given is chosen from the data, and the
choice is in config.yaml. Held-out votes decide when a network stops.

A configuration file has the names of the flags below as keys; credence init
writes one for given data. What the command line gives goes before the
environment (CREDENCE_EPOCHS for --epochs), and that before the file; credence
config show --origin tells what comes from where. Paths are relative to the
folder in which the command runs.

--method trains a rival of the mixture on the same votes, each taken for an
example of its own: softmax (several networks are a deep ensemble), dropout
(Monte Carlo), mve (mean and variance), qd (quality-driven intervals),
confidence (the confidence network) or evidential. They attach an uncertainty
to the class but give no distribution of its probability, so no intervals of it
and no report; credence inspect says what their uncertainty is. --setting
changes what is theirs alone:

` + settingsHelp() + `

Ctrl-C stops training, writes the best model so far and prints the command that
continues; the exit code is then 1. A run that was continued ends with the same
model as one that was never stopped. A folder that is not empty is left alone
without --resume or --overwrite.

--json prints one object a line to standard output: {"event":"data",…}, then
{"event":"epoch",…} for each epoch of each network and {"event":"progress",…}
in between, and at last {"event":"result",…} with the content of metrics.json.`,
		Example: `  credence train --data items.csv --votes votes.csv --out runs/first
  credence train --data nodules.csv --votes reads.csv --group patient \
    --classes 1,2,3,4,5 --out runs/nodules
  credence train --config runs/first/config.yaml --seed 2 --out runs/second
  credence train --data items.csv --votes votes.csv --out runs/qd \
    --method qd --setting lambda=20 --setting soften=100
  credence train --out runs/first --resume`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar((*string)(&o.out), "out", "", "`folder` to write to")
	declare(f, &o.Settings, config.Train)
	f.StringVar(&o.config, "config", "", "`file` of settings, .yaml")
	f.BoolVar(&o.resume, "resume", false, "continue the run in --out")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace the run in --out")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but warnings and errors")
	f.BoolVar(&o.json, "json", false, "print events as JSON lines")
	return cmd
}

func (o *trainOptions) run(cmd *cobra.Command) error {
	if o.out == "" {
		return usagef("no --out: expected the folder to write the run to")
	}
	if err := o.settle(); err != nil {
		return err
	}
	if len(o.Load.Data) == 0 {
		return withHint(usagef("no --data: expected a file of items with their features"),
			"for example, credence train --data items.csv --votes votes.csv --out runs/first")
	}
	if done, err := o.checkFolder(); done || err != nil {
		if done && !o.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "credence: the run in %s has ended: there is nothing to resume\n", o.out)
		}
		return err
	}
	par.SetThreads(o.Threads)
	defer par.SetThreads(0)

	// The first signal ends training in good order, a second one at once.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	show := newTrainDisplay(o, cmd)
	o.Load.FeatureOptions.Progress = show.volumes
	o.Load.FeatureOptions.Stop = ctx.Err
	ds, err := o.load()
	show.erase()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: the data were still being read", train.ErrStopped)
	}
	if err != nil {
		return err
	}
	defer ds.Close()
	show.data(ds)
	fit := o.Fit
	part, held, err := o.division(ds)
	if err != nil {
		return err
	}
	if part != ds {
		o.showSplit(show, ds)
	}
	if err := o.checkWeights(ds); err != nil {
		return err
	}
	if err := o.open(); err != nil {
		return err
	}
	if err := o.writeSplit(ds); err != nil {
		return err
	}
	fit.Held, fit.ItemWeights = held, part.Weights
	fit.Version = buildVersion()
	fit.Memory = o.Load.FeatureOptions.Memory
	fit.Checkpoint, fit.Resume = o.out.path(stateFolder), o.resume
	fit.Progress = show.progress
	result, err := train.Fit(ctx, part, fit)
	show.erase()
	stopped := errors.Is(err, train.ErrStopped)
	if err != nil && result == nil {
		o.out.abandon()
	}
	switch {
	case stopped && result == nil:
		if !o.out.has(stateFolder) {
			return err
		}
		return withHint(err, "continue with: "+o.again(cmd))
	case errors.Is(err, dataset.ErrOneVote):
		return withHint(err, "--force trains nevertheless")
	case errors.Is(err, train.ErrResume):
		return withHint(err, "bring data and flags back to those of "+o.out.path(configFile)+", or begin anew with --overwrite")
	case err != nil && !stopped:
		return err
	}
	metrics, failed := o.save(part, result)
	if failed != nil {
		return failed
	}
	if err := show.result(metrics, result.Model); err != nil {
		return err
	}
	if stopped {
		return withHint(err, "continue with: "+o.again(cmd))
	}
	return train.RemoveCheckpoint(o.out.path(stateFolder))
}

// checkWeights refuses class weights for another number of classes.
func (o *trainOptions) checkWeights(ds *dataset.Dataset) error {
	if n := len(o.Fit.ClassWeights); n > 0 && n != len(ds.Classes) {
		return usagef("--class-weights gives %s for %d classes %q: expected one for each", plural(n, "weight"), len(ds.Classes), ds.Classes)
	}
	return nil
}

// checkFolder refuses to write over what is there. A run that has ended needs
// no resuming: done is then true.
func (o *trainOptions) checkFolder() (done bool, err error) {
	if o.resume && o.overwrite {
		return false, usagef("--resume and --overwrite exclude each other")
	}
	taken, err := o.out.taken()
	switch {
	case err != nil || o.overwrite || !taken && !o.resume:
		return false, err
	case !o.resume:
		return false, withHint(fmt.Errorf("%s is there already and not empty", o.out),
			"choose another --out, continue the run with --resume, or replace it with --overwrite")
	case o.out.unfinished():
		return false, nil
	case o.out.has(modelFile):
		return true, nil
	}
	// A run that was killed before its first checkpoint starts anew.
	if !o.out.has(configFile) {
		return false, fmt.Errorf("there is no run to resume in %s", o.out)
	}
	return false, nil
}

// open makes the folder ready for a run and writes what is known of its
// configuration, so that it can be resumed however it ends.
func (o *trainOptions) open() error {
	if o.overwrite {
		if err := o.out.clear(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(string(o.out), 0o755); err != nil {
		return err
	}
	// What has checkpoints keeps the configuration that they belong to, in case
	// it turns out that this is another.
	if o.resume && o.out.has(stateFolder) && o.out.has(configFile) {
		return nil
	}
	return o.writeConfig()
}

func (o *trainOptions) writeConfig() error {
	return o.out.write(configFile, func(w io.Writer) error {
		fmt.Fprintf(w, "# What credence train was run with, version %s.\n", buildVersion())
		fmt.Fprintf(w, "# To repeat it: credence train --config %s --out FOLDER\n", shellQuote(o.out.path(configFile)))
		return o.WriteRecord(w)
	})
}

// again is the command that continues this run.
func (o *trainOptions) again(cmd *cobra.Command) string {
	line := o.out.resumeCommand()
	if k := cmd.Flags().Lookup("kernel"); k != nil && k.Changed {
		line += " --kernel " + k.Value.String()
	}
	return line
}

// save writes the files of the run.
func (o *trainOptions) save(ds *dataset.Dataset, result *train.Result) (*trainMetrics, error) {
	m := result.Model
	var chosen train.Options
	if err := json.Unmarshal(m.Provenance.Config, &chosen); err != nil {
		return nil, fmt.Errorf("reading the configuration of the fit: %w", err)
	}
	metrics := newTrainMetrics(result)
	o.Complete(chosen)
	for _, step := range []func() error{
		o.writeConfig,
		func() error { return o.out.writeHistory(m.Provenance.Runs) },
		func() error { return o.out.writeJSON(metricsFile, metrics) },
		func() error { return m.Save(o.out.path(modelFile)) },
		func() error {
			if m.Head.Method() != "" {
				return nil // the page is about distributions
			}
			return o.writeReport(ds, result)
		},
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return metrics, nil
}
