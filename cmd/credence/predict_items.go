package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/prediction"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
	"credence/run"
)

// inputs are the files that are read, which no output may replace.
func (o *predictOptions) inputs(path string, items []string) []string {
	return slices.Concat(items, o.data.Load.Votes, runFiles(path))
}

// open reads the votes to take into account and opens the items, which the
// caller closes.
func (o *predictOptions) open(ctx context.Context, cmd *cobra.Command, m *model.Model, path string, items []string) (*predictor, *dataset.Stream, error) {
	p := &predictor{options: o, model: m, messages: cmd.ErrOrStderr(), input: items[0], beside: items[1:],
		watch: m.Transform.NewWatch()}
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
	maker    *prediction.Maker
	messages io.Writer
	input    string
	beside   []string            // files that are joined to it
	load     dataset.LoadOptions // how files are read

	watch      *dataset.Watch
	progress   *predictProgress // nil for none
	votes      *dataset.Dataset // nil without --votes
	votesOf    map[string]int   // item → its index in votes
	voted      *model.Voted     // votes as the model takes them
	used       int              // items of votes that were found
	items, bad int              // read, and of them without a prediction
	reports    []string         // why items have no prediction, of the first
}

// readVotes reads the votes to take into account. Their classes are the
// model's, so that any other is refused where it stands.
func (p *predictor) readVotes(ctx context.Context) error {
	opts := p.load.VotesOptions
	opts.Classes = p.model.Classes
	var err error
	if p.votes, err = dataset.Load(ctx, dataset.LoadOptions{Votes: p.load.Votes, VotesOptions: opts}); err != nil {
		return err
	}
	for _, c := range p.votes.Classes {
		if !slices.Contains(p.model.Classes, c) {
			return fmt.Errorf("reading %s: class %q is not one of the model's %q", strings.Join(p.load.Votes, ", "), c, p.model.Classes)
		}
	}
	p.votesOf = make(map[string]int, len(p.votes.Items))
	for i, id := range p.votes.Items {
		p.votesOf[id] = i
	}
	if p.voted, err = p.model.Match(p.votes); err != nil {
		return fmt.Errorf("reading %s: %w", strings.Join(p.load.Votes, ", "), err)
	}
	p.tellStrangers()
	for _, w := range p.votes.Warnings {
		if !errors.Is(w, dataset.ErrOneVote) {
			p.warn(warningText(w))
		}
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
		o.Known = p.votes.Items
	}
	if p.options.format == "table" {
		o.Batch = prediction.TableItems + 1
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
	out, err := prediction.NewWriter(w, p.maker)
	if err != nil {
		return err
	}
	if err := p.each(ctx, in, nil, func(a *prediction.Answers) (bool, error) { return out.Write(ctx, a) }); err != nil {
		return err
	}
	return out.Close()
}

// each calls do with the answers to the items, batch by batch, until it wants no
// more. Batches whose first item is not wanted are passed over; nil wants all.
func (p *predictor) each(ctx context.Context, in *dataset.Stream, wanted func(first int) bool, do func(a *prediction.Answers) (more bool, err error)) error {
	if p.progress != nil {
		defer p.progress.erase()
	}
	for batch, err := range p.batches(ctx, in) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return orStopped(ctx, err)
		}
		p.items = batch.First
		if wanted != nil && !wanted(p.items) {
			if err := p.pass(batch); err != nil {
				return err
			}
			continue
		}
		if err := p.watch.Add(batch.Dataset, batch.Bad); err != nil {
			return err
		}
		got := &prediction.Answers{Items: batch.Items, Dropped: make([]bool, len(batch.Items))}
		if got.List, err = p.model.PredictContext(ctx, batch.Dataset, model.PredictOptions{Batch: p.options.batch, KeepBad: true, MeansOnly: p.meansOnly()}); err != nil {
			return orStopped(ctx, err)
		}
		for j := range got.List {
			why := got.List[j].Err
			if batch.Bad != nil && batch.Bad[j] != nil {
				why = batch.Bad[j]
			}
			if why == nil {
				why = p.update(got, j)
			}
			if why == nil {
				continue
			}
			got.Dropped[j] = true
			p.report(fmt.Sprintf("item %q has no prediction: %v", batch.Items[j], why))
		}
		p.items += len(got.Items)
		if p.progress != nil {
			p.progress.done(p.items, in.Total())
		}
		if more, err := do(got); err != nil {
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

// pass passes over items that are not predicted here. Those that an earlier run predicted are compared with those of
// training all the same, so that the last run says what a single one would have said.
func (p *predictor) pass(batch *dataset.Batch) error {
	for _, id := range batch.Items {
		if _, ok := p.votesOf[id]; ok {
			p.used++
		}
	}
	p.items += len(batch.Items)
	if p.options.rank.Count > 1 {
		return nil
	}
	return p.watch.Add(batch.Dataset, batch.Bad)
}

// batches reads the items. Those of a file are read while the ones before are predicted, one batch ahead; whoever
// writes to standard input may wait for an answer.
func (p *predictor) batches(ctx context.Context, in *dataset.Stream) iter.Seq2[*dataset.Batch, error] {
	if p.input == "-" {
		return in.All()
	}
	type read struct {
		batch *dataset.Batch
		err   error
	}
	return func(yield func(*dataset.Batch, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		list, done := make(chan read), make(chan struct{})
		go func() {
			defer close(done)
			defer close(list)
			for b, err := range in.All() {
				select {
				case list <- read{b, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		defer func() {
			stop()
			<-done
		}()
		for r := range list {
			if !yield(r.batch, r.err) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// meansOnly reports whether nothing but means is asked of answers.
func (p *predictor) meansOnly() bool { return p.options.onlyMean() && p.votes == nil }

// update takes the votes on item j into account.
func (p *predictor) update(a *prediction.Answers, j int) error {
	at, ok := p.votesOf[a.Items[j]]
	if !ok {
		return nil
	}
	p.used++
	p.voted.Update(&a.List[j], at)
	return a.List[j].Err
}

// tellStrangers warns of votes that count as those of average raters, where the model knows raters
// apart.
func (p *predictor) tellStrangers() {
	unknown := p.voted.Unknown()
	switch {
	case p.model.Crowd == nil:
	case len(p.votes.Raters) == 0:
		p.warn("the votes name no raters: each counts as one of an average rater")
	case len(unknown) > 0:
		p.warn(fmt.Sprintf("%s of %s [%s] unknown to the model: their votes count as cast by average raters",
			words.Thousands(len(unknown)), words.Plural(len(p.votes.Raters), "rater"), words.Few(unknown)))
	}
}

// end tells what reading warns of, of votes that were not used and of rows that were
// not predicted.
func (p *predictor) end(in *dataset.Stream) error {
	for _, w := range slices.Concat(in.Warnings(), p.watch.Warnings()) {
		p.warn(warningText(w))
	}
	if p.items == 0 {
		p.warn(p.input + " has no items")
	}
	if p.votes != nil && p.options.format != "table" && p.used < len(p.votes.Items) {
		p.warn(fmt.Sprintf("votes on %s of %s that %s does not have were not used",
			words.Plural(len(p.votes.Items)-p.used, "item"), strings.Join(p.load.Votes, ", "), p.input))
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
