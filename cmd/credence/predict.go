package main

import (
	"cmp"
	"fmt"
	"io"
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
	data     config.Settings
	format   predict.Format // fields that are set by flags directly
	levels   numbers
	top      string
	names    string
	out      outputFlags
	batch    int
	device   device
	progress float64
	resume   bool
	shard    string
	rank     rank.Rank // of this process among the shards
}

func newPredict() *cobra.Command {
	o := &predictOptions{levels: numbers{values: []float64{0.95}}}
	cmd := newVerb("predict RUN ITEMS...", "Predict class probabilities of items, with intervals",
		"a run and a file of items", o.run)
	o.declare(cmd.Flags())
	return cmd
}

// votesUsage is the usage of --votes in verbs that predict.
const votesUsage = "`file` of votes on the items to condition on; repeat to add votes"

// declare adds the flags.
func (o *predictOptions) declare(f *pflag.FlagSet) {
	to := &o.format
	f.Var(&o.levels, "level", "levels of the intervals")
	o.out.declare(f, "csv", "jsonl", "parquet", "npy", "arrow", "table")
	f.BoolVar(&to.HPD, "hpd", false, "add highest-density sets")
	f.BoolVar(&to.Full, "full", false, "add the parameters of the mixtures")
	f.BoolVar(&to.Next, "next", false, "add the expected gain of another vote on the item; see credence next")
	f.StringVar(&o.top, "top", "on", "compute p_top, which takes about a third of the time with more than two classes: `on` or off")
	f.Float64Var(&to.MaxWidth, "max-width", 0, "abstain if the interval of the predicted class is wider than this `width`")
	f.Float64Var(&to.MinTop, "min-top", 0, "abstain if p_top of the predicted class is below this `probability`")
	f.BoolVar(&to.Wide, "wide", false, "write one row per item, with columns such as mean_CLASS, or .pred_CLASS with --names tidymodels")
	f.StringSliceVar(&to.Fields, "only", nil, "write only the `mean`, which is fastest, or these fields to an NPY file")
	f.StringVar(&o.names, "names", "credence", "column `names`: credence or tidymodels")
	declare(f, &o.data, config.Predict)
	f.Lookup("votes").Usage = votesUsage
	f.IntVar(&o.batch, "batch", 1024, "`items` to read at a time; 1 predicts each as it arrives")
	f.Float64Var(&o.progress, "progress", 5, "`seconds` between progress lines, 0 for none")
	f.BoolVar(&o.resume, "resume", false, "keep finished blocks in OUT.parts, and resume from those that exist")
	f.StringVar(&o.shard, "shard", "", "predict only shard `i/n` of the items, with i from 0, or auto; credence join combines the shards")
	declareThreads(f, 0)
	o.device.declare(f)
	notZero(f, "max-width", "min-top")
}

// output returns the columns of the output and their encoding. Intervals are computed to the number of
// digits requested, even if the format shows more.
func (o *predictOptions) output() predict.Format {
	f := o.format
	f.Form, f.Precision, f.Levels = o.out.rows(), o.out.digits.Precision(), o.levels.values
	f.Top, f.OnlyMean, f.Tidymodels = o.top == "on", o.onlyMean(), o.names == "tidymodels"
	return f
}

// check validates the flags and determines the format of the output.
func (o *predictOptions) check(f *pflag.FlagSet, items []string, terminal bool) error {
	if o.out.file == "-" && o.out.form == "" && terminal {
		o.out.form = "table"
	}
	return cmp.Or(
		checkLevels(o.levels.values),
		oneOf("top", o.top, "on", "off"),
		oneOf("names", o.names, "credence", "tidymodels"),
		checkAbstention(o.format.MaxWidth, o.format.MinTop),
		expect(o.progress >= 0 && o.progress < 1e6, "--progress %v: expected a number of seconds, 0 for none", o.progress),
		expect(o.batch >= 1, "--batch %d: expected at least 1", o.batch),
		o.out.resolve(),
		o.checkOnly(f),
		o.checkShards(items))
}

func (o *predictOptions) run(cmd *cobra.Command, args []string) error {
	path, items := args[0], args[1:]
	stdout := cmd.OutOrStdout()
	if err := o.check(cmd.Flags(), items, isTerminal(stdout)); err != nil {
		return err
	}
	overwrite := o.out.overwrite || o.sharded() && predict.Joining(o.out.file)
	if err := checkOutputs(cmd.InOrStdin(), overwrite, []string{o.out.file}, o.inputs(path, items)); err != nil {
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
	p.progress = newPredictProgress(cmd.ErrOrStderr(), items[0], o.progress, stdout, o.out.file == "-")
	if o.sharded() {
		err = p.predictShard(ctx, cmd, in, path)
	} else {
		err = writeFile(cmd, o.out.file, func(w io.Writer) error { return p.predict(ctx, in, w) })
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
	case o.out.form == "npy" && outside != "":
		return usagef("--%s does not apply to an NPY file", outside)
	case o.format.Fields != nil && o.out.form != "npy" && !o.onlyMean():
		return usagef("--only %q: expected mean, or the fields of an NPY file", strings.Join(o.format.Fields, ","))
	case o.onlyMean() && more != "":
		return usagef("--only mean and --%s exclude each other", more)
	}
	return nil
}
