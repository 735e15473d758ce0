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
	"credence/internal/atomicfile"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
	"credence/report"
	"credence/run"
)

// evaluateOptions is the command line of credence evaluate.
type evaluateOptions struct {
	data       config.Settings
	truth      string
	levels     numbers
	judging    evaluate.Options // without levels
	report     string
	page       pageFlags
	pageOnly   bool // the report is all that is wanted
	part       string
	curve      bool
	apart      byOptions
	pseudonyms bool
	out        outputFlags
}

func newEvaluate() *cobra.Command {
	o := evaluateOptions{levels: numbers{values: []float64{0.95}}}
	cmd := newVerb("evaluate RUN DATA...", "Judge a model by votes it has not seen", "a run and a file of items", o.run)
	f := cmd.Flags()
	o.declare(f)
	f.BoolVar(&o.curve, "curve", false, "add what fewer votes per item and fewer items would tell")
	f.StringVar(&o.report, "report", "", "also write the report as a page to this `file`, .html")
	o.out.declare(f, "table", "md", "csv", "json")
	return cmd
}

// declare adds the flags on the data and on how they are judged.
func (o *evaluateOptions) declare(f *pflag.FlagSet) {
	by := &o.judging
	f.StringVar(&o.truth, "truth", "", "`file` of true probabilities, one column per class")
	f.Var(&o.levels, "level", "levels of the intervals; widths are at the first")
	f.IntVar(&by.Bootstrap.Replicates, "bootstrap", 0, "`draws` for standard errors (default 1000; 200 if items are many)")
	f.Uint64Var(&by.Bootstrap.Seed, "seed", 0, "seed of the bootstrap")
	f.StringVar(&o.part, "part", "", "only the items of this `part` of the run's split: train, validation or test")
	o.page.declare(f)
	o.apart.declare(f)
	f.StringVar(&by.AbstainBy, "abstain-by", evaluate.ByTop, "`what` tells the predictions to withhold: p_top or width")
	f.Float64Var(&by.Accuracy, "accuracy", 0, "find the threshold at which what is not withheld has this `accuracy`")
	f.BoolVar(&o.pseudonyms, "pseudonyms", true, "replace the names of raters in the page; =false shows them")
	declare(f, &o.data, config.Evaluate)
	notZero(f, "bootstrap", "accuracy")
}

func (o *evaluateOptions) run(cmd *cobra.Command, args []string) error {
	path, files := args[0], args[1:]
	if err := o.check(); err != nil {
		return err
	}
	inputs := slices.Concat(files, o.data.Load.Votes, []string{o.truth}, runFiles(path))
	if err := checkOutputs(cmd.InOrStdin(), o.out.overwrite, []string{o.out.file, o.report}, inputs); err != nil {
		return err
	}
	if err := o.checkPage(); err != nil {
		return err
	}
	m, err := loadModel(cmd.ErrOrStderr(), path)
	if err != nil {
		return err
	}
	if err := refuseIntervals(m, cmd.Flags(), "truth", "level", "resolution", "calibrate", "curve", "report", "by", "bins", "abstain-by", "accuracy"); err != nil {
		return err
	}
	if !m.Traits().Joint && o.pageOnly {
		return withHint(fmt.Errorf("a report is about distributions of the class probability: the model, by method %s, has none", m.Method.Name()),
			"credence evaluate judges what it has")
	}
	load, err := evaluationData(&o.data, files, o.truth, cmd.InOrStdin())
	if err != nil {
		return err
	}
	o.votesOfRun(cmd.ErrOrStderr(), path, &load)
	all, err := run.FolderOf(path).ReadData(cmd.Context(), m, load)
	if err != nil {
		return withFeatureHint(err)
	}
	defer all.Close()
	dataWarnings(cmd.ErrOrStderr(), all)
	ds, err := o.partOf(path, all)
	if err != nil {
		return err
	}
	if err := watchWarnings(cmd.ErrOrStderr(), m, ds); err != nil {
		return err
	}
	columns, err := o.apart.read(cmd.Context(), path, m, load, all, ds)
	if err != nil {
		return err
	}
	in, r, err := o.judge(path, m, ds, columns)
	if err == nil && o.curve {
		r.Curve, err = evaluate.Curve(*in, evaluate.CurveOptions{Bootstrap: o.judging.Bootstrap})
	}
	if err != nil {
		return fmt.Errorf("evaluating %s on %s: %w", path, strings.Join(files, ", "), err)
	}
	if o.report != "" {
		page := run.ReportInput(m, in, r)
		page.Evaluated, page.Items = o.evaluated(files), ds.Items
		if err := o.completePage(cmd, path, page); err != nil {
			return err
		}
	}
	if o.pageOnly {
		for _, w := range r.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s\n", w)
		}
		return nil
	}
	rows := func(w io.Writer, form predict.Form) error { return writeScores(w, form.Digits, r) }
	if o.curve {
		rows = records(r.Curve)
	}
	page := &evaluateReport{run: path, group: o.data.Load.FeatureOptions.GroupColumn, model: m, data: ds, result: r}
	return o.out.write(cmd, r, page.print, rows)
}

// completePage adds what the flags and the run say to a page, and writes it.
func (o *evaluateOptions) completePage(cmd *cobra.Command, path string, page report.Input) error {
	page.Title, page.Author, page.Date = o.page.title, o.page.author, o.page.date
	raters, err := run.Raters(path)
	if err != nil && !errors.Is(err, run.ErrNoRaters) {
		return err
	}
	run.ShowRaters(&page, raters, o.pseudonyms)
	write := func(w io.Writer) error { return report.Write(w, page) }
	if o.pageOnly {
		return writeFile(cmd, o.report, write)
	}
	return atomicfile.Write(o.report, write)
}

// check refuses flags without sense before anything is read.
func (o *evaluateOptions) check() error {
	by, accuracy := o.judging.AbstainBy, o.judging.Accuracy
	err := cmp.Or(
		checkLevels(o.levels.values),
		checkDraws(o.judging.Bootstrap),
		expect(o.part == "" || slices.Contains(run.Parts, o.part),
			"--part %q: expected one of %s", o.part, strings.Join(run.Parts, ", ")),
		expect(by == evaluate.ByTop || by == evaluate.ByWidth,
			"--abstain-by %s: expected %s or %s", by, evaluate.ByTop, evaluate.ByWidth),
		expect(accuracy >= 0 && accuracy <= 1, "--accuracy %v: expected a share of items from 0 to 1", accuracy),
		o.apart.check(),
		o.page.settle())
	if err != nil || o.pageOnly {
		return err
	}
	return o.out.settle()
}

// checkDraws checks the flag --bootstrap.
func checkDraws(b evaluate.Bootstrap) error {
	return expect(b.Replicates >= 0, "--bootstrap %d: expected a number of draws", b.Replicates)
}

// partOf returns the items of the part of the run's split that is asked for.
func (o *evaluateOptions) partOf(path string, ds *dataset.Dataset) (*dataset.Dataset, error) {
	if o.part == "" {
		return ds, nil
	}
	part, err := run.FolderOf(path).Part(ds, o.part)
	if errors.Is(err, run.ErrNoSplit) {
		return nil, withHint(fmt.Errorf("--part %s: %w", o.part, err),
			"credence train writes one if --test, --validation or --split divides the items")
	}
	return part, err
}

// judge evaluates the model on ds, and warns first of items that it has seen.
func (o *evaluateOptions) judge(path string, m *model.Model, ds *dataset.Dataset, columns []evaluate.Column) (*evaluate.Input, *evaluate.Result, error) {
	reportAs(m, &o.data)
	in, err := run.Input(m, ds)
	if err != nil {
		return nil, nil, err
	}
	in.Columns = columns
	r, err := evaluate.Evaluate(*in, o.options())
	if err != nil {
		return nil, nil, err
	}
	n, equal, err := run.FolderOf(path).Seen(m, ds)
	if err != nil {
		return nil, nil, err
	}
	warning := fmt.Sprintf("the model has seen %s of these %s items in training, which flatters it: --part test leaves them out",
		words.Thousands(n), words.Thousands(ds.Len()))
	switch {
	case equal:
		warning = "these are the items that the model was trained on: every number flatters it"
	case n == 0:
		return in, r, nil
	case n == ds.Len():
		warning = "the model has seen these items in training: every number flatters it"
	}
	r.Warnings = slices.Insert(r.Warnings, 0, evaluate.Message{Kind: "%s", Args: []any{warning}})
	return in, r, nil
}

// evaluated says which items were evaluated, for the page.
func (o *evaluateOptions) evaluated(files []string) string {
	text := "items of " + filepath.Base(files[0])
	if files[0] == "-" {
		text = "items of standard input"
	}
	if o.part != "" {
		text += ", the " + o.part + " part"
	}
	return text
}

// options returns how to evaluate.
func (o *evaluateOptions) options() evaluate.Options {
	opt := o.judging
	opt.Level = o.levels.values[0]
	if o.levels.changed {
		opt.Levels = slices.Compact(slices.Sorted(slices.Values(o.levels.values)))
	}
	return opt
}
