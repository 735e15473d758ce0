package train

import (
	"fmt"

	"credence/dataset"
	"credence/head"
	"credence/internal/par"
)

// inputs gives the network inputs and votes of items. Inputs that fit into the
// memory allowed are computed once; others are read for each batch. It is safe
// for use by several goroutines.
type inputs struct {
	ds     *dataset.Dataset
	rows   *dataset.InputRows
	width  int
	cached []float32 // [N, width] or nil
}

// defaultMemory is what inputs may take, in bytes.
const defaultMemory = 2 << 30

func newInputs(ds *dataset.Dataset, t *dataset.Transform, memory int64) (*inputs, error) {
	rows, err := t.Over(ds)
	if err != nil {
		return nil, err
	}
	in := &inputs{ds: ds, rows: rows, width: rows.Width()}
	if memory <= 0 {
		memory = defaultMemory
	}
	n := ds.Len()
	if int64(n)*int64(in.width)*4 > memory {
		return in, nil
	}
	cache := make([]float32, n*in.width)
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if err := in.read(cache, all); err != nil {
		return nil, err
	}
	in.cached = cache
	return in, nil
}

// read fills x [len(items), width] from the data set.
func (in *inputs) read(x []float32, items []int) error {
	errs := make([]error, len(items))
	par.For(len(items), func(j int) { errs[j] = in.rows.ReadRow(items[j], x[j*in.width:(j+1)*in.width]) })
	for j, err := range errs {
		if err != nil {
			return fmt.Errorf("item %q: %w", in.ds.Items[items[j]], err)
		}
	}
	return nil
}

// batch is memory for the inputs and votes of some items.
type batch struct {
	x     []float32 // [N, width]
	votes []float32 // [N, d]
}

func (in *inputs) newBatch(n int) *batch {
	return &batch{x: make([]float32, n*in.width), votes: make([]float32, n*len(in.ds.Classes))}
}

// load fills b with the given items and returns their inputs and votes.
func (in *inputs) load(b *batch, items []int) (x []float32, votes head.Counts, err error) {
	d := len(in.ds.Classes)
	x, votes = b.x[:len(items)*in.width], head.Counts{Classes: d, Values: b.votes[:len(items)*d]}
	for j, i := range items {
		copy(votes.Item(j), in.ds.CountsOf(i))
		if in.cached != nil {
			copy(x[j*in.width:(j+1)*in.width], in.cached[i*in.width:])
		}
	}
	if in.cached == nil {
		err = in.read(x, items)
	}
	return x, votes, err
}
