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
	// Batch is how many items go through the networks at a time; 0 means as
	// many as take some megabytes.
	Batch int
	// BatchValues bounds Batch: the values that the networks keep of the items of a batch. 0 means 2^27.
	// The smaller it is, the sooner a prediction stops when its context is done.
	BatchValues int
	// KeepBad returns items without an answer with the reason in Err, such as values so extreme that a network's outputs
	// are not finite, or a row that cannot be read. Otherwise the first of them is an error.
	KeepBad bool
	// MeansOnly need not set any field of an answer but Mean and Err.
	MeansOnly bool
}

// Predict returns the answer to every item of ds, before any votes on it. Equal inputs give equal bits, whatever the other
// items and the number of cores. When ctx is done it stops, after the pass of a batch through one network at the latest, and
// returns the context's error.
func (m *Model) Predict(ctx context.Context, ds *dataset.Dataset, o PredictOptions) ([]head.Answer, error) {
	out := make([]head.Answer, 0, ds.Len())
	in, err := m.Transform.Over(ds)
	if err != nil {
		return out, err
	}
	width := m.Transform.Width()
	batch := o.Batch
	if batch <= 0 {
		batch = min(1024, max(16, 1<<21/max(1, width)))
	}
	batch = min(batch, ds.Len(), max(1, cmp.Or(o.BatchValues, maxBatch)/m.itemSize()))
	x := make([]float32, batch*width)
	unread := make([]error, batch)
	for lo := 0; lo < ds.Len(); lo += batch {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		n := min(batch, ds.Len()-lo)
		par.For(n, func(j int) { unread[j] = in.ReadRow(lo+j, x[j*width:(j+1)*width]) })
		for j, err := range unread[:n] {
			switch { // what cannot be read has zeros and an error
			case err != nil && !o.KeepBad:
				return out, fmt.Errorf("item %q: %w", ds.Items[lo+j], err)
			case err != nil:
				clear(x[j*width : (j+1)*width])
			}
		}
		got, err := m.answers(ctx, x[:n*width], o.MeansOnly)
		if got == nil {
			return out, err
		}
		for j := range got {
			if unread[j] != nil {
				got[j] = head.Answer{Err: unread[j]}
			}
			if err := got[j].Err; err != nil && !o.KeepBad {
				return out, fmt.Errorf("item %q: %w", ds.Items[lo+j], err)
			}
		}
		out = append(out, got...)
	}
	return out, nil
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
