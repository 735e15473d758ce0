package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/printout"
	"credence/internal/table"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
	"credence/run"
)

// inputs returns the files that are read. No output may replace them.
func (o *predictOptions) inputs(path string, items []string) []string {
	return slices.Concat(items, o.data.Load.Votes, given(o.raters), runFiles(path))
}

// open reads the votes to condition on and opens the items, which the caller
// closes.
func (o *predictOptions) open(ctx context.Context, cmd *cobra.Command, m *model.Model, path string, items []string) (*predictor, *dataset.Stream, error) {
	if len(items) == 0 {
		items = []string{""} // those with votes of judges
	}
	p := &predictor{options: o, model: m, messages: cmd.ErrOrStderr(), input: items[0], joined: items[1:]}
	p.load = o.data.LoadOptions()
	run.FolderOf(path).ReadAs(&p.load)
	if len(o.data.Load.Votes) > 0 {
		if err := p.readVotes(ctx); err != nil {
			return nil, nil, err
		}
	}
	if p.input == "" && p.votes.Judges() == nil {
		return nil, nil, errNoItems(m)
	}
	in, err := p.open(ctx, cmd.InOrStdin())
	return p, in, withFeatureHint(err)
}

// errNoItems is the error of a command line without items whose votes cannot be the items.
func errNoItems(m *model.Model) error {
	if judges := dataset.JudgesOf(m.Transform.Schema()); len(judges) > 0 {
		return usagef("no items: expected a file of items, or --votes with votes of the judges [%s]", words.Few(judges))
	}
	return usagef("expected a run and a file of items, found 1 argument")
}

// itemsOrVotes lets a verb take a run alone where --votes is given: the items are then those that judges voted on.
func itemsOrVotes(cmd *cobra.Command) {
	takesItems := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && cmd.Flags().Changed("votes") {
			return nil
		}
		return takesItems(cmd, args)
	}
}

// orStopped returns err, or an error that the work was stopped if ctx was canceled.
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
	table    *predict.Table
	messages io.Writer
	input    string
	joined   []string            // files that are joined to input by item
	load     dataset.LoadOptions // options for reading files

	run        *predict.Predictor // nil until items are read
	progress   *predictProgress   // nil for none
	votes      *predict.Votes     // nil without --votes
	as         *predict.As        // nil without --as
	items, bad int                // number of items read, and of those without a prediction
	reports    []string           // why items have no prediction, for the first maxReports
}

// readVotes reads the votes to condition on. Their classes are set to the
// model's, so that errors about other classes name the line.
func (p *predictor) readVotes(ctx context.Context) error {
	opts := p.load.VotesOptions
	opts.Classes, opts.Ordered, opts.Schema = p.model.Classes, p.model.Ordered, p.model.Transform.Schema()
	ds, err := dataset.Load(ctx, dataset.LoadOptions{Votes: p.load.Votes, VotesOptions: opts})
	if err != nil {
		return err
	}
	for _, c := range ds.Classes {
		if !slices.Contains(p.model.Classes, c) {
			return fmt.Errorf("reading %s: unknown class %q: expected one of the model's %q", strings.Join(p.load.Votes, ", "), c, p.model.Classes)
		}
	}
	if p.votes, err = predict.MatchVotes(p.model, ds); err != nil {
		return fmt.Errorf("reading %s: %w", strings.Join(p.load.Votes, ", "), err)
	}
	for _, w := range p.votes.Warnings() {
		p.warn(warningText(w))
	}
	return nil
}

func (p *predictor) warn(text string) {
	if p.progress != nil {
		p.progress.erase()
	}
	fmt.Fprintf(p.messages, "credence: warning: %s\n", printout.Plain(text))
}

// open opens the items, or standard input if the input is "-".
func (p *predictor) open(ctx context.Context, stdin io.Reader) (*dataset.Stream, error) {
	f := p.load.FeatureOptions
	f.Ignore = nil // columns that the model does not use are skipped anyway
	features := p.model.Transform.Schema()
	o := dataset.StreamOptions{Batch: p.batch(), KeepBad: true, Beside: p.joined, FeatureOptions: f}
	if p.votes != nil {
		o.Known, o.Judges = p.votes.Items(), p.votes.Judges()
	}
	if p.options.out.form == "table" {
		o.Batch = predict.TableItems + 1
	}
	if p.input == "-" {
		return dataset.NewStream(ctx, newStdinReader(ctx, stdin), "standard input", features, o)
	}
	return dataset.OpenStream(ctx, p.input, features, o)
}

// batchMeans bounds the class probabilities per batch if there are many classes: a signal takes effect after a batch.
const batchMeans = 16 * 1024

// batch returns the number of items read at a time.
func (p *predictor) batch() int {
	if d := len(p.model.Classes); d > 16 {
		return min(p.options.batch, max(1, batchMeans/d))
	}
	return p.options.batch
}

// maxReports is the number of invalid rows that are reported one by one.
const maxReports = 20

// predict writes the predictions of all items to w.
func (p *predictor) predict(ctx context.Context, in *dataset.Stream, w io.Writer) error {
	out, err := predict.NewWriter(w, p.table)
	if err != nil {
		return err
	}
	write := func(b *predict.Batch) (bool, error) { return out.Write(ctx, b.Predictions) }
	if err := p.each(ctx, in, predict.Options{}, write); err != nil {
		return err
	}
	return out.Close()
}

// each calls do with each batch of predictions until it returns false, and reports items without a prediction. Files are
// read one batch ahead, but not standard input, whose writer may wait for the predictions of a batch.
func (p *predictor) each(ctx context.Context, in *dataset.Stream, o predict.Options, do func(b *predict.Batch) (more bool, err error)) error {
	if p.progress != nil {
		defer p.progress.erase()
	}
	o.Votes, o.As, o.MeansOnly, o.Ahead = p.votes, p.as, p.options.only("mean"), p.input != "-"
	p.run = predict.New(p.model, o)
	for b, err := range p.run.Run(ctx, in) {
		if err != nil {
			return orStopped(ctx, err)
		}
		for j := range b.Predictions {
			if x := &b.Predictions[j]; x.Err != nil {
				p.report(fmt.Sprintf("item %q has no prediction: %v", x.Item, x.Err))
			}
		}
		p.items = b.First + b.Len()
		if p.progress != nil {
			p.progress.done(p.items, in.Total())
		}
		if more, err := do(b); err != nil {
			return orStopped(ctx, err)
		} else if !more {
			return nil
		}
	}
	p.items = in.Read()
	return nil
}

// report counts an item without a prediction, and prints the reason for the first maxReports.
func (p *predictor) report(text string) {
	if p.bad++; p.bad <= maxReports {
		p.reports = append(p.reports, text)
		p.warn(text)
	}
}

// end prints warnings about the items and the votes, and returns an error if items have no prediction.
func (p *predictor) end() error {
	d := p.run.Diagnostics()
	for _, w := range d.Warnings {
		p.warn(warningText(w))
	}
	if p.items == 0 {
		p.warn(p.input + " has no items")
	}
	if d.Unused > 0 && p.options.out.form != "table" {
		p.warn(fmt.Sprintf("votes on %s of %s were not used: %s does not have them",
			words.Plural(d.Unused, "item"), strings.Join(p.load.Votes, ", "), p.input))
	}
	return p.withoutPrediction()
}

// withoutPrediction returns an error if items have no prediction.
func (p *predictor) withoutPrediction() error {
	if p.bad == 0 {
		return nil
	}
	if p.bad > maxReports {
		p.warn(fmt.Sprintf("and %s more", words.Plural(p.bad-maxReports, "item")))
	}
	return withHint(fmt.Errorf("%d of %s have no prediction", p.bad, words.Plural(p.items, "item")),
		"fix the rows named above; all others were written")
}

// predictProgress shows the progress of a long prediction: on a terminal in a status
// line, elsewhere in a line from time to time.
type predictProgress struct {
	statusLine
	every   time.Duration // between lines; 0 for none
	now     func() time.Time
	start   time.Time
	input   string
	total   int // number of items, 0 if unknown
	before  int // items that an earlier process predicted
	counted bool
}

// newPredictProgress starts the clock. It shows nothing if predictions go to a terminal.
func newPredictProgress(w io.Writer, input string, seconds float64, stdout io.Writer, toStdout bool) *predictProgress {
	p := &predictProgress{statusLine: newStatusLine(w), every: time.Duration(seconds * float64(time.Second)), now: time.Now, input: input}
	if toStdout && isTerminal(stdout) {
		p.every = 0
	}
	p.start = p.now()
	p.last = p.start
	if p.live {
		p.last = p.start.Add(time.Second) // no line for short work
	}
	return p
}

// done shows the number of items predicted so far; total is the number of items, or 0
// if unknown.
func (p *predictProgress) done(items, total int) {
	now := p.now()
	if p.every == 0 || !p.due(now, min(p.every, 200*time.Millisecond), p.every) {
		return
	}
	if p.total = max(p.total, total); p.total == 0 && !p.counted {
		p.total, p.counted = countLines(p.input), true
	}
	p.show("credence: ", p.text(items, now.Sub(p.start)))
}

// resumed sets the number of items that an earlier process predicted, which do not count towards the speed.
func (p *predictProgress) resumed(items int) {
	p.before, p.start = items, p.now()
}

// text returns the line.
func (p *predictProgress) text(items int, took time.Duration) string {
	rate := float64(items-p.before) / max(1e-9, took.Seconds())
	speed := fmt.Sprintf("%s items/s", words.Thousands(int(rate)))
	if rate < 10 {
		speed = fmt.Sprintf("%.1f items/s", rate)
	}
	if p.total == 0 {
		return fmt.Sprintf("%s predicted, %s", words.Plural(items, "item"), speed)
	}
	items = min(items, p.total)
	share := float64(items) / float64(p.total)
	left := time.Duration(float64(p.total-items) / max(1e-9, rate) * float64(time.Second)).Round(time.Second)
	text := fmt.Sprintf("%s of about %s, %.0f%%, %s, %s left", words.Thousands(items), words.Plural(p.total, "item"), 100*share, speed, left)
	if p.live {
		const width = 20
		full := int(share * width)
		text = strings.Repeat("█", full) + strings.Repeat("░", width-full) + " " + text
	}
	return text
}

// countLines returns the number of lines of a text file after the header, or 0 if it is
// not a regular file of text, which can be read twice.
func countLines(path string) int {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || !table.IsLines(path) {
		return 0
	}
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	n, last := 0, byte('\n')
	buf := make([]byte, 1<<20)
	for {
		k, err := f.Read(buf)
		n += bytes.Count(buf[:k], []byte{'\n'})
		if k > 0 {
			last = buf[k-1]
		}
		if err != nil {
			break
		}
	}
	if last != '\n' {
		n++
	}
	return max(0, n-1)
}
