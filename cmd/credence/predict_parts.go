package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/kernel"
	"credence/internal/rank"
	"credence/internal/table"
	"credence/internal/words"
	"credence/predict"
	"credence/run"
)

// inParts reports whether the prediction is made in parts that are kept.
func (o *predictOptions) sharded() bool { return o.resume || o.shard != "" }

// checkParts returns an error if the output cannot be made in parts, and sets the rank.
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
		return usagef("%s writes csv, jsonl or parquet, not %s", flag, o.out.form)
	case slices.Contains(items, "-"):
		return withHint(usagef("%s reads the items more than once, and standard input cannot be: give a file", flag), "save it first: cat > items.csv")
	}
	return nil
}

// neutralFlags are flags that may differ between parts, since they do not affect the result.
var neutralFlags = []string{"output", "batch", "progress", "threads", "overwrite", "resume", "shard", "votes", "help", "kernel"}

// source returns a description of the inputs and options of the prediction, which all parts must share.
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
	for _, name := range slices.Concat([]string{p.input}, p.joined, p.load.Votes) {
		sum, err := predict.SumFile(ctx, name)
		if err != nil {
			return s, err
		}
		s.Files = append(s.Files, sum)
	}
	width := 0
	for _, part := range p.model.Transform.Schema() {
		width += part.Width()
	}
	s.Block = predict.BlockOf(p.about(in, &s.Files[0], width), width, s.Shards)
	return s, nil
}

// about returns the approximate number of items. All processes compute the same number.
func (p *predictor) about(in *dataset.Stream, sum *predict.FileSum, width int) int {
	if n := in.Total(); n > 0 {
		return n
	}
	if table.IsLines(p.input) {
		return sum.Lines
	}
	return int(sum.Bytes / int64(64+16*width))
}

// predictShard predicts the parts of this process's shard that do not exist yet, and joins them if it is the only
// process.
func (p *predictor) predictShard(ctx context.Context, cmd *cobra.Command, in *dataset.Stream, path string) error {
	o := p.options
	s, err := p.source(ctx, cmd.Flags(), in, path)
	if err != nil {
		return orStopped(ctx, err)
	}
	parts, err := predict.OpenShard(o.out.file, p.table, s, o.rank.Index)
	if _, ok := errors.AsType[*predict.ShardError](err); ok {
		return withHint(err, "parts of other work are in the way: remove "+shellQuote(predict.ShardFolder(o.out.file))+", or choose another -o")
	}
	if err != nil {
		return err
	}
	defer parts.Close()
	in.Cut(s.Block)
	if p.votes == nil { // with votes, all items have to be read
		in.Pass(parts.Others)
	}
	written := 0 // number of reports that are stored in parts
	wanted := func(first int) bool {
		wanted, bad, reports := parts.Wants(first)
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
		return true, parts.Write(ctx, b.First, b.Predictions, reports)
	})
	if err != nil {
		if ctx.Err() != nil {
			return withHint(err, "the same command goes on from the parts in "+predict.ShardFolder(o.out.file))
		}
		return err
	}
	if err := parts.End(p.items); err != nil {
		return err
	}
	if o.rank.Count > 1 {
		within := "; ids were compared within the shard"
		if p.votes != nil { // all items were read
			within = ""
		}
		fmt.Fprintf(p.messages, "credence: shard %v is done: credence join %s puts all of them together%s\n", o.rank, shellQuote(o.out.file), within)
		return nil
	}
	if err := parts.Close(); err != nil {
		return err
	}
	_, err = predict.Join(o.out.file)
	return err
}

// joinShards joins the parts of a prediction.
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

// hasShards reports whether a file has parts to join.
func hasShards(out string) bool {
	info, err := os.Stat(predict.ShardFolder(out))
	return err == nil && info.IsDir()
}

// isPrediction reports whether out is a regular file: a prediction with nothing to join.
func isPrediction(out string) bool {
	info, err := os.Stat(out)
	return err == nil && info.Mode().IsRegular()
}
