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
	levels    numbers
	out       string
	overwrite bool
	format    string
	hpd       bool
	full      bool
	next      bool
	top       string
	maxWidth  float64
	minTop    float64
	only      []string
	names     string
	batch     int
	device    device
	csvSafe   bool
	digits    digits
	wide      bool
	progress  float64
	resume    bool
	shard     string
	rank      rank.Rank // among those that predict
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

// votesUsage is what votes are to verbs that predict.
const votesUsage = "`file` of votes on the items, to take into account; the votes of further ones are added"

// declare adds the flags.
func (o *predictOptions) declare(f *pflag.FlagSet) {
	f.Var(&o.levels, "level", "levels of the intervals; may be repeated")
	f.StringVarP(&o.out, "output", "o", "-", "`file` to write: .csv, .jsonl, .parquet or .npy; - is standard output")
	declareOverwrite(f, &o.overwrite)
	f.StringVar(&o.format, "format", "", "`form` of the output, whatever its name: "+strings.Join(predictFormats, ", "))
	f.BoolVar(&o.hpd, "hpd", false, "add highest-density sets")
	f.BoolVar(&o.full, "full", false, "add the parameters of the mixtures")
	f.BoolVar(&o.next, "next", false, "add what one further vote on the item would gain; see credence next")
	f.StringVar(&o.top, "top", "on", "compute p_top, about a third of the time for more than two classes: `on` or off")
	f.Float64Var(&o.maxWidth, "max-width", 0, "abstain where the predicted class's interval is wider than this `width`")
	f.Float64Var(&o.minTop, "min-top", 0, "abstain where the predicted class's p_top is smaller than this `probability`")
	f.BoolVar(&o.wide, "wide", false, "one row per item, with columns such as mean_CLASS; with tidymodels .pred_CLASS and so on")
	f.StringSliceVar(&o.only, "only", nil, "write nothing but `mean`, the fastest there is; or, to .npy, these fields")
	f.StringVar(&o.names, "names", "credence", "`names` of the columns: credence or tidymodels")
	declare(f, &o.data, config.Predict)
	f.Lookup("votes").Usage = votesUsage
	f.BoolVar(&o.csvSafe, "csv-safe", false, "in CSV, put ' before texts that a spreadsheet would take for a formula (=, +, -, @)")
	o.digits.declare(f)
	f.IntVar(&o.batch, "batch", 1024, "`items` read at a time; 1 answers each as it comes")
	f.Float64Var(&o.progress, "progress", 5, "`seconds` between lines on how far it is, 0 for none")
	f.BoolVar(&o.resume, "resume", false, "keep finished parts in OUT.parts, and go on from those that are there")
	f.StringVar(&o.shard, "shard", "", "predict the `i/n`-th part of the items only, i from 0, or auto; credence join puts them together")
	declareThreads(f, 0, "how many `cores` to use (default all)")
	o.device.declare(f)
	notZero(f, "max-width", "min-top")
}

// output selects the fields of the output and its form. Intervals are computed to as many digits as are
// asked for, whatever the form shows of them.
func (o *predictOptions) output() predict.Format {
	return predict.Format{
		Form:    predict.Form{Name: o.format, Digits: o.digits.of(o.format), CSVSafe: o.csvSafe},
		Summary: predict.Summary{Levels: o.levels.values, Precision: o.digits.Precision(), MaxWidth: o.maxWidth, MinTop: o.minTop},
		HPD:     o.hpd, Full: o.full, Next: o.next, Top: o.top == "on",
		OnlyMean: o.onlyMean(), Fields: o.only, Wide: o.wide, Tidymodels: o.names == "tidymodels",
	}
}

// check refuses flags without sense, and finds the form of the output.
func (o *predictOptions) check(terminal bool) error {
	err := cmp.Or(
		checkLevels(o.levels.values),
		oneOf("top", o.top, "on", "off"),
		oneOf("names", o.names, "credence", "tidymodels"),
		checkAbstention(o.maxWidth, o.minTop),
		expect(o.progress >= 0 && o.progress < 1e6, "--progress %v: expected a number of seconds, 0 for none", o.progress),
		expect(o.batch >= 1, "--batch %d: expected at least 1", o.batch))
	switch {
	case err != nil:
		return err
	case o.format != "":
		return oneOf("format", o.format, predictFormats...)
	case o.out == "-" && terminal:
		o.format = "table"
	case o.out == "-":
		o.format = "csv"
	default:
		ext := strings.ToLower(filepath.Ext(o.out))
		if o.format = formOf[ext]; ext == ".npy" {
			o.format = "npy"
		}
		return expect(slices.Contains([]string{"csv", "jsonl", "parquet", "npy"}, o.format),
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
	if err := o.checkParts(items); err != nil {
		return err
	}
	overwrite := o.overwrite || o.inParts() && predict.Joining(o.out)
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
	if err := tellMeaning(cmd.ErrOrStderr(), m, 80); err != nil {
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
	if o.inParts() {
		err = p.predictParts(ctx, cmd, in, path)
	} else {
		err = writeFile(cmd, o.out, func(w io.Writer) error { return p.predict(ctx, in, w) })
	}
	if err != nil {
		return err
	}
	return p.end()
}

// checkLevels refuses levels without sense, such as those in percent.
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

// checkAbstention checks the flags on where to abstain.
func checkAbstention(maxWidth, minTop float64) error {
	return cmp.Or(
		expect(maxWidth >= 0 && maxWidth <= 1, "--max-width %v: expected a width between 0 and 1", maxWidth),
		expect(minTop >= 0 && minTop <= 1, "--min-top %v: expected a probability between 0 and 1", minTop))
}
