package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/calculator"
	"credence/internal/config"
	"credence/internal/kernel"
	"credence/internal/rank"
	"credence/internal/table"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
	"credence/predict"
	"credence/run"
)

// predictOptions is the command line of credence predict.
type predictOptions struct {
	data     config.Settings
	format   predict.Format // fields that are set by flags directly
	levels   numbers
	top      string
	score    string // of the column point
	expected int    // votes per item, for the point
	who      string // the rater whose votes are predicted
	raters   string // file with features of raters
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
	itemsOrVotes(cmd)
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
	f.StringVar(&o.score, "point", "", "add the column point, the optimum of a `score`: "+strings.Join(mixture.ScoreNames(), ", "))
	f.IntVar(&o.expected, "votes-expected", -1, "`votes` per item that the point is compared with, 0 for the probabilities themselves (default: their mean number in training)")
	f.StringVar(&o.who, "as", "", "predict the votes of this `rater` of training or, with --rater-data, of a group of raters: column=value")
	f.StringVar(&o.raters, "rater-data", "", "`file` with a column rater and features of raters, for --as")
	f.Float64Var(&to.MaxWidth, "max-width", 0, "abstain if the interval of the predicted class is wider than this `width`")
	f.Float64Var(&to.MinTop, "min-top", 0, "abstain if p_top of the predicted class is below this `probability`")
	f.BoolVar(&to.Wide, "wide", false, "write one row per item, with columns such as mean_CLASS, or .pred_CLASS with --names tidymodels")
	f.StringSliceVar(&to.Fields, "only", nil, "write only the `mean`, which is fastest, only the point, or these fields to an NPY file")
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
	f.Top, f.OnlyMean, f.OnlyPoint, f.Tidymodels = o.top == "on", o.only("mean"), o.only("point"), o.names == "tidymodels"
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
		o.checkPoint(f),
		o.checkAs(f),
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
	m, err := loadModelWith(cmd.ErrOrStderr(), path, model.Extensions{NoProvenance: o.score == ""})
	if err != nil {
		return err
	}
	m.Engine = engine
	if err := refuseIntervals(m, cmd.Flags(), "level", "hpd", "full", "next", "resolution", "calibrate", "top", "max-width", "min-top", "votes", "point", "votes-expected", "as"); err != nil {
		return err
	}
	if o.score != "" {
		if o.format.Point, err = predict.NewPoint(m, o.score, o.expected); err != nil {
			return usagef("--point: %w", err)
		}
	}
	reportAs(m, &o.data)
	if err := writeMeaning(cmd.ErrOrStderr(), m, 80); err != nil {
		return err
	}
	table := predict.NewTable(m, o.output())
	if err := table.CheckNames(); err != nil {
		return withHint(fmt.Errorf("--wide: %w", err), "without --wide, classes are in a column of their own")
	}
	as, err := o.as(ctx, cmd, m)
	if err != nil {
		return err
	}
	p, in, err := o.open(ctx, cmd, m, path, items)
	if err != nil {
		return orStopped(ctx, err)
	}
	defer in.Close()
	p.table, p.as = table, as
	p.progress = newPredictProgress(cmd.ErrOrStderr(), p.input, o.progress, stdout, o.out.file == "-")
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

// only reports whether one field alone is requested.
func (o *predictOptions) only(field string) bool {
	return len(o.format.Fields) == 1 && o.format.Fields[0] == field
}

// checkOnly returns an error if --only is combined with flags that request more.
func (o *predictOptions) checkOnly(f *pflag.FlagSet) error {
	outside := firstChanged(f, "hpd", "wide", "max-width", "min-top", "names", "csv-safe")
	more := firstChanged(f, "level", "hpd", "full", "next", "top", "max-width", "min-top")
	only := strings.Join(o.format.Fields, ",")
	switch {
	case o.out.form == "npy" && outside != "":
		return usagef("--%s does not apply to an NPY file", outside)
	case o.format.Fields != nil && o.out.form != "npy" && !o.only("mean") && !o.only("point"):
		return usagef("--only %q: expected mean, point, or the fields of an NPY file", only)
	case (o.only("mean") || o.only("point") && o.out.form != "npy") && more != "":
		return usagef("--only %s and --%s exclude each other", only, more)
	case o.only("mean") && f.Changed("point"):
		return usagef("--only mean and --point exclude each other: --only point writes the point")
	}
	return nil
}

// sharded reports whether the prediction is written in blocks that are kept, of one shard or several.
func (o *predictOptions) sharded() bool { return o.resume || o.shard != "" }

// checkShards returns an error if the output cannot be written in blocks, and sets the rank.
func (o *predictOptions) checkShards(items []string) error {
	if !o.sharded() {
		return nil
	}
	flag := "--resume"
	o.rank = rank.Rank{Count: 1}
	if o.shard != "" {
		flag = "--shard"
		var err error
		if o.rank, err = rank.Parse(o.shard, os.Getenv); err != nil {
			return usagef("--shard: %w", err)
		}
	}
	switch {
	case o.out.file == "-":
		return usagef("%s keeps finished blocks next to the output: give a file, such as -o predictions.csv", flag)
	case !slices.Contains([]string{"csv", "jsonl", "parquet"}, o.out.form):
		return usagef("%s: expected the format csv, jsonl or parquet, found %s", flag, o.out.form)
	case slices.Contains(items, "-"):
		return withHint(usagef("%s reads the items more than once, and standard input cannot be: give a file", flag), "save it first: cat > items.csv")
	}
	return nil
}

// neutralFlags are flags that may differ between shards, since they do not affect the result.
var neutralFlags = []string{"output", "batch", "progress", "threads", "overwrite", "resume", "shard", "votes", "help", "kernel"}

// source returns a description of the inputs and options of the prediction, which all shards must have in common.
func (p *predictor) source(ctx context.Context, flags *pflag.FlagSet, in *dataset.Stream, path string) (predict.ShardSource, error) {
	s := predict.ShardSource{Program: buildVersion(), Shards: p.options.rank.Count, Options: map[string]string{"kernel": kernel.Name()}}
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(neutralFlags, f.Name) {
			s.Options[f.Name] = f.Value.String()
		}
	})
	// Columns set by the configuration of the run count like flags.
	s.Options["item"], s.Options["na"] = p.load.FeatureOptions.ItemColumn, strings.Join(p.load.FeatureOptions.NA, ",")
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = run.Folder(path).Path(run.ModelFile)
	}
	m, err := predict.SumFile(ctx, path)
	if err != nil {
		return s, err
	}
	s.Model = m.SHA256
	for _, name := range slices.Concat([]string{p.input}, p.joined, p.load.Votes, given(p.options.raters)) {
		sum, err := predict.SumFile(ctx, name)
		if err != nil {
			return s, err
		}
		s.Files = append(s.Files, sum)
	}
	width := 0
	for _, feature := range p.model.Transform.Schema() {
		width += feature.Width()
	}
	s.Block = predict.BlockOf(p.about(in, &s.Files[0], width), width, s.Shards)
	return s, nil
}

// about estimates the number of items. All processes that share the work get the same estimate.
func (p *predictor) about(in *dataset.Stream, sum *predict.FileSum, width int) int {
	if n := in.Total(); n > 0 {
		return n
	}
	if table.IsLines(p.input) {
		return sum.Lines
	}
	return int(sum.Bytes / int64(64+16*width))
}

// predictShard predicts the blocks of this process's shard that do not exist yet, and joins them if it is the only
// process.
func (p *predictor) predictShard(ctx context.Context, cmd *cobra.Command, in *dataset.Stream, path string) error {
	o := p.options
	s, err := p.source(ctx, cmd.Flags(), in, path)
	if err != nil {
		return orStopped(ctx, err)
	}
	shard, err := predict.OpenShard(o.out.file, p.table, s, o.rank.Index)
	if _, ok := errors.AsType[*predict.ShardError](err); ok {
		return withHint(err, "blocks of another prediction exist: remove "+words.Quote(predict.ShardFolder(o.out.file))+", or choose another -o")
	}
	if err != nil {
		return err
	}
	defer shard.Close()
	in.Cut(s.Block)
	if p.votes == nil { // with votes, all items have to be read
		in.Pass(shard.Others)
	}
	written := 0 // number of reports that are stored in blocks
	wanted := func(first int) bool {
		wanted, bad, reports := shard.Wants(first)
		for _, text := range reports {
			p.report(text)
		}
		p.bad += bad - len(reports)
		written = len(p.reports)
		if !wanted && o.rank.Count == 1 {
			p.progress.resumed(first + s.Block)
		}
		return wanted
	}
	// Items that an earlier process predicted are still compared with the training data, so that the last process prints
	// the warnings that a single one would have printed.
	run := predict.Options{Skip: func(first int) bool { return !wanted(first) }, WatchSkipped: o.rank.Count == 1}
	err = p.each(ctx, in, run, func(b *predict.Batch) (bool, error) {
		reports := p.reports[written:]
		written = len(p.reports)
		return true, shard.Write(ctx, b.First, b.Predictions, reports)
	})
	if err != nil {
		if ctx.Err() != nil {
			return withHint(err, "run the same command again to resume from "+predict.ShardFolder(o.out.file))
		}
		return err
	}
	if err := shard.End(p.items); err != nil {
		return err
	}
	if o.rank.Count > 1 {
		within := "; duplicate ids were checked within the shard only"
		if p.votes != nil { // all items were read
			within = ""
		}
		fmt.Fprintf(p.messages, "credence: shard %v is done: credence join %s combines all of them%s\n", o.rank, words.Quote(o.out.file), within)
		return nil
	}
	if err := shard.Close(); err != nil {
		return err
	}
	_, err = predict.Join(o.out.file)
	return err
}

// joinShards joins the shards of a prediction.
func (o *joinOptions) joinShards(ctx context.Context, cmd *cobra.Command, out string) error {
	if err := checkOutputs(nil, o.overwrite || predict.Joining(out), []string{out}, nil); err != nil {
		return err
	}
	var j *predict.Joined
	err := o.poll(ctx, func() (late bool, err error) {
		j, err = predict.Join(out)
		return errors.Is(err, predict.ErrNotEnded), err
	})
	if err != nil {
		return orStopped(ctx, err)
	}
	o.note(cmd, "%s of %s are in %s", words.Plural(j.Items-j.Bad, "prediction"), words.Plural(j.Items, "item"), out)
	p := &predictor{messages: cmd.ErrOrStderr(), items: j.Items}
	for _, text := range j.Reports {
		p.report(text)
	}
	p.bad = j.Bad
	return p.withoutPrediction()
}

// hasShards reports whether a file has shards to join.
func hasShards(out string) bool {
	info, err := os.Stat(predict.ShardFolder(out))
	return err == nil && info.IsDir()
}

// isPrediction reports whether out is a regular file: a prediction with nothing to join.
func isPrediction(out string) bool {
	info, err := os.Stat(out)
	return err == nil && info.Mode().IsRegular()
}
