package main

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/atomicfile"
	"credence/internal/calculator"
	"credence/internal/config"
	"credence/mixture"
)

// predictOptions is the command line of credence predict.
type predictOptions struct {
	data     config.Settings
	levels   numbers
	out      string
	format   string
	hpd      bool
	full     bool
	next     bool
	top      string
	maxWidth float64
	minTop   float64
	names    string
	batch    int
	threads  int
}

// predictFormats are the values of --format.
var predictFormats = []string{"csv", "jsonl", "parquet", "table"}

func newPredict() *cobra.Command {
	o := &predictOptions{levels: numbers{values: []float64{0.95}}}
	cmd := &cobra.Command{
		Use:   "predict RUN ITEMS...",
		Short: "Predict class probabilities of items, with intervals",
		Long: `Predict the distribution of the class probabilities of new items with a model:
RUN is the folder that credence train wrote, or a model file. ITEMS is a file
with the features that the model was trained with (.csv, .tsv, .parquet, .npy,
.npz, IDX or a folder of images), or - for CSV on standard input. Items are read
and written in turn, in their order, in bounded memory. A model that was trained
on several files (--data) takes as many here: items are those of the first, and
the others are joined to them by item or, if they have no ids, by position;
arrays come in the order of training. If RUN is a folder, --item and --na of
training hold here too, the column where the file has it.

The result goes to -o, as its name says (.csv, .jsonl, .parquet), or to standard
output: a table of the first items on a terminal, else CSV. It has one row for
each item, class and level, with these columns:

  item, class
  mean, sd, median  of the class probability
  level             of the intervals
  lower, upper      the two-sided interval
  upper_bound       the probability is below it, with the given level
  lower_bound       the probability is above it, with the given level
  hpd               (--hpd) the highest-density set: [0.1,0.2] [0.7,0.9]
  p_top             probability that the class is the most probable one
  predicted         whether it has the largest mean
  entropy           expected entropy of a label, in nats: raters disagree
  information       entropy that knowing the probabilities would remove
  next_gain         (--next) expected loss of Σ variance by one further vote
  at_least          whether the interval lies so close to 0 or 1 that there is
                    no smaller one to tell: it may hold more than its level
  abstain           (--min-top, --max-width) the predicted class's p_top is
                    smaller, or its interval wider
  weights, a, b     (--full) the mixture of Beta(a, b) of the class

Distributions are as wide as pairs of votes on items held out in training showed
them to be (--calibrate off: as the networks give them). An interval that would
end closer to 0 or 1 than the votes could tell ends there, and its tail goes to
the other side (--resolution off: it ends where it ends). With --votes, the
distribution is that after these votes on the same items. --names tidymodels
gives columns the names that R's parsnip uses; its .pred_class, in place of
predicted, is the predicted class of the item.

A model trained with another --method than mixture has no distributions. For
each item and class it gives mean and predicted, then what the method has,
named for what it is, and in the column distribution that there is none:

  label_sd                  (mve, softmax with one network) of a single label
  member_sd                 (softmax) of the probability between networks
  pass_sd                   (dropout) of the probability between passes
  label_lower, label_upper  (qd) ends of an interval of a single label, 0 or 1;
  label_width               its width
  confidence                (confidence) of the item, 0 to 1
  evidential_sd, vacuity    (evidential) of its Dirichlet distribution, which is
                            fitted to single labels: distribution = evidential

A row that cannot be read is reported on standard error and has no prediction;
the others are written all the same, and the exit code is 1.`,
		Example: `  credence predict runs/first new-items.csv --level 0.95 -o predictions.csv
  credence predict runs/first new-items.csv --level 0.5,0.9 -o out.parquet
  cat new-items.csv | credence predict runs/first - --format jsonl
  credence predict runs/first items.csv --votes votes.csv --min-top 0.9
  credence predict runs/joined items.csv embeddings.npy -o out.csv`,
		Args: arguments(2, true, "a run and a file of items"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1:]) },
	}
	o.declare(cmd.Flags())
	return cmd
}

// declare adds the flags.
func (o *predictOptions) declare(f *pflag.FlagSet) {
	f.Var(&o.levels, "level", "levels of the intervals; may be repeated")
	f.StringVarP(&o.out, "output", "o", "-", "`file` to write: .csv, .jsonl or .parquet; - is standard output")
	f.StringVar(&o.format, "format", "", "`form` of the output, whatever its name: "+strings.Join(predictFormats, ", "))
	f.BoolVar(&o.hpd, "hpd", false, "add highest-density sets")
	f.BoolVar(&o.full, "full", false, "add the parameters of the mixtures")
	f.BoolVar(&o.next, "next", false, "add what one further vote on the item would gain; see credence next")
	f.StringVar(&o.top, "top", "on", "compute p_top, about a third of the time for more than two classes: `on` or off")
	f.Float64Var(&o.maxWidth, "max-width", 0, "abstain where the predicted class's interval is wider than this `width`")
	f.Float64Var(&o.minTop, "min-top", 0, "abstain where the predicted class's p_top is smaller than this `probability`")
	f.StringVar(&o.names, "names", "credence", "`names` of the columns: credence or tidymodels")
	f.StringVar(&o.data.Load.Votes, "votes", "", "`file` of votes on the items, to take into account")
	declare(f, &o.data, config.Predict)
	f.IntVar(&o.batch, "batch", 1024, "`items` read at a time")
	f.IntVar(&o.threads, "threads", 0, "how many `cores` to use (default all)")
}

// abstains reports whether items are marked on which to abstain.
func (o *predictOptions) abstains() bool { return o.maxWidth > 0 || o.minTop > 0 }

// abstain reports whether to abstain on an item of which the predicted class is told.
func (o *predictOptions) abstain(law *mixture.Dirichlet, predicted int, width float64, top []float64) bool {
	if o.maxWidth > 0 && width > o.maxWidth {
		return true
	}
	if o.minTop == 0 {
		return false
	}
	if top == nil {
		top = law.TopClass(nil)
	}
	return top[predicted] < o.minTop
}

// check refuses flags without sense, and finds the form of the output.
func (o *predictOptions) check(terminal bool) error {
	for _, l := range o.levels.values {
		if err := calculator.CheckLevel(l); err != nil {
			return usagef("--level %v: %w", l, err)
		}
	}
	if o.top != "on" && o.top != "off" {
		return usagef("--top %q: expected on or off", o.top)
	}
	if o.names != "credence" && o.names != "tidymodels" {
		return usagef("--names %q: expected credence or tidymodels", o.names)
	}
	if !(o.maxWidth >= 0 && o.maxWidth <= 1) {
		return usagef("--max-width %v: expected a width between 0 and 1", o.maxWidth)
	}
	if !(o.minTop >= 0 && o.minTop <= 1) {
		return usagef("--min-top %v: expected a probability between 0 and 1", o.minTop)
	}
	if o.batch < 1 {
		return usagef("--batch %d: expected at least 1", o.batch)
	}
	if o.format != "" {
		if !slices.Contains(predictFormats, o.format) {
			return usagef("--format %q: expected one of %s", o.format, strings.Join(predictFormats, ", "))
		}
		return nil
	}
	switch ext := strings.ToLower(filepath.Ext(o.out)); {
	case o.out == "-" && terminal:
		o.format = "table"
	case o.out == "-" || ext == ".csv":
		o.format = "csv"
	case ext == ".jsonl" || ext == ".ndjson":
		o.format = "jsonl"
	case ext == ".parquet":
		o.format = "parquet"
	default:
		return usagef("-o %s: expected a name that ends in .csv, .jsonl or .parquet, or --format", o.out)
	}
	return nil
}

func (o *predictOptions) run(cmd *cobra.Command, path string, items []string) error {
	stdout := cmd.OutOrStdout()
	if err := o.check(isTerminal(stdout)); err != nil {
		return err
	}
	if err := o.refuse(cmd, o.out, path, items); err != nil {
		return err
	}
	restore, err := useThreads(o.threads)
	if err != nil {
		return err
	}
	defer restore()
	ctx, stop := interruptible(cmd)
	defer stop()
	m, err := loadModel(cmd.ErrOrStderr(), path)
	if err != nil {
		return err
	}
	if err := refuseIntervals(m, cmd.Flags(), "level", "hpd", "full", "next", "resolution", "calibrate", "top", "max-width", "min-top", "votes"); err != nil {
		return err
	}
	reportAs(m, &o.data)
	if err := tellMeaning(cmd.ErrOrStderr(), m, 80); err != nil {
		return err
	}
	p, in, err := o.open(ctx, cmd, m, path, items)
	if err != nil {
		return orStopped(ctx, err)
	}
	p.maker = newRowMaker(o, m)
	defer in.Close()
	to := func(w io.Writer) error { return p.predict(ctx, in, w) }
	if o.out == "-" {
		err = to(stdout)
	} else {
		err = atomicfile.Write(o.out, to)
	}
	if err != nil {
		return err
	}
	return p.end(in)
}
