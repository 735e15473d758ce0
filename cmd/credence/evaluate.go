package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
	"credence/run"
)

// evaluateOptions is the command line of credence evaluate.
type evaluateOptions struct {
	data       config.Settings
	truth      string
	levels     numbers
	scoring    evaluate.Options // except for the levels
	report     string
	page       pageFlags
	pageOnly   bool // only the HTML report is written
	split      string
	curve      bool
	importance string
	moreVotes  bool
	metrics    []string
	by         byOptions
	decisions  decisionFlags
	pseudonyms bool
	out        outputFlags
}

func newEvaluate() *cobra.Command {
	o := evaluateOptions{levels: numbers{values: []float64{0.95}}}
	cmd := newVerb("evaluate RUN DATA...", "Evaluate a model on votes that it has not seen", "a run and a file of items", o.run)
	itemsOrVotes(cmd)
	f := cmd.Flags()
	o.declare(f)
	f.BoolVar(&o.curve, "curve", false, "add results with fewer votes per item and fewer items")
	f.StringSliceVar(&o.metrics, "metrics", nil, "add scores: those of the `lewidi` competitions, or raters, how well the votes of each rater are predicted")
	f.StringVar(&o.report, "report", "", "also write a report to this `file`, .html or .pdf")
	o.out.declare(f, "table", "md", "csv", "json")
	return cmd
}

// declare adds the flags that evaluate and report share: data and scores.
func (o *evaluateOptions) declare(f *pflag.FlagSet) {
	scoring := &o.scoring
	f.StringVar(&o.truth, "truth", "", "`file` of true probabilities, with a column per class")
	f.Var(&o.levels, "level", "levels of the intervals; widths are reported for the first")
	f.IntVar(&scoring.Bootstrap.Replicates, "bootstrap", 0, "bootstrap `draws` for standard errors (default 1000; 200 for many items)")
	f.Uint64Var(&scoring.Bootstrap.Seed, "seed", 0, "`seed` of the bootstrap")
	f.StringVar(&o.split, "part", "", "evaluate only this `part` of the run's split: train, validation or test")
	o.page.declare(f)
	o.by.declare(f)
	o.decisions.declare(f)
	f.StringVar(&o.importance, "importance", "", "permute features to see what each contributes to mean, spread and loss; `columns` as age,size+shape")
	f.Lookup("importance").NoOptDefVal = allFeatures
	f.BoolVar(&o.moreVotes, "more-votes", false, "train again on halves of the run's votes to see where 100 more should go: new items or second opinions")
	f.StringVar(&scoring.AbstainBy, "abstain-by", evaluate.ByTop, "`criterion` for withholding predictions: p_top or width")
	f.Float64Var(&scoring.Accuracy, "accuracy", 0, "find the threshold at which the remaining predictions have this `accuracy`")
	f.BoolVar(&o.pseudonyms, "pseudonyms", true, "replace rater names in the page with pseudonyms; =false shows them")
	declare(f, &o.data, config.Evaluate)
	notZero(f, "bootstrap", "accuracy")
}

func (o *evaluateOptions) run(cmd *cobra.Command, args []string) error {
	m, path, files, err := o.open(cmd, args)
	if err != nil {
		return err
	}
	load, err := evaluationData(&o.data, files, o.truth, cmd.InOrStdin())
	if err != nil {
		return err
	}
	o.useRunVotes(cmd.ErrOrStderr(), path, &load)
	all, err := run.FolderOf(path).ReadData(cmd.Context(), m, load)
	if err != nil {
		return withFeatureHint(err)
	}
	defer all.Close()
	if all.Rows == nil {
		return errNoItems(m)
	}
	dataWarnings(cmd.ErrOrStderr(), all)
	ds, err := o.splitOf(path, all)
	if err != nil {
		return err
	}
	if err := watchWarnings(cmd.ErrOrStderr(), m, ds); err != nil {
		return err
	}
	columns, err := o.by.read(cmd.Context(), path, m, load, all, ds)
	if err != nil {
		return err
	}
	against, err := o.decisions.read(cmd, &o.data, path, m, load, all, ds)
	if err != nil {
		return err
	}
	in, r, err := o.score(path, m, ds, columns, against)
	if err == nil {
		err = o.addScores(cmd, path, m, ds, in, r)
	}
	if err != nil {
		return fmt.Errorf("evaluating %s on %s: %w", path, strings.Join(slices.Concat(files, load.Votes), ", "), err)
	}
	if o.report != "" {
		if err := o.writePage(cmd, path, files, m, pageData{all, ds, in, r}); err != nil {
			return err
		}
	}
	if o.pageOnly {
		for _, w := range r.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s\n", w)
		}
		return nil
	}
	rows := func(w io.Writer, form predict.Form) error {
		return cmp.Or(writeScores(w, form.Digits, r), writeStrata(w, form.Digits, r.DispersionStrata))
	}
	if o.curve {
		rows = records(r.Curve)
	}
	if o.importance != "" {
		rows = importanceRows(r.Importance)
	}
	page := &evaluateReport{run: path, group: o.data.Load.FeatureOptions.GroupColumn, model: m, data: ds, result: r}
	return o.out.write(cmd, r, page.print, rows)
}

// open checks the command line and loads the model; files are those of the data.
func (o *evaluateOptions) open(cmd *cobra.Command, args []string) (m *model.Model, path string, files []string, err error) {
	runs, files, err := splitRuns(args)
	if err != nil {
		return nil, "", nil, err
	}
	path = runs[0]
	o.decisions.rivals = runs[1:]
	inputs := slices.Concat(files, o.data.Load.Votes, []string{o.truth, o.page.card})
	for _, path := range runs {
		inputs = append(inputs, runFiles(path)...)
	}
	outputs := []string{o.out.file, o.report}
	err = cmp.Or(o.check(), o.decisions.check(cmd.Flags()), checkOutputs(cmd.InOrStdin(), o.out.overwrite, outputs, inputs), o.checkPage())
	if err == nil {
		m, err = loadModel(cmd.ErrOrStderr(), path)
	}
	if err == nil {
		err = o.refuse(m, cmd.Flags())
	}
	if err == nil && !m.Traits().Joint && o.pageOnly {
		err = withHint(fmt.Errorf(noDistributions, "a report", m.Method.Name()), "credence evaluate scores such models")
	}
	return m, path, files, err
}

// addScores adds the results that take longer, where they are requested.
func (o *evaluateOptions) addScores(cmd *cobra.Command, path string, m *model.Model, ds *dataset.Dataset, in *evaluate.Input, r *evaluate.Result) (err error) {
	if o.curve {
		r.Curve, err = evaluate.Curve(*in, evaluate.CurveOptions{Bootstrap: o.scoring.Bootstrap})
	}
	if err == nil && o.importance != "" {
		r.Importance, err = run.Importance(cmd.Context(), m, ds, in, o.importanceOptions())
	}
	if err == nil && o.moreVotes {
		r.Allocation, err = allocation(cmd, path, m, ds, in)
	}
	return err
}

// refuse returns an error if flags need distributions, which m does not predict.
func (o *evaluateOptions) refuse(m *model.Model, f *pflag.FlagSet) error {
	names := []string{"truth", "level", "resolution", "calibrate", "curve", "importance", "more-votes", "report", "abstain-by", "accuracy"}
	if o.decisions.positive == "" { // else columns are those of decisions, too
		names = append(names, "by", "bins")
	}
	return refuseIntervals(m, f, names...)
}

// check validates the flags before any file is read.
func (o *evaluateOptions) check() error {
	by, accuracy := o.scoring.AbstainBy, o.scoring.Accuracy
	for _, name := range o.metrics {
		switch name {
		case "lewidi":
			o.scoring.LeWiDi = true
		case "raters":
			o.scoring.PerRater = true
		default:
			return usagef("--metrics %q: expected lewidi or raters", name)
		}
	}
	err := cmp.Or(
		checkLevels(o.levels.values),
		checkDraws(o.scoring.Bootstrap),
		expect(o.split == "" || slices.Contains(run.SplitNames, o.split),
			"--part %q: expected one of %s", o.split, strings.Join(run.SplitNames, ", ")),
		expect(by == evaluate.ByTop || by == evaluate.ByWidth,
			"--abstain-by %s: expected %s or %s", by, evaluate.ByTop, evaluate.ByWidth),
		expect(accuracy >= 0 && accuracy <= 1, "--accuracy %v: expected a share of items from 0 to 1", accuracy),
		o.by.check(),
		o.page.resolve())
	if err != nil || o.pageOnly {
		return err
	}
	return o.out.resolve()
}

// checkDraws checks the flag --bootstrap.
func checkDraws(b evaluate.Bootstrap) error {
	return expect(b.Replicates >= 0, "--bootstrap %d: expected a number of draws", b.Replicates)
}

// splitOf returns the items of the requested part of the run's split, or all.
func (o *evaluateOptions) splitOf(path string, ds *dataset.Dataset) (*dataset.Dataset, error) {
	if o.split == "" {
		return ds, nil
	}
	items, err := run.FolderOf(path).Split(ds, o.split)
	if errors.Is(err, run.ErrNoSplit) {
		return nil, withHint(fmt.Errorf("--part %s: %w", o.split, err),
			"credence train writes one with --test, --validation or --split")
	}
	return items, err
}

// score evaluates the model on ds. The first warning is about items that the model was trained on.
func (o *evaluateOptions) score(path string, m *model.Model, ds *dataset.Dataset, columns []evaluate.Column, against decisionData) (*evaluate.Input, *evaluate.Result, error) {
	reportAs(m, &o.data)
	in, err := run.Input(m, ds)
	if err != nil {
		return nil, nil, err
	}
	in.Columns = columns
	in.Gold, in.Rivals = against.gold, against.rivals
	r, err := evaluate.Evaluate(*in, o.options())
	if err != nil {
		return nil, nil, err
	}
	warnSelected(m, r)
	n, equal, err := run.FolderOf(path).Seen(m, ds)
	if err != nil {
		return nil, nil, err
	}
	warning := fmt.Sprintf("the model was trained on %s of these %s items, so scores are optimistic: --part test excludes them",
		words.Thousands(n), words.Thousands(ds.Len()))
	switch {
	case equal:
		warning = "these are the items that the model was trained on: all scores are optimistic"
	case n == 0:
		return in, r, nil
	case n == ds.Len():
		warning = "the model was trained on these items: all scores are optimistic"
	}
	r.Warnings = slices.Insert(r.Warnings, 0, evaluate.Message{Kind: "%s", Args: []any{warning}})
	return in, r, nil
}

// evaluated describes the evaluated items, for the page.
func (o *evaluateOptions) evaluated(files []string) string {
	text := "items of " + filepath.Base(files[0])
	if files[0] == "-" {
		text = "items of standard input"
	}
	if o.split != "" {
		text += ", the " + o.split + " part"
	}
	return text
}

// options returns the options of the evaluation.
func (o *evaluateOptions) options() evaluate.Options {
	opt := o.scoring
	opt.Decisions = o.decisions.options
	opt.Level = o.levels.values[0]
	if o.levels.changed {
		opt.Levels = slices.Compact(slices.Sorted(slices.Values(o.levels.values)))
	}
	return opt
}

// inside formats an estimate that lies in its 95% interval, with the interval.
func inside(e evaluate.IntervalEstimate, decimals int) string {
	if !e.Value.Known() || !e.Lo.Known() || !e.Hi.Known() {
		return plusMinus(e.Estimate, decimals)
	}
	return fmt.Sprintf("%s [%s, %s]", decimal(e.Inside(), decimals), decimal(e.Lo, decimals), decimal(e.Hi, decimals))
}
