package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/calculator"
	"credence/internal/config"
	"credence/internal/rank"
	"credence/predict"
)

// predictOptions is the command line of credence predict.
type predictOptions struct {
	data      config.Settings
	format    predict.Format // fields that are set by flags directly
	levels    numbers
	digits    digits
	top       string
	names     string
	out       string
	overwrite bool
	batch     int
	device    device
	progress  float64
	resume    bool
	shard     string
	rank      rank.Rank // of this process among the shards
}

// predictFormats are the values of --format.
var predictFormats = []string{"csv", "jsonl", "parquet", "arrow", "npy", "table"}

func newPredict() *cobra.Command {
	o := &predictOptions{levels: numbers{values: []float64{0.95}}}
	cmd := newVerb("predict RUN ITEMS...", "Predict class probabilities of items, with intervals",
		"a run and a file of items", o.run)
	o.declare(cmd.Flags())
	return cmd
}

// votesUsage is the usage of --votes in verbs that predict.
const votesUsage = "`file` of votes on the items, to take into account; the votes of further ones are added"

// declare adds the flags.
func (o *predictOptions) declare(f *pflag.FlagSet) {
	to := &o.format
	f.Var(&o.levels, "level", "levels of the intervals; may be repeated")
	f.StringVarP(&o.out, "output", "o", "-", "`file` to write: .csv, .jsonl, .parquet or .npy; - is standard output")
	declareOverwrite(f, &o.overwrite)
	f.StringVar(&to.Name, "format", "", "`form` of the output, whatever its name: "+strings.Join(predictFormats, ", "))
	f.BoolVar(&to.HPD, "hpd", false, "add highest-density sets")
	f.BoolVar(&to.Full, "full", false, "add the parameters of the mixtures")
	f.BoolVar(&to.Next, "next", false, "add what one further vote on the item would gain; see credence next")
	f.StringVar(&o.top, "top", "on", "compute p_top, about a third of the time for more than two classes: `on` or off")
	f.Float64Var(&to.MaxWidth, "max-width", 0, "abstain where the predicted class's interval is wider than this `width`")
	f.Float64Var(&to.MinTop, "min-top", 0, "abstain where the predicted class's p_top is smaller than this `probability`")
	f.BoolVar(&to.Wide, "wide", false, "one row per item, with columns such as mean_CLASS; with tidymodels .pred_CLASS and so on")
	f.StringSliceVar(&to.Fields, "only", nil, "write nothing but `mean`, the fastest there is; or, to .npy, these fields")
	f.StringVar(&o.names, "names", "credence", "`names` of the columns: credence or tidymodels")
	declare(f, &o.data, config.Predict)
	f.Lookup("votes").Usage = votesUsage
	f.BoolVar(&to.CSVSafe, "csv-safe", false, "in CSV, put ' before texts that a spreadsheet would take for a formula (=, +, -, @)")
	o.digits.declare(f)
	f.IntVar(&o.batch, "batch", 1024, "`items` read at a time; 1 answers each as it comes")
	f.Float64Var(&o.progress, "progress", 5, "`seconds` between lines on how far it is, 0 for none")
	f.BoolVar(&o.resume, "resume", false, "keep finished parts in OUT.parts, and go on from those that are there")
	f.StringVar(&o.shard, "shard", "", "predict the `i/n`-th part of the items only, i from 0, or auto; credence join puts them together")
	declareThreads(f, 0, "how many `cores` to use (default all)")
	o.device.declare(f)
	notZero(f, "max-width", "min-top")
}

// output returns the columns of the output and their encoding. Intervals are computed to the number of
// digits requested, even if the format shows more.
func (o *predictOptions) output() predict.Format {
	f := o.format
	f.Digits, f.Precision, f.Levels = o.digits.of(f.Name), o.digits.Precision(), o.levels.values
	f.Top, f.OnlyMean, f.Tidymodels = o.top == "on", o.onlyMean(), o.names == "tidymodels"
	return f
}

// check validates the flags and determines the format of the output.
func (o *predictOptions) check(terminal bool) error {
	err := cmp.Or(
		checkLevels(o.levels.values),
		oneOf("top", o.top, "on", "off"),
		oneOf("names", o.names, "credence", "tidymodels"),
		checkAbstention(o.format.MaxWidth, o.format.MinTop),
		expect(o.progress >= 0 && o.progress < 1e6, "--progress %v: expected a number of seconds, 0 for none", o.progress),
		expect(o.batch >= 1, "--batch %d: expected at least 1", o.batch))
	switch {
	case err != nil:
		return err
	case o.format.Name != "":
		return oneOf("format", o.format.Name, predictFormats...)
	case o.out == "-" && terminal:
		o.format.Name = "table"
	case o.out == "-":
		o.format.Name = "csv"
	default:
		ext := strings.ToLower(filepath.Ext(o.out))
		if o.format.Name = formOf[ext]; ext == ".npy" {
			o.format.Name = "npy"
		}
		return expect(slices.Contains([]string{"csv", "jsonl", "parquet", "npy"}, o.format.Name),
			"-o %s: expected a name that ends in .csv, .jsonl, .parquet or .npy, or --format", o.out)
	}
	return nil
}

func (o *predictOptions) run(cmd *cobra.Command, args []string) error {
	path, items := args[0], args[1:]
	stdout := cmd.OutOrStdout()
	if err := o.check(isTerminal(stdout)); err != nil {
		return err
	}
	if err := o.checkOnly(cmd.Flags()); err != nil {
		return err
	}
	if err := o.checkShards(items); err != nil {
		return err
	}
	overwrite := o.overwrite || o.sharded() && predict.Joining(o.out)
	if err := checkOutputs(cmd.InOrStdin(), overwrite, []string{o.out}, o.inputs(path, items)); err != nil {
		return err
	}
	engine, err := o.device.engine()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	m, err := loadModel(cmd.ErrOrStderr(), path)
	if err != nil {
		return err
	}
	m.Engine = engine
	if err := refuseIntervals(m, cmd.Flags(), "level", "hpd", "full", "next", "resolution", "calibrate", "top", "max-width", "min-top", "votes"); err != nil {
		return err
	}
	reportAs(m, &o.data)
	if err := writeMeaning(cmd.ErrOrStderr(), m, 80); err != nil {
		return err
	}
	table := predict.NewTable(m, o.output())
	if err := table.CheckNames(); err != nil {
		return withHint(fmt.Errorf("--wide: %w", err), "without --wide, classes are in a column of their own")
	}
	p, in, err := o.open(ctx, cmd, m, path, items)
	if err != nil {
		return orStopped(ctx, err)
	}
	defer in.Close()
	p.table = table
	p.progress = newPredictProgress(cmd.ErrOrStderr(), items[0], o.progress, stdout, o.out == "-")
	if o.sharded() {
		err = p.predictShard(ctx, cmd, in, path)
	} else {
		err = writeFile(cmd, o.out, func(w io.Writer) error { return p.predict(ctx, in, w) })
	}
	if err != nil {
		return err
	}
	return p.end()
}

// checkLevels returns an error if a level is out of range, with a hint if it is in percent.
func checkLevels(levels []float64) error {
	for _, level := range levels {
		err := calculator.CheckLevel(level)
		if err == nil {
			continue
		}
		err = usagef("--level %v: %w", level, err)
		if level > 1 && level < 100 {
			err = withHint(err, fmt.Sprintf("%v%% is --level %v", level, level/100))
		}
		return err
	}
	return nil
}

// checkAbstention checks the thresholds for abstaining.
func checkAbstention(maxWidth, minTop float64) error {
	return cmp.Or(
		expect(maxWidth >= 0 && maxWidth <= 1, "--max-width %v: expected a width between 0 and 1", maxWidth),
		expect(minTop >= 0 && minTop <= 1, "--min-top %v: expected a probability between 0 and 1", minTop))
}

// onlyMean reports whether only means are requested.
func (o *predictOptions) onlyMean() bool {
	return len(o.format.Fields) == 1 && o.format.Fields[0] == "mean"
}

// checkOnly returns an error if --only is combined with flags that request more.
func (o *predictOptions) checkOnly(f *pflag.FlagSet) error {
	outside := firstChanged(f, "hpd", "wide", "max-width", "min-top", "names", "csv-safe")
	more := firstChanged(f, "level", "hpd", "full", "next", "top", "max-width", "min-top")
	switch {
	case o.format.Name == "npy" && outside != "":
		return usagef("--%s has no place in an NPY file", outside)
	case o.format.Fields != nil && o.format.Name != "npy" && !o.onlyMean():
		return usagef("--only %q: expected mean, or the fields of an NPY file", strings.Join(o.format.Fields, ","))
	case o.onlyMean() && more != "":
		return usagef("--only mean leaves out what --%s asks for: give one of them", more)
	}
	return nil
}
