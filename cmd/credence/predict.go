package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/atomicfile"
	"credence/internal/calculator"
	"credence/internal/config"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
	"credence/run"
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
	restore, err := useThreads(o.threads)
	if err != nil {
		return err
	}
	defer restore()
	ctx, stop := interruptible(cmd)
	defer stop()
	m, err := loadModel(path)
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

// open reads the votes to take into account and opens the items, which the
// caller closes.
func (o *predictOptions) open(ctx context.Context, cmd *cobra.Command, m *model.Model, path string, items []string) (*predictor, *dataset.Stream, error) {
	p := &predictor{options: o, model: m, messages: cmd.ErrOrStderr(), input: items[0], beside: items[1:]}
	p.load = o.data.LoadOptions()
	run.FolderOf(path).ReadAs(&p.load)
	if o.data.Load.Votes != "" {
		if err := p.readVotes(ctx); err != nil {
			return nil, nil, err
		}
	}
	in, err := p.open(ctx, cmd.InOrStdin())
	if err != nil {
		return nil, nil, withFeatureHint(err)
	}
	return p, in, nil
}

// orStopped returns err, or says that somebody stopped the work if that is why.
func orStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("stopped before the end")
	}
	return err
}

// predictor predicts the items of one input.
type predictor struct {
	options  *predictOptions
	model    *model.Model
	maker    rowMaker
	messages io.Writer
	input    string
	beside   []string            // files that are joined to it
	load     dataset.LoadOptions // how files are read

	votes      *dataset.Dataset // nil without --votes
	votesOf    map[string]int   // item → its index in votes
	classes    []int            // the model's class of each class of votes
	used       int              // items of votes that were found
	items, bad int              // read, and of them without a prediction
}

// readVotes reads the votes to take into account. Their classes are the
// model's, so that any other is refused where it stands.
func (p *predictor) readVotes(ctx context.Context) error {
	opts := p.load.VotesOptions
	opts.Classes = p.model.Classes
	var err error
	if p.votes, err = dataset.ReadVotes(ctx, p.options.data.Load.Votes, opts); err != nil {
		return err
	}
	for _, c := range p.votes.Classes {
		i := slices.Index(p.model.Classes, c)
		if i < 0 {
			return fmt.Errorf("reading %s: class %q is not one of the model's %q", p.options.data.Load.Votes, c, p.model.Classes)
		}
		p.classes = append(p.classes, i)
	}
	p.votesOf = make(map[string]int, len(p.votes.Items))
	for i, id := range p.votes.Items {
		p.votesOf[id] = i
	}
	for _, w := range p.votes.Warnings {
		if !errors.Is(w, dataset.ErrOneVote) {
			p.warn(warningText(w))
		}
	}
	return nil
}

func (p *predictor) warn(text string) { fmt.Fprintf(p.messages, "credence: warning: %s\n", text) }

// open opens the items, or standard input if they are called -.
func (p *predictor) open(ctx context.Context, stdin io.Reader) (*dataset.Stream, error) {
	f := p.load.FeatureOptions
	f.Ignore = nil // what the model does not know is passed over
	parts := p.model.Transform.Parts()
	o := dataset.StreamOptions{Batch: p.options.batch, KeepBad: true, Beside: p.beside, FeatureOptions: f}
	if p.options.format == "table" {
		o.Batch = tableItems + 1
	}
	if p.input == "-" {
		return dataset.NewStream(ctx, stdin, "standard input", parts, o)
	}
	return dataset.OpenStream(ctx, p.input, parts, o)
}

// maxReports is how many bad rows are reported one by one.
const maxReports = 20

// predict writes the predictions of all items to w.
func (p *predictor) predict(ctx context.Context, in *dataset.Stream, w io.Writer) error {
	out, err := p.newWriter(w)
	if err != nil {
		return err
	}
	if err := p.each(ctx, in, out.write); err != nil {
		return err
	}
	return out.close()
}

// each calls do with the answers to the items, batch by batch, until it wants no
// more.
func (p *predictor) each(ctx context.Context, in *dataset.Stream, do func(a *answers) (more bool, err error)) error {
	for batch, err := range in.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return orStopped(ctx, err)
		}
		got := &answers{items: batch.Items, dropped: make([]bool, len(batch.Items))}
		if got.list, err = p.model.Predict(batch.Dataset, model.PredictOptions{Batch: p.options.batch}); err != nil {
			return err
		}
		for j, why := range batch.Bad {
			if why != nil {
				got.dropped[j] = true
				if p.bad++; p.bad <= maxReports {
					p.warn(fmt.Sprintf("item %q has no prediction: %v", batch.Items[j], why))
				}
			}
		}
		if err := p.update(got); err != nil {
			return err
		}
		p.items += len(got.items)
		if more, err := do(got); err != nil || !more {
			return err
		}
	}
	return nil
}

// update takes the votes on the items into account.
func (p *predictor) update(a *answers) error {
	if p.votes == nil {
		return nil
	}
	for j, id := range a.items {
		at, ok := p.votesOf[id]
		if !ok || a.dropped[j] {
			continue
		}
		p.used++
		votes := make([]float64, len(p.model.Classes))
		for i, s := range p.votes.CountsOf(at) {
			votes[p.classes[i]] += float64(s)
		}
		var err error
		if a.list[j], err = a.list[j].After(votes); err != nil {
			return fmt.Errorf("item %q: %w", id, err)
		}
	}
	return nil
}

// end tells what reading warns of, of votes that were not used and of rows that were
// not predicted.
func (p *predictor) end(in *dataset.Stream) error {
	for _, w := range in.Warnings() {
		p.warn(warningText(w))
	}
	if p.items == 0 {
		p.warn(p.input + " has no items")
	}
	if p.votes != nil && p.options.format != "table" && p.used < len(p.votes.Items) {
		p.warn(fmt.Sprintf("votes on %s of %s that %s does not have were not used",
			words.Plural(len(p.votes.Items)-p.used, "item"), p.options.data.Load.Votes, p.input))
	}
	if p.bad == 0 {
		return nil
	}
	if p.bad > maxReports {
		p.warn(fmt.Sprintf("and %s more", words.Plural(p.bad-maxReports, "item")))
	}
	return withHint(fmt.Errorf("%d of %s have no prediction", p.bad, words.Plural(p.items, "item")),
		"fix the rows named above; all others were written")
}
