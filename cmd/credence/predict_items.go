package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/printout"
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
