package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/head"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
	"credence/nn"
	"credence/run"
	"credence/train"
)

// resolve completes the settings of the command line from the environment, the
// configuration file and the run to start from.
func (o *trainOptions) resolve() error {
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
		if err := o.asRecorded(); err != nil {
			return err
		}
	}
	for _, step := range []func() error{o.inherit, o.parseMember, o.checkMomentum, o.readMethod, o.readLayers} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// recordHeader begins the record of a run, config.yaml.
const recordHeader = "# What credence train was run with"

// recordBegun is a line of the record of a run that has not ended, which has only what was given.
const recordBegun = "# The run has not ended: other settings follow from the data."

// asRecorded turns off what a record does not mention because the build that wrote it did not have it, so that the run
// repeats. The record of a run that has ended is complete, other files of settings are not; earlier builds, which had neither trees nor
// normal scores, did not mark records of runs that had not ended.
func (o *trainOptions) asRecorded() error {
	text, err := os.ReadFile(o.config)
	if err != nil || !strings.HasPrefix(string(text), recordHeader) || strings.Contains(string(text), "\n"+recordBegun+"\n") {
		return err
	}
	if !o.Given("trees") {
		o.Fit.Trees = "off"
	}
	if !o.Given("normal-scores") {
		o.Fit.Transform.Scores = "off"
	}
	return nil
}

// readLayers replaces the name of a file of layers by its content, so that the
// record of the run contains the layers.
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
		return nil, usagef("data are read more than once, and standard input (-) cannot be: give a file")
	}
	if err := o.checkShares(); err != nil {
		return nil, err
	}
	// --ignore applies to the columns of all files.
	load.Ignore, load.FeatureOptions.Ignore, load.VotesOptions.Ignore = load.FeatureOptions.Ignore, nil, nil
	var err error
	if o.warmStart, err = run.OpenWarmStart(ctx, o.From); err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	if o.warmStart != nil {
		o.Fit.From = o.warmStart.WarmStart
		o.warmStart.Adapt(&load)
	}
	ds, err := dataset.Load(ctx, load)
	if err == nil && ds.Rows == nil && len(load.Data) == 0 {
		return nil, errNoData()
	}
	p, ok := errors.AsType[*dataset.ParseError](err)
	if ok && errors.Is(p, dataset.ErrNoColumn) && slices.Contains(load.Votes, p.File) && !o.Given("votes-item") &&
		p.Name == load.FeatureOptions.ItemColumn {
		err = withHint(err, "--item names a column of both files; --votes-item names that of the votes where it is another")
	}
	if err = o.checkWarmStart(ds, err); err != nil && ds != nil {
		return nil, errors.Join(err, ds.Close())
	}
	return ds, err
}

// examine reads the data and completes the settings as training would. The
// caller closes the data.
func (o *trainOptions) examine(ctx context.Context) (*dataset.Dataset, error) {
	ds, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	d, err := o.divide(ds)
	if err == nil {
		fit := o.Fit
		fit.Held = d.Held
		if fit, err = train.Complete(d.Learn, fit); err == nil {
			o.Complete(fit)
			err = o.Recognized(ds)
		}
	}
	if err != nil {
		return nil, errors.Join(withHintOn(err, forceOneVote), ds.Close())
	}
	return ds, nil
}

// checkShares returns an error if --test and --validation do not make a valid split.
func (o *trainOptions) checkShares() error {
	held := o.Test + o.Validation
	return cmp.Or(
		expect(held < 1, "--test %v and --validation %v leave nothing to train on", o.Test, o.Validation),
		expect(held == 0 || o.Load.FeatureOptions.SplitColumn == "", "--split excludes --test and --validation"))
}

// split prints the number of items in each part of the split, and warnings about it.
func (d *trainDisplay) split(p *run.Partition) {
	s := p.Split
	if s == nil {
		return
	}
	d.note("split     %s for training, %s for validation, %s held out for testing",
		words.Plural(len(s.Train), "item"), words.Thousands(len(s.Validation)), words.Thousands(len(s.Test)))
	if none := p.Items.Len() - len(s.Train) - len(s.Validation) - len(s.Test); none > 0 {
		d.warn(words.Plural(none, "item") + " in no part of the split ignored")
	}
	for _, w := range s.Check(p.Items) {
		d.warn(w.Error())
	}
}

// inherit completes the settings from the configuration of the run to start from. Its votes
// are not inherited if other data are given.
func (o *trainOptions) inherit() error {
	if o.From == "" {
		return nil
	}
	folder := run.FolderOf(o.From)
	if a, err := os.Stat(string(folder)); err == nil && o.out != "" {
		if b, err := os.Stat(string(o.out)); err == nil && os.SameFile(a, b) {
			return usagef("--from %s is the folder of --out: the run to start from would be replaced", o.From)
		}
	}
	if !folder.Has(run.ConfigFile) { // a model file without a run
		if _, err := run.Load(o.From); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		return nil
	}
	except := []string{"from", "epochs", "rate"}
	if o.Given("data") {
		except = append(except, "votes")
	}
	if o.Given("optimizer") {
		except = append(except, "momentum")
	}
	return o.File(folder.Path(run.ConfigFile), except...)
}

// checkWarmStart returns an error if the data have columns that the run to start from did not
// have, and adds hints to errors about its features or classes.
func (o *trainOptions) checkWarmStart(ds *dataset.Dataset, err error) error {
	switch {
	case o.warmStart == nil:
		return err
	case errors.Is(err, dataset.ErrMissingFeature):
		return withHint(fmt.Errorf("--from %s: %w", o.From, err), "further data need the features of the run; to use other features, train without --from")
	case errors.Is(err, dataset.ErrUnknownClass):
		return withHint(fmt.Errorf("--from %s: %w", o.From, err), "to use other classes, train without --from")
	case err != nil:
		return err
	}
	var names []string
	for _, name := range o.warmStart.NewColumns(ds) {
		if !slices.Contains(o.Load.FeatureOptions.Ignore, name) {
			names = append(names, listWord(name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return withHint(fmt.Errorf("--from %s: the run was trained without %s [%s]", o.From, words.Noun(len(names), "column"), words.Few(names)),
		"exclude new columns with --ignore "+strings.Join(names, ",")+", or train without --from")
}

// changes describes what changed since the model that training started from.
func changes(c *model.Origin) string {
	if !c.Known {
		return fmt.Sprintf("started from the model with sha256 %.12s…; its data are not available", c.Model)
	}
	text := fmt.Sprintf("%s new, %s gone; %s added, %s removed", words.Plural(c.NewItems, "item"), words.Thousands(c.GoneItems), words.Plural(c.AddedVotes, "vote"), words.Count(c.RemovedVotes))
	if c.Items == 0 {
		return text + "; no held-out items to compare on"
	}
	text += fmt.Sprintf("\nnats per vote on %s that neither was trained on: %.4f before, %.4f now", words.Plural(c.Items, "item"), c.Before, c.After)
	if c.RatersBefore || c.RatersNow {
		how := map[bool]string{true: "modelled", false: "not modelled"}
		text += fmt.Sprintf("\n(raters %s before, %s now)", how[c.RatersBefore], how[c.RatersNow])
	}
	return text
}

// checkMomentum returns an error if the optimizer of a new run would ignore --momentum.
func (o *trainOptions) checkMomentum() error {
	name := o.Fit.Optimizer
	if name == "" && o.From == "" { // else that of the model to start from
		name = train.Defaults().Optimizer
	}
	if k := nn.OptimizerNamed(name); o.Fit.Momentum <= 0 || k.Momentum > 0 || k.Name == "" || o.resume || o.repeat {
		return nil
	}
	names := strings.Join(nn.OptimizersWithMomentum(), " or ")
	return withHint(usagef("--momentum %v applies to optimizer %s, not to %s", o.Fit.Momentum, names, name),
		"add --optimizer "+names+", or leave --momentum out")
}

// readMethod sets the method from --method and its settings.
func (o *trainOptions) readMethod() error {
	m, err := head.MethodByName(o.Method)
	if err != nil {
		return usagef("--method: %w", err)
	}
	for flag, value := range map[string]string{"components": fmt.Sprint(o.Components), "limit": fmt.Sprint(o.Limit)} {
		if !o.Given(flag) {
			continue
		}
		if head.SettingValue(m, flag) == "" {
			return usagef("--%s applies to the mixture, not to method %s", flag, o.Method)
		}
		if m, err = head.WithSetting(m, flag, value); err != nil {
			return usagef("--%s: %w", flag, err)
		}
	}
	for _, text := range o.MethodSettings {
		setting, value, found := strings.Cut(text, "=")
		setting = strings.TrimSpace(setting)
		if !found {
			return withHint(usagef("--setting %q: expected name=value", text), settingsHint(m))
		}
		if slices.Contains(config.OfMixture, setting) && head.SettingValue(m, setting) != "" {
			return usagef("--setting %s: use --%s", text, setting)
		}
		next, err := head.WithSetting(m, setting, strings.TrimSpace(value))
		if err != nil {
			return withHint(usagef("--setting %s: %w", text, err), settingsHint(m))
		}
		m = next
	}
	h, err := m.New(head.Task{Classes: 2}) // any number of classes validates the settings
	if err != nil {
		return withHint(usagef("--setting: %w", err), settingsHint(m))
	}
	o.Fit.Head, o.Joint = m, h.Traits().Joint
	return nil
}

// settingsOf returns the settings of a method that have no flags of their own.
func settingsOf(m head.Method) []head.Setting {
	return slices.DeleteFunc(head.Settings(m), func(s head.Setting) bool {
		return slices.Contains(config.OfMixture, s.Name)
	})
}

// settingsHelp lists the settings of all methods for the help.
func settingsHelp() string {
	var lines []string
	for _, m := range head.Methods {
		for i, s := range settingsOf(m) {
			name := ""
			if i == 0 {
				name = m.Name()
			}
			lines = append(lines, fmt.Sprintf("  %-11s %-17s %s", name, s.Name+"="+s.Default, s.Help))
		}
	}
	return strings.Join(lines, "\n")
}

// settingsHint lists the settings of a method with their defaults.
func settingsHint(m head.Method) string {
	list := words.Each(settingsOf(m), func(s head.Setting) string { return fmt.Sprintf("%s=%s (%s)", s.Name, s.Default, s.Help) })
	if len(list) == 0 {
		return "leave out --setting"
	}
	return "the settings of " + m.Name() + ": " + strings.Join(list, ", ")
}

// noInterval follows the description of the uncertainty of a method without distributions.
const noInterval = "It does not yield an interval of the class probability."

// writeMeaning describes the uncertainty of a model without distributions, wrapped to a width.
func writeMeaning(w io.Writer, m *model.Model, width int) error {
	meaning := m.Traits().Meaning
	if meaning == "" {
		return nil
	}
	var b strings.Builder
	printout.Wrap(&b, "", fmt.Sprintf("method %s: %s %s", m.Method.Name(), meaning, noInterval), width)
	_, err := io.WriteString(w, b.String())
	return err
}

// noDistributions is the error of what requires distributions on a model without them.
const noDistributions = "%s requires distributions of the class probability: a model of method %s has none"

// trainMixture is the hint for models without distributions.
var trainMixture = "train with --method " + head.Mixture{}.Name()

// refuseIntervals returns an error if a flag is set that requires distributions and the model has none.
func refuseIntervals(m *model.Model, f *pflag.FlagSet, names ...string) error {
	given := slices.DeleteFunc(names, func(name string) bool { return !f.Changed(name) })
	if m.Traits().Joint || len(given) == 0 {
		return nil
	}
	return withHint(usagef(noDistributions, "--"+given[0], m.Method.Name()), "leave it out, or "+trainMixture)
}
