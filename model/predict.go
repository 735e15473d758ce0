package model

import (
	"cmp"
	"context"
	"fmt"

	"credence/dataset"
	"credence/head"
	"credence/internal/par"
)

// PredictOptions says how items are predicted.
type PredictOptions struct {
	// Votes makes each result the distribution after the item's own votes have
	// been seen (the conjugate update). Classes are matched by name; a vote for
	// a class that the model does not know is an error. A model that knows raters
	// weighs votes by who cast them, by name too; others count as an average rater's.
	Votes bool
	// Batch is how many items go through the networks at a time; 0 means as
	// many as take some megabytes.
	Batch int
	// BatchValues bounds Batch: the values that the networks keep of the items of a batch. 0 means 2^27.
	// The smaller it is, the sooner a prediction stops when its context is done.
	BatchValues int
	// KeepBad has items without an answer passed on with the reason in Err, such
	// as values so extreme that a network's outputs are not finite, or a row that
	// cannot be read. Otherwise the first of them ends the prediction.
	KeepBad bool
	// MeansOnly is for those who read nothing of an answer but its Mean and Err: where there are no
	// votes, no other field need be set.
	MeansOnly bool
}

// Predict returns the answer to every item. Equal inputs give equal bits, whatever the other items
// and the number of cores.
func (m *Model) Predict(ds *dataset.Dataset, o PredictOptions) ([]head.Answer, error) {
	return m.PredictContext(context.Background(), ds, o)
}

// PredictContext is [Model.Predict]. When ctx is done it stops, after the pass of a batch through one network at
// the latest, and returns the context's error.
func (m *Model) PredictContext(ctx context.Context, ds *dataset.Dataset, o PredictOptions) ([]head.Answer, error) {
	out := make([]head.Answer, 0, ds.Len())
	err := m.Each(ctx, ds, o, func(_ int, a head.Answer) error {
		out = append(out, a)
		return nil
	})
	return out, err
}

// Each calls f with the answer to each item of ds in turn. It holds one batch in memory at a time,
// and ends with the first error, f's own included, or when ctx is canceled; see KeepBad for items
// that have no answer.
func (m *Model) Each(ctx context.Context, ds *dataset.Dataset, o PredictOptions, f func(i int, a head.Answer) error) error {
	var v *Voted
	if o.Votes {
		var err error
		if v, err = m.Match(ds); err != nil {
			return err
		}
	}
	return m.batches(ctx, ds, o, func(lo, n int, x []float32, unread []error) error {
		got, err := m.answers(ctx, x, o.MeansOnly && !o.Votes)
		if got == nil {
			return err
		}
		for j, err := range unread {
			if err != nil {
				got[j] = head.Answer{Err: err}
			}
		}
		if o.Votes {
			par.For(n, func(j int) {
				if ctx.Err() == nil {
					v.Update(&got[j], lo+j)
				}
			})
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		for j := range got {
			if err := got[j].Err; err != nil && !o.KeepBad {
				return fmt.Errorf("item %q: %w", ds.Items[lo+j], err)
			}
			if err := f(lo+j, got[j]); err != nil {
				return err
			}
		}
		return nil
	})
}

// batches calls f with the network inputs x [n, width] of items lo … lo+n−1, one
// batch after the other, until it returns an error or ctx is canceled. What could
// not be read has zeros and an error.
func (m *Model) batches(ctx context.Context, ds *dataset.Dataset, o PredictOptions, f func(lo, n int, x []float32, unread []error) error) error {
	in, err := m.Transform.Over(ds)
	if err != nil {
		return err
	}
	width := m.Transform.Width()
	batch := o.Batch
	if batch <= 0 {
		batch = min(1024, max(16, 1<<21/max(1, width)))
	}
	batch = min(batch, ds.Len(), max(1, cmp.Or(o.BatchValues, maxBatch)/m.itemSize()))
	x := make([]float32, batch*width)
	errs := make([]error, batch)
	for lo := 0; lo < ds.Len(); lo += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(batch, ds.Len()-lo)
		par.For(n, func(j int) { errs[j] = in.ReadRow(lo+j, x[j*width:(j+1)*width]) })
		for j, err := range errs[:n] {
			if err == nil {
				continue
			}
			if !o.KeepBad {
				return fmt.Errorf("item %q: %w", ds.Items[lo+j], err)
			}
			clear(x[j*width : (j+1)*width])
		}
		if err := f(lo, n, x[:n*width], errs[:n]); err != nil {
			return err
		}
	}
	return nil
}

// maxBatch is how many values a network may keep of all items of a batch.
const maxBatch = 1 << 27

// itemSize is how many values a network keeps of an item, the largest one.
func (m *Model) itemSize() int {
	n := 0
	for _, member := range m.Members {
		n = max(n, member.ItemSize())
	}
	return n
}

// answers returns those to network inputs x [N, width], which are what the Transform gives. If there are
// items without an answer, which have an Err, the error is that of the first of them. When ctx is done there are
// no answers.
func (m *Model) answers(ctx context.Context, x []float32, meansOnly bool) ([]head.Answer, error) {
	r, cores, err := m.acquire()
	if err != nil {
		return nil, err
	}
	defer m.release(r)
	average := m.Crowd.Average()
	if meansOnly && average == nil { // which calibration leaves alone
		return r.ensemble.answers(ctx, r.head, x, cores, head.DecodeMeans)
	}
	answers, err := r.ensemble.answers(ctx, r.head, x, cores, head.Decode)
	if m.Calibration != nil || average != nil {
		par.Limit(cores).For(len(answers), func(j int) {
			if ctx.Err() != nil {
				return
			}
			m.Calibration.Apply(&answers[j])
			if answers[j].Err == nil {
				answers[j].Through(average)
			}
		})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answers, err
}
