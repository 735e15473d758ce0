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

// inputs are the files that are read, which no output may replace.
func (o *predictOptions) inputs(path string, items []string) []string {
	return slices.Concat(items, o.data.Load.Votes, runFiles(path))
}

// open reads the votes to take into account and opens the items, which the
// caller closes.
func (o *predictOptions) open(ctx context.Context, cmd *cobra.Command, m *model.Model, path string, items []string) (*predictor, *dataset.Stream, error) {
	p := &predictor{options: o, model: m, messages: cmd.ErrOrStderr(), input: items[0], beside: items[1:]}
	p.load = o.data.LoadOptions()
	run.FolderOf(path).ReadAs(&p.load)
	if len(o.data.Load.Votes) > 0 {
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
	table    *predict.Table
	messages io.Writer
	input    string
	beside   []string            // files that are joined to it
	load     dataset.LoadOptions // how files are read

	run        *predict.Predictor // nil until items are read
	progress   *predictProgress   // nil for none
	votes      *predict.Votes     // nil without --votes
	items, bad int                // read, and of them without a prediction
	reports    []string           // why items have no prediction, of the first
}

// readVotes reads the votes to take into account. Their classes are the
// model's, so that any other is refused where it stands.
func (p *predictor) readVotes(ctx context.Context) error {
	opts := p.load.VotesOptions
	opts.Classes = p.model.Classes
	ds, err := dataset.Load(ctx, dataset.LoadOptions{Votes: p.load.Votes, VotesOptions: opts})
	if err != nil {
		return err
	}
	for _, c := range ds.Classes {
		if !slices.Contains(p.model.Classes, c) {
			return fmt.Errorf("reading %s: class %q is not one of the model's %q", strings.Join(p.load.Votes, ", "), c, p.model.Classes)
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

// open opens the items, or standard input if they are called -.
func (p *predictor) open(ctx context.Context, stdin io.Reader) (*dataset.Stream, error) {
	f := p.load.FeatureOptions
	f.Ignore = nil // what the model does not know is passed over
	parts := p.model.Transform.Parts()
	o := dataset.StreamOptions{Batch: p.batch(), KeepBad: true, Beside: p.beside, FeatureOptions: f}
	if p.votes != nil {
		o.Known = p.votes.Items()
	}
	if p.options.format.Name == "table" {
		o.Batch = predict.TableItems + 1
	}
	if p.input == "-" {
		return dataset.NewStream(ctx, newStdinReader(ctx, stdin), "standard input", parts, o)
	}
	return dataset.OpenStream(ctx, p.input, parts, o)
}

// batchMeans bounds the class probabilities of a batch where classes are many: a stop waits for the batch under way.
const batchMeans = 16 * 1024

// batch returns the number of items read at a time.
func (p *predictor) batch() int {
	if d := len(p.model.Classes); d > 16 {
		return min(p.options.batch, max(1, batchMeans/d))
	}
	return p.options.batch
}

// maxReports is how many bad rows are reported one by one.
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

// each calls do with the predictions, batch by batch, until it takes no more, and reports items without one. Files are read
// one batch ahead; whoever writes to standard input may wait for an answer.
func (p *predictor) each(ctx context.Context, in *dataset.Stream, o predict.Options, do func(b *predict.Batch) (more bool, err error)) error {
	if p.progress != nil {
		defer p.progress.erase()
	}
	o.Votes, o.MeansOnly, o.Ahead = p.votes, p.options.onlyMean(), p.input != "-"
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

// report tells of an item without a prediction, of the first ones at least.
func (p *predictor) report(text string) {
	if p.bad++; p.bad <= maxReports {
		p.reports = append(p.reports, text)
		p.warn(text)
	}
}

// end warns of what was noticed about the items and the votes, and returns an error if items have no prediction.
func (p *predictor) end() error {
	d := p.run.Diagnostics()
	for _, w := range d.Warnings {
		p.warn(warningText(w))
	}
	if p.items == 0 {
		p.warn(p.input + " has no items")
	}
	if d.Unused > 0 && p.options.format.Name != "table" {
		p.warn(fmt.Sprintf("votes on %s of %s that %s does not have were not used",
			words.Plural(d.Unused, "item"), strings.Join(p.load.Votes, ", "), p.input))
	}
	return p.withoutPrediction()
}

// withoutPrediction is the error of items that have none, nil if all have one.
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

// predictProgress tells how far a long prediction is: on a terminal in a line that
// changes, elsewhere in a line from time to time.
type predictProgress struct {
	statusLine
	every   time.Duration // between lines; 0 for none
	now     func() time.Time
	start   time.Time
	input   string
	total   int // items, 0 if that is not known
	before  int // items that were predicted already when the watch began
	counted bool
}

// newPredictProgress begins the watch. A terminal that shows predictions has no room for it.
func newPredictProgress(w io.Writer, input string, seconds float64, stdout io.Writer, toStdout bool) *predictProgress {
	p := &predictProgress{statusLine: newStatusLine(w), every: time.Duration(seconds * float64(time.Second)), now: time.Now, input: input}
	if toStdout && isTerminal(stdout) {
		p.every = 0
	}
	p.start = p.now()
	p.last = p.start
	if p.live {
		p.last = p.start.Add(time.Second) // short work needs no line
	}
	return p
}

// done is told how many items were predicted so far; total is how many there are,
// or 0.
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

// resumed is told how many items an earlier run has predicted: their time does not count.
func (p *predictProgress) resumed(items int) {
	p.before, p.start = items, p.now()
}

// text is the line.
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

// countLines returns how many lines of text a file has below its first, or 0 if it is
// no plain text that is there to be read twice.
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
