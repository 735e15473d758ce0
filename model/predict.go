package model

import (
	"context"
	"fmt"
	"math"

	"credence/dataset"
	"credence/internal/kernel"
	"credence/internal/par"
	"credence/mixture"
	"credence/nn"
)

// PredictOptions says how items are predicted.
type PredictOptions struct {
	// Votes makes each result the distribution after the item's own votes have
	// been seen (the conjugate update). Classes are matched by name; a vote for
	// a class that the model does not know is an error.
	Votes bool
	// Batch is how many items go through the networks at a time; 0 means as
	// many as take some megabytes.
	Batch int
}

// Predict returns the distribution of the class probabilities of every item:
// a mixture of M·K Dirichlet components. Equal inputs give equal bits, whatever
// the other items and the number of cores.
func (m *Model) Predict(ds *dataset.Dataset, o PredictOptions) ([]*mixture.Dirichlet, error) {
	out := make([]*mixture.Dirichlet, 0, ds.Len())
	err := m.Each(context.Background(), ds, o, func(_ int, p *mixture.Dirichlet) error {
		out = append(out, p)
		return nil
	})
	return out, err
}

// Each calls f with the distribution of each item of ds in turn. It holds one
// batch in memory at a time, and ends with the first error, f's own included,
// or when ctx is cancelled.
func (m *Model) Each(ctx context.Context, ds *dataset.Dataset, o PredictOptions, f func(i int, p *mixture.Dirichlet) error) error {
	if err := m.distributes(); err != nil {
		return err
	}
	var classes []int
	if o.Votes {
		var err error
		if classes, err = m.match(ds); err != nil {
			return err
		}
	}
	return m.batches(ctx, ds, o.Batch, func(lo, n int, x []float32) error {
		got, err := m.Inputs(x)
		if err != nil {
			return err
		}
		errs := make([]error, n)
		if o.Votes {
			par.For(n, func(j int) { got[j], errs[j] = m.update(got[j], ds.CountsOf(lo+j), classes) })
		}
		for j, p := range got {
			if errs[j] != nil {
				return fmt.Errorf("item %q: %w", ds.Items[lo+j], errs[j])
			}
			if err := f(lo+j, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// batches calls f with the network inputs x [n, width] of items lo … lo+n−1, one
// batch after the other, until it returns an error or ctx is cancelled.
func (m *Model) batches(ctx context.Context, ds *dataset.Dataset, batch int, f func(lo, n int, x []float32) error) error {
	in, err := m.Transform.Over(ds)
	if err != nil {
		return err
	}
	width := m.Transform.Width()
	if batch <= 0 {
		batch = min(1024, max(16, 1<<21/max(1, width)))
	}
	batch = min(batch, ds.Len(), max(1, maxBatch/m.itemSize()))
	x := make([]float32, batch*width)
	errs := make([]error, batch)
	for lo := 0; lo < ds.Len(); lo += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(batch, ds.Len()-lo)
		par.For(n, func(j int) { errs[j] = in.ReadRow(lo+j, x[j*width:(j+1)*width]) })
		for j, err := range errs[:n] {
			if err != nil {
				return fmt.Errorf("item %q: %w", ds.Items[lo+j], err)
			}
		}
		if err := f(lo, n, x[:n*width]); err != nil {
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
		n = max(n, member.Net.ItemSize())
	}
	return n
}

// Inputs predicts from network inputs x [N, width], which are what the
// Transform gives.
func (m *Model) Inputs(x []float32) ([]*mixture.Dirichlet, error) {
	if err := m.distributes(); err != nil {
		return nil, err
	}
	n := len(x) / m.Transform.Width()
	outputs := make([][]float32, len(m.Members))
	m.mu.Lock()
	for i, member := range m.Members {
		outputs[i] = append([]float32(nil), member.Net.Forward(x, false, nn.Step{})...)
	}
	m.mu.Unlock()
	return Mixtures(outputs, n, m.Head, len(m.Classes))
}

// Mixtures turns the raw outputs [N, K(d+1)] of each of M networks into the
// mixtures of N items with d classes.
func Mixtures(outputs [][]float32, n int, h Head, d int) ([]*mixture.Dirichlet, error) {
	result, errs := make([]*mixture.Dirichlet, n), make([]error, n)
	const each = 64
	par.For((n+each-1)/each, func(piece int) {
		k := h.Components
		weights := make([]float64, len(outputs)*k)
		alpha := make([][]float64, len(outputs)*k)
		values := make([]float64, len(outputs)*k*d)
		for i := range alpha {
			alpha[i] = values[i*d : (i+1)*d]
		}
		for j := piece * each; j < min((piece+1)*each, n); j++ {
			for i, out := range outputs {
				h.read(weights[i*k:(i+1)*k], alpha[i*k:(i+1)*k], out[j*k*(d+1):(j+1)*k*(d+1)], len(outputs))
			}
			result[j], errs[j] = mixture.NewDirichlet(weights, alpha)
		}
	})
	for j, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("item %d of the batch: the network's outputs are no mixture: %w", j, err)
		}
	}
	return result, nil
}

// read turns the raw outputs of one network for one item into K weights, which
// sum to 1/members, and K rows of parameters.
func (h Head) read(weights []float64, alpha [][]float64, out []float32, members int) {
	top := math.Inf(-1)
	for _, x := range out[:h.Components] {
		top = max(top, float64(x))
	}
	sum := 0.0
	for k, x := range out[:h.Components] {
		weights[k] = math.Exp(float64(x) - top)
		sum += weights[k]
	}
	for k := range weights {
		weights[k] /= sum * float64(members)
	}
	at := out[h.Components:]
	for k := range alpha {
		for i := range alpha[k] {
			alpha[k][i] = math.Exp(min(max(float64(at[0]), -h.Limit), h.Limit))
			at = at[1:]
		}
	}
}

// match returns the model's class of each class of ds, −1 for those it does not
// know.
func (m *Model) match(ds *dataset.Dataset) ([]int, error) {
	known := map[string]int{}
	for i, c := range m.Classes {
		known[c] = i
	}
	at := make([]int, len(ds.Classes))
	for i, c := range ds.Classes {
		at[i] = -1
		if k, ok := known[c]; ok {
			at[i] = k
		}
	}
	for j := range ds.Len() {
		for i, s := range ds.CountsOf(j) {
			if s > 0 && at[i] < 0 {
				return nil, fmt.Errorf("item %q has votes for class %q, which is not one of the model's %q", ds.Items[j], ds.Classes[i], m.Classes)
			}
		}
	}
	return at, nil
}

// update returns p after the given votes; classes are their places.
func (m *Model) update(p *mixture.Dirichlet, counts []float32, classes []int) (*mixture.Dirichlet, error) {
	votes := make([]float64, len(m.Classes))
	any := false
	for i, s := range counts {
		if s > 0 {
			votes[classes[i]] += float64(s)
			any = true
		}
	}
	if !any {
		return p, nil
	}
	return p.Update(votes)
}

// Kernel returns the instruction set in use, which a model records: predictions
// of one model agree to the bit within one of them, and to rounding across.
func Kernel() string { return kernel.Name() }
