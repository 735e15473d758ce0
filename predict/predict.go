// Package predict computes, summarizes and writes the predictions of a model.
//
// A [Predictor] reads items from a [Source], runs them through a model, and takes votes on them into
// account; it returns a [Prediction] for each item, and counts what looks wrong about the input in
// [Diagnostics]. [Prediction.Summarize] computes the numbers of a prediction once, as a [Row]. A [Table]
// selects fields of rows from the one list of output fields, and a [Writer] writes them as CSV, JSON lines,
// Parquet, Arrow or NPY, so that an item has the same digits on the command line and from a server.
package predict

import (
	"cmp"
	"context"
	"io"
	"iter"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/model"
)

// Prediction is what a model predicts for one item. If there is no prediction, Err is the reason: the row could not
// be read, or the outputs of a network were not finite.
type Prediction struct {
	Item string
	head.Decoded
}

// Source returns items batch by batch, and io.EOF after the last; [dataset.Stream] implements it.
type Source interface {
	Next() (*dataset.Batch, error)
	// Warnings returns what looked wrong in the items so far.
	Warnings() []error
}

// Batch is the predictions for consecutive items.
type Batch struct {
	*dataset.Batch // the items, with their features
	Predictions    []Prediction
}

// Options controls how items are predicted. The zero value is useful.
type Options struct {
	// Votes are votes on items, to take into account.
	Votes *Votes
	// As is the rater whose votes are predicted; nil means an average rater.
	As *As
	// MeansOnly leaves all of a prediction but its Mean and Err unset, where there are no votes.
	MeansOnly bool
	// BatchValues bounds what goes through the networks at a time, as in [model.PredictOptions].
	BatchValues int
	// Ahead reads the next batch while one is predicted. It must be false if a client waits for the prediction
	// for one item before it sends the next.
	Ahead bool
	// Skip, if not nil, reports whether to skip the batch that begins with item first of the source: its items are
	// neither predicted nor returned.
	Skip func(first int) bool
	// WatchSkipped includes skipped items in [Diagnostics].
	WatchSkipped bool
	// Threads is the largest number of goroutines that run the networks and decode their outputs, as in
	// [model.PredictOptions]; 0 means all cores. A [Writer] uses all.
	Threads int
}

// Predictor predicts the items of one source with a model.
type Predictor struct {
	model *model.Model
	o     Options
	watch *dataset.Watch
	src   Source
	// Counts for [Diagnostics].
	items, failed, voted int
}

// New returns a predictor that has not read any items yet.
func New(m *model.Model, o Options) *Predictor {
	return &Predictor{model: m, o: o, watch: m.Transform.NewWatch()}
}

// Run returns the predictions for the items of src, in their order, batch by batch; memory is bounded by the batch. It
// ends with the first error: a source that cannot be read, or ctx canceled. An item that cannot be predicted does not
// end it: its prediction has an Err. Equal inputs give equal bits, whatever the other items and the number of cores.
func (p *Predictor) Run(ctx context.Context, src Source) iter.Seq2[*Batch, error] {
	p.src = src
	return func(yield func(*Batch, error) bool) {
		for b, err := range p.batches(ctx, src) {
			var out *Batch
			err = cmp.Or(err, ctx.Err())
			if err == nil {
				out, err = p.predict(ctx, b)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if out != nil && !yield(out, nil) {
				return
			}
		}
	}
}

// Dataset returns the predictions for the items of a data set in memory.
func (p *Predictor) Dataset(ctx context.Context, ds *dataset.Dataset) ([]Prediction, error) {
	b, err := p.predict(ctx, &dataset.Batch{Dataset: ds})
	if err != nil {
		return nil, err
	}
	return b.Predictions, nil
}

// predict returns the predictions for a batch, or nil if the batch is skipped.
func (p *Predictor) predict(ctx context.Context, b *dataset.Batch) (*Batch, error) {
	p.items = b.First + b.Len()
	skip := p.o.Skip != nil && p.o.Skip(b.First)
	if !skip || p.o.WatchSkipped {
		if err := p.watch.Add(b.Dataset, b.Bad); err != nil {
			return nil, err
		}
	}
	if skip {
		for _, id := range b.Items {
			if _, ok := p.o.Votes.index(id); ok {
				p.voted++
			}
		}
		return nil, nil
	}
	decoded, err := p.model.Predict(ctx, b.Dataset, model.PredictOptions{KeepBad: true, BatchValues: p.o.BatchValues,
		MeansOnly: p.o.MeansOnly && p.o.Votes == nil, Threads: p.o.Threads})
	if err != nil {
		return nil, err
	}
	out := &Batch{Batch: b, Predictions: make([]Prediction, len(decoded))}
	for j := range decoded {
		x := &out.Predictions[j]
		x.Item, x.Decoded = b.Items[j], decoded[j]
		if b.Bad != nil && b.Bad[j] != nil {
			x.Decoded = head.Decoded{Err: b.Bad[j]}
		}
		if p.o.Votes.Update(x) {
			p.voted++
		}
		if p.o.As != nil && x.Err == nil {
			x.ForAverageRater(p.o.As.Average)
		}
		if x.Err != nil {
			p.failed++
		}
	}
	return out, nil
}

// batches returns the batches of src; with Ahead, the next one is read while one is predicted.
func (p *Predictor) batches(ctx context.Context, src Source) iter.Seq2[*dataset.Batch, error] {
	return func(yield func(*dataset.Batch, error) bool) {
		next := src.Next
		for {
			b, err := next()
			if err == io.EOF {
				if err = ctx.Err(); err == nil {
					return
				}
			}
			ahead := p.o.Ahead && err == nil
			if ahead {
				next = startNext(src)
			}
			if !yield(b, err) || err != nil {
				if ahead {
					next() // the caller may close the source
				}
				return
			}
		}
	}
}

// startNext starts to read a batch, and returns a function that waits for it.
func startNext(src Source) func() (*dataset.Batch, error) {
	var b *dataset.Batch
	var err error
	done := make(chan struct{})
	go func() {
		b, err = src.Next()
		close(done)
	}()
	return func() (*dataset.Batch, error) {
		<-done
		return b, err
	}
}

// Diagnostics is what a [Predictor] noticed about its input.
type Diagnostics struct {
	Items  int            // items read, including those skipped
	Failed int            // items without a prediction
	Unlike dataset.Unlike // items unlike those of training
	// Warnings are those of the source and those about features unlike the ones in training.
	Warnings []error
	// Unused is the number of items with votes that were not in the source.
	Unused int
}

// Diagnostics returns what was noticed so far.
func (p *Predictor) Diagnostics() Diagnostics {
	d := Diagnostics{Items: p.items, Failed: p.failed, Unlike: p.watch.Unlike(), Warnings: p.watch.Warnings()}
	if p.src != nil {
		d.Warnings = slices.Concat(p.src.Warnings(), d.Warnings)
	}
	if v := p.o.Votes; v != nil {
		d.Unused = len(v.ds.Items) - p.voted
	}
	return d
}
