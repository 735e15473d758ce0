package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/config"
	"credence/nn"
	"credence/run"
	"credence/train"
)

// declare adds the options of a verb to its flags.
func declare(f *pflag.FlagSet, s *config.Settings, verb config.Verb) {
	for _, o := range config.Options {
		if !o.Of(verb) {
			continue
		}
		flag := f.VarPF(s.Field(o), o.Name, "", o.Help)
		flag.DefValue = o.Default()
		if o.IsBool() {
			flag.NoOptDefVal = "true"
		}
	}
}

// zeroMark marks flags whose 0 stands for their default, which nobody means who
// writes 0.
const zeroMark = "credence_not_zero"

// notZero marks flags that may be left out but not be 0.
func notZero(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.SetAnnotation(name, zeroMark, nil)
	}
}

// refuseZeros is the error of a marked flag that is given as 0.
func refuseZeros(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, marked := f.Annotations[zeroMark]; marked && f.Value.String() == "0" && err == nil {
			err = usagef("--%s 0: expected a number above 0, or leave the flag out", f.Name)
		}
	})
	return err
}

// settle fills in what the command line leaves open, from the environment and
// from the configuration file.
func (o *trainOptions) settle() error {
	if o.config == "" && o.resume && o.out.Has(run.ConfigFile) && o.memberText == "" {
		o.config = o.out.Path(run.ConfigFile)
	}
	if !o.repeat {
		if err := o.Environment(); err != nil {
			return asUsage(err)
		}
	}
	if o.config != "" {
		if err := o.File(o.config); err != nil {
			if e, ok := errors.AsType[*config.Error](err); ok && e.Hint != "" {
				return withHint(err, e.Hint)
			}
			return err
		}
	}
	if err := o.inherit(); err != nil {
		return err
	}
	if err := o.settleMember(); err != nil {
		return err
	}
	if err := readMethod(&o.Settings); err != nil {
		return err
	}
	return o.readLayers()
}

// readLayers replaces the name of a file of layers by its content, so that the
// record of the run holds it.
func (o *trainOptions) readLayers() error {
	path := o.Fit.Network
	if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if _, err := nn.Parse(text, 1); err != nil {
		return withHint(fmt.Errorf("reading %s: %w", path, err), "credence help network describes the format, with examples")
	}
	o.Fit.Network, o.layers = strings.TrimSpace(string(text)), path
	return nil
}

// load reads the data set.
func (o *trainOptions) load(ctx context.Context) (*dataset.Dataset, error) {
	load := o.LoadOptions()
	if slices.Contains(load.Data, "-") || slices.Contains(load.Votes, "-") {
		return nil, usagef("standard input (-) can be read only once, and data are read more often: give the name of a file")
	}
	if err := o.checkShares(); err != nil {
		return nil, err
	}
	// --ignore names columns of any of the files.
	load.Ignore, load.FeatureOptions.Ignore, load.VotesOptions.Ignore = load.FeatureOptions.Ignore, nil, nil
	if err := o.begin(ctx); err != nil {
		return nil, err
	}
	o.beginning.Adapt(&load)
	ds, err := dataset.Load(ctx, load)
	p, ok := errors.AsType[*dataset.ParseError](err)
	if ok && errors.Is(p, dataset.ErrNoColumn) && slices.Contains(load.Votes, p.File) && !o.Given("votes-item") &&
		p.Name == load.FeatureOptions.ItemColumn {
		err = withHint(err, "--item names a column of both files; --votes-item names that of the votes where it is another")
	}
	if err = o.checkBegun(ds, err); err != nil && ds != nil {
		return nil, errors.Join(err, ds.Close())
	}
	return ds, err
}

// examine reads the data and completes the settings, as training would. The
// caller closes the data.
func (o *trainOptions) examine(ctx context.Context) (*dataset.Dataset, error) {
	ds, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.choose(ds); err != nil {
		return nil, errors.Join(err, ds.Close())
	}
	return ds, nil
}

func (o *trainOptions) choose(ds *dataset.Dataset) error {
	d, err := o.divide(ds)
	if err != nil {
		return err
	}
	fit := o.fit()
	fit.Held = d.Held
	chosen, err := train.Complete(d.Learn, fit)
	if err != nil {
		return withHintOn(err, forceOneVote)
	}
	o.Complete(chosen)
	return o.Recognized(ds)
}
