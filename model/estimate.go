package model

import (
	"context"
	"errors"
	"fmt"
	"math"

	"credence/baseline"
	"credence/dataset"
	"credence/internal/par"
	"credence/nn"
)

// ErrNoDistribution is the reason when a distribution of the class probabilities
// is asked of a model whose method gives none.
var ErrNoDistribution = errors.New("the model gives no distribution of the class probabilities")

// distributes refuses models whose method is no mixture.
func (m *Model) distributes() error {
	if method := m.Head.Method(); method != "" {
		return fmt.Errorf("%w: its method is %s", ErrNoDistribution, method)
	}
	return nil
}

// Estimate returns what a model of one of the methods of package baseline says
// of every item. Equal inputs give equal bits, whatever the other items and the
// number of cores.
func (m *Model) Estimate(ds *dataset.Dataset) ([]baseline.Estimate, error) {
	out := make([]baseline.Estimate, 0, ds.Len())
	err := m.EachEstimate(context.Background(), ds, 0, func(_ int, e baseline.Estimate) error {
		out = append(out, e)
		return nil
	})
	return out, err
}

// EachEstimate calls f with the estimate of each item of ds in turn. It holds
// one batch in memory at a time, of so many items or, for 0, as many as take some
// megabytes, and ends with the first error, f's own included, or when ctx is
// cancelled.
func (m *Model) EachEstimate(ctx context.Context, ds *dataset.Dataset, batch int, f func(i int, e baseline.Estimate) error) error {
	return m.batches(ctx, ds, batch, func(lo, n int, x []float32) error {
		got, err := m.EstimateInputs(x)
		if err != nil {
			return err
		}
		for j, e := range got {
			if err := f(lo+j, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// EstimateInputs estimates from network inputs x [N, width], which are what the
// Transform gives.
func (m *Model) EstimateInputs(x []float32) ([]baseline.Estimate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Estimates(m.Members, x, m.Head, len(m.Classes))
}

// Estimates returns what networks with a head that is no mixture say of the
// items with inputs x [N, width] and d classes.
func Estimates(members []*Member, x []float32, h Head, d int) ([]baseline.Estimate, error) {
	if h.Method() == "" {
		return nil, errors.New("the model gives distributions, not estimates")
	}
	rival, err := h.NewRival(d)
	if err != nil {
		return nil, err
	}
	n := len(x) / members[0].Net.In.Size()
	outputs := raw(members, x, n, rival.Passes())
	for _, out := range outputs {
		for i, v := range out {
			if v-v != 0 {
				return nil, fmt.Errorf("item %d of the batch: a network's output is %v", i/rival.Outputs(), v)
			}
		}
	}
	result := make([]baseline.Estimate, n)
	width := rival.Outputs()
	par.For(n, func(j int) {
		item := make([][]float32, len(outputs))
		for k, out := range outputs {
			item[k] = out[j*width : (j+1)*width]
		}
		result[j] = rival.Estimate(item)
	})
	return result, nil
}

// raw returns the outputs [N, …] of each member, or of each of so many passes
// with dropout on.
func raw(members []*Member, x []float32, n, passes int) [][]float32 {
	var outputs [][]float32
	if passes == 0 {
		for _, m := range members {
			outputs = append(outputs, append([]float32(nil), m.Net.Forward(x, false, nn.Step{})...))
		}
		return outputs
	}
	keys := make([]uint64, n)
	width := len(x) / max(1, n)
	for j := range keys {
		keys[j] = contentKey(x[j*width : (j+1)*width])
	}
	for i, m := range members {
		for pass := range passes {
			at := nn.Step{Member: uint64(i), Step: uint64(pass)}
			outputs = append(outputs, append([]float32(nil), m.Net.Sample(x, keys, at)...))
		}
	}
	return outputs
}

// contentKey is a number for the content of an item, FNV-1a of its bits, so that
// equal inputs lose the same units to dropout wherever they stand.
func contentKey(x []float32) uint64 {
	key := uint64(14695981039346656037)
	for _, v := range x {
		key = (key ^ uint64(math.Float32bits(v))) * 1099511628211
	}
	return key
}
