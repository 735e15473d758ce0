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

// inParts reports whether finished parts are kept.
func (o *predictOptions) inParts() bool { return o.resume || o.shard != "" }

// checkParts refuses what cannot be done in parts, and finds the rank.
func (o *predictOptions) checkParts(items []string) error {
	if !o.inParts() {
		return nil
	}
	flag := "--shard"
	if o.shard == "" {
		flag = "--resume"
	}
	o.rank = rank.Rank{Count: 1}
	if o.shard != "" {
		var err error
		if o.rank, err = rank.Parse(o.shard, os.Getenv); err != nil {
			return usagef("--shard: %w", err)
		}
	}
	switch {
	case o.out == "-":
		return usagef("%s keeps finished parts beside the output: give a file, such as -o predictions.csv", flag)
	case !slices.Contains([]string{"csv", "jsonl", "parquet"}, o.format.Name):
		return usagef("%s writes csv, jsonl or parquet, not %s", flag, o.format.Name)
	case slices.Contains(items, "-"):
		return withHint(usagef("%s reads the items more than once, and standard input cannot be: give a file", flag), "save it first: cat > items.csv")
	}
	return nil
}

// unlikeParts are flags that may differ between parts: they change nothing in the result.
var unlikeParts = []string{"output", "batch", "progress", "threads", "overwrite", "resume", "shard", "votes", "help", "kernel"}

// source is what the parts of a prediction are made from.
func (p *predictor) source(ctx context.Context, flags *pflag.FlagSet, in *dataset.Stream, path string) (predict.ShardSource, error) {
	s := predict.ShardSource{Program: buildVersion(), Options: map[string]string{"kernel": kernel.Name()}}
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(unlikeParts, f.Name) {
			s.Options[f.Name] = f.Value.String()
		}
	})
	// What the run says about columns counts like a flag.
	s.Options["item"], s.Options["na"] = p.load.FeatureOptions.ItemColumn, strings.Join(p.load.FeatureOptions.NA, ",")
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = run.Folder(path).Path(run.ModelFile)
	}
	m, err := predict.SumFile(ctx, path)
	if err != nil {
		return s, err
	}
	s.Model = m.SHA256
	for _, name := range slices.Concat([]string{p.input}, p.beside, p.load.Votes) {
		sum, err := predict.SumFile(ctx, name)
		if err != nil {
			return s, err
		}
		s.Files = append(s.Files, sum)
	}
	width := 0
	for _, part := range p.model.Transform.Parts() {
		width += part.Width()
	}
	s.Block = predict.BlockOf(p.about(in, &s.Files[0], width), width, p.options.rank.Count)
	return s, nil
}

// about returns about how many items there are: all processes find the same number.
func (p *predictor) about(in *dataset.Stream, sum *predict.FileSum, width int) int {
	if n := in.Total(); n > 0 {
		return n
	}
	if table.IsLines(p.input) {
		return sum.Lines
	}
	return int(sum.Bytes / int64(64+16*width))
}

// predictParts predicts the parts that fall to this process and are not there yet, and joins them if it is the
// only one.
func (p *predictor) predictParts(ctx context.Context, cmd *cobra.Command, in *dataset.Stream, path string) error {
	o := p.options
	s, err := p.source(ctx, cmd.Flags(), in, path)
	if err != nil {
		return orStopped(ctx, err)
	}
	parts, err := predict.OpenParts(o.out, p.table, s, o.rank)
	if err != nil {
		return o.partsHint(err)
	}
	defer parts.Close()
	in.Cut(s.Block)
	if p.votes == nil { // whose items would be looked for among all
		in.Pass(parts.Others)
	}
	written := 0 // reports that are in parts
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
	// What an earlier run predicted is compared with the items of training all the same, so that the last run warns of
	// what a single one would have.
	run := predict.Options{Skip: func(first int) bool { return !wanted(first) }, WatchSkipped: o.rank.Count == 1}
	err = p.each(ctx, in, run, func(b *predict.Batch) (bool, error) {
		reports := p.reports[written:]
		written = len(p.reports)
		return true, parts.Write(ctx, b.First, b.Predictions, reports)
	})
	if err != nil {
		if ctx.Err() != nil {
			return withHint(err, "the same command goes on from the parts in "+predict.ShardFolder(o.out))
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
		fmt.Fprintf(p.messages, "credence: shard %v is done: credence join %s puts all of them together%s\n", o.rank, shellQuote(o.out), within)
		return nil
	}
	if err := parts.Close(); err != nil {
		return err
	}
	_, err = predict.Join(o.out)
	return err
}

// partsHint adds what to do about parts that do not fit.
func (o *predictOptions) partsHint(err error) error {
	if _, ok := errors.AsType[*predict.ShardError](err); ok {
		return withHint(err, "parts of other work are in the way: remove "+shellQuote(predict.ShardFolder(o.out))+", or choose another -o")
	}
	return err
}

// joinParts joins the parts of a prediction.
func (o *joinOptions) joinParts(ctx context.Context, cmd *cobra.Command, out string) error {
	if err := checkOutputs(nil, o.overwrite || predict.Joining(out), []string{out}, nil); err != nil {
		return err
	}
	var j *predict.Joined
	err := o.waiting(ctx, func() (late bool, err error) {
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

// hasParts reports whether a file has parts to join.
func hasParts(out string) bool {
	info, err := os.Stat(predict.ShardFolder(out))
	return err == nil && info.IsDir()
}

// isPrediction reports whether out is a file, as predictions are, with nothing to join.
func isPrediction(out string) bool {
	info, err := os.Stat(out)
	return err == nil && info.Mode().IsRegular()
}
