package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/baseline"
	"credence/dataset"
	"credence/evaluate"
	"credence/internal/calculator"
	"credence/internal/config"
	"credence/model"
	"credence/report"
)

// evaluateOptions is the command line of credence evaluate.
type evaluateOptions struct {
	data       config.Settings
	truth      string
	levels     numbers
	resolution string
	replicates int
	seed       uint64
	report     string
	pageOnly   bool // the report is all that is wanted
	part       string
	out        outputFlags
}

func newEvaluate() *cobra.Command {
	o := evaluateOptions{levels: numbers{values: []float64{0.95}}}
	cmd := &cobra.Command{
		Use:   "evaluate RUN DATA...",
		Short: "Judge a model by votes it has not seen",
		Long: `Judge a model by the votes on items that it was not trained on. RUN is a folder
that credence train wrote, or a model file; DATA holds the features of the
items, in as many files as in training, and --votes the votes on them, in any of
the forms that credence train reads. One of the files may be - for CSV on
standard input. If RUN is a folder, --item, --votes-item and --na of training
hold here too, the columns where the files have them. If training left a part of
the items alone (--test or --split), --part test evaluates on that part. No true
probabilities are needed:

  loss         the negative log-likelihood a vote, in nats, of an item's votes
               together and of votes one by one, beside simple predictions that
               were fitted at training: constant (class frequencies) and
               logistic (regression), each alone and as the mean of a Dirichlet
               distribution (_dm), and the floor, which is each item's own
               shares of votes and out of reach if there are few
  scores       accuracy against the most-voted class, Brier score, calibration
               error
  intervals    whether votes are spread as predicted: the PIT of the counts,
               the dispersion ratio (above one: intervals are too narrow or
               means are off; below one: too wide), the agreement of two votes
  widths       of the interval of the predicted class, where votes agree and
               where they do not, and the accuracy left if the widest are
               withheld

A model trained with another --method than ddmn gives probabilities without a
distribution: only votes one by one, accuracy, Brier score and calibration error
can be judged; all else is left out, and null in JSON.

With --truth, the true probabilities of a simulation, the coverage of intervals
is shown too. Every number has a standard error by bootstrap over items, or
over the groups of --group, with the model as it is. Intervals follow the
resolution rule: what votes could not tell from zero or one is not claimed, and
items it touches are judged apart; --resolution off turns it off. --report
writes all of it, with figures, as one HTML page that needs nothing else.

The result is text, Markdown, CSV (a score, its value and its standard error a
row) or JSON, as --format or the name of -o says.

JSON:
  --json prints one object on one line with the keys items, votes,
  nll_per_vote, marginal_nll_per_vote, constant_nll_per_vote,
  constant_dm_nll_per_vote, logistic_nll_per_vote, logistic_dm_nll_per_vote,
  floor_nll_per_vote, accuracy, brier and ece (all of these but the first two
  also with _se), dispersion_ratio, pit_p_value, coverage (with --truth) and
  all else that the report is made from. What cannot be computed is null.`,
		Example: `  credence evaluate runs/first test-items.csv --votes test-votes.csv
  credence evaluate runs/first test.csv --vote-columns r1,r2,r3 --group patient
  credence evaluate model.credence items.csv --votes votes.csv --truth p.csv
  credence evaluate runs/first items.csv --votes votes.csv --part test
  credence evaluate runs/first items.csv --votes votes.csv -o scores.json
  credence evaluate runs/first items.csv --votes votes.csv --report page.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("expected a run and a file of items, found %s", plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1:]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.declare(f)
	f.StringVar(&o.report, "report", "", "also write the report as a page to this `file`, .html")
	o.out.declare(f, "table", "md", "csv", "json")
	return cmd
}

// declare adds the flags on the data and on how they are judged.
func (o *evaluateOptions) declare(f *pflag.FlagSet) {
	f.StringVar(&o.truth, "truth", "", "`file` of true probabilities, one column per class")
	f.Var(&o.levels, "level", "levels of the intervals; widths are at the first")
	f.StringVar(&o.resolution, "resolution", "on", "the resolution rule: `on` or off")
	f.IntVar(&o.replicates, "bootstrap", 0, "`draws` for standard errors (default 1000; 200 if items are many)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the bootstrap")
	f.StringVar(&o.part, "part", "", "only the items of this `part` of the run's split: train, validation or test")
	declare(f, &o.data, config.Evaluate)
}

func (o *evaluateOptions) run(cmd *cobra.Command, run string, files []string) error {
	if o.resolution != "on" && o.resolution != "off" {
		return usagef("--resolution %s: expected on or off", o.resolution)
	}
	for _, level := range o.levels.values {
		if err := calculator.CheckLevel(level); err != nil {
			return usagef("--level %v: %w", level, err)
		}
	}
	if o.replicates < 0 {
		return usagef("--bootstrap %d: expected a number of draws", o.replicates)
	}
	if !o.pageOnly {
		if err := o.out.settle(); err != nil {
			return err
		}
	}
	if err := checkPart(o.part); err != nil {
		return err
	}
	recorded := asTrained(&o.data, run)
	load, err := evaluationData(&o.data, files, o.truth, cmd.InOrStdin())
	if err != nil {
		return err
	}
	m, err := loadModel(run)
	if err != nil {
		return err
	}
	if err := refuseIntervals(m, cmd.Flags(), "truth", "level", "resolution", "report"); err != nil {
		return err
	}
	if method := m.Head.Method(); method != "" && o.pageOnly {
		return withHint(fmt.Errorf("a report is about distributions of the class probability: the model, by method %s, has none", method),
			"credence evaluate judges what it has")
	}
	load.FeatureOptions.Schema = m.Transform.Parts()
	load.VotesOptions.Classes, load.VotesOptions.LeaveOut = m.Classes, true
	var all *dataset.Dataset
	err = recorded.items(&load.FeatureOptions, func() error {
		return recorded.votes(&load.VotesOptions, func() error {
			all, err = dataset.Load(load)
			return err
		})
	})
	if err != nil {
		return withFeatureHint(err)
	}
	defer all.Close()
	dataWarnings(cmd.ErrOrStderr(), all)
	ds := all
	if o.part != "" {
		if ds, err = folderOf(run).partOf(all, o.part); err != nil {
			return err
		}
	}
	data := strings.Join(files, ", ")
	in, err := o.input(m, ds)
	if err != nil {
		return fmt.Errorf("evaluating %s on %s: %w", run, data, err)
	}
	r, err := evaluate.Evaluate(*in, o.options())
	if err != nil {
		return fmt.Errorf("evaluating %s on %s: %w", run, data, err)
	}
	if err := o.warnOfSeen(run, m, ds, r); err != nil {
		return err
	}
	if o.report != "" {
		page := pageOptions{evaluated: o.evaluated(files), items: ds.Items}
		if o.pageOnly && o.report == "-" {
			err = report.Write(cmd.OutOrStdout(), reportPage(m, in, r, page))
		} else {
			err = writeReport(o.report, m, in, r, page)
		}
		if err != nil {
			return err
		}
	}
	if o.pageOnly {
		for _, w := range r.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s\n", w)
		}
		return nil
	}
	return o.out.write(cmd.OutOrStdout(), func(w io.Writer) error {
		switch o.out.form {
		case "json":
			return json.NewEncoder(w).Encode(r)
		case "csv":
			return writeScores(w, r)
		}
		return o.out.print(w, (&evaluateReport{run: run, group: o.data.Load.FeatureOptions.GroupColumn, model: m, data: ds, result: r}).print)
	})
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

// warnOfSeen adds a warning if the items had a part in training.
func (o *evaluateOptions) warnOfSeen(run string, m *model.Model, ds *dataset.Dataset, r *evaluate.Result) error {
	hash, err := ds.Hash()
	if err != nil {
		return err
	}
	warning := "these are the items that the model was trained on: every number flatters it"
	if hash != m.Provenance.Data {
		if warning, err = folderOf(run).seen(ds); err != nil {
			return err
		}
	}
	if warning != "" {
		r.Warnings = slices.Insert(r.Warnings, 0, warning)
	}
	return nil
}

// options returns how to evaluate.
func (o *evaluateOptions) options() evaluate.Options {
	opt := evaluate.Options{
		Bootstrap: evaluate.Bootstrap{Replicates: o.replicates, Seed: o.seed},
		Level:     o.levels.values[0],
	}
	if o.levels.changed {
		opt.Levels = slices.Compact(slices.Sorted(slices.Values(o.levels.values)))
	}
	return opt
}

// input puts together the predictions of m for ds and all they are judged by.
func (o *evaluateOptions) input(m *model.Model, ds *dataset.Dataset) (*evaluate.Input, error) {
	in := evaluate.NewInput(ds)
	if !slices.Equal(ds.Classes, m.Classes) {
		return nil, fmt.Errorf("votes for the classes %q, but the model has %q", ds.Classes, m.Classes)
	}
	var err error
	if m.Head.Method() == "" {
		in.Mixtures, err = m.Predict(ds, model.PredictOptions{})
	} else {
		err = m.EachEstimate(context.Background(), ds, 0, func(_ int, e baseline.Estimate) error {
			in.Means = append(in.Means, e.Mean...)
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	if r := m.Provenance.References; r != nil {
		if in.References, err = r.Score(ds, m.Transform); err != nil {
			return nil, err
		}
	}
	if rule := m.Resolution; o.resolution == "on" && rule != nil {
		// The votes that training saw in the tails are in the warnings of the
		// model already.
		none := make([]float64, len(rule.Low))
		in.Resolution = &evaluate.Resolution{Low: rule.Low, High: rule.High, LowVotes: none, HighVotes: none}
	}
	return in, nil
}
