package train

import (
	"fmt"

	"credence/dataset"
	"credence/head"
	"credence/internal/par"
)

// inputs gives the network inputs and votes of items. Inputs that fit into the
// memory allowed are computed once; others are read for each batch, ahead of it
// ([feed]). It is safe for use by several goroutines.
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
	n     int       // items in it
}

func (in *inputs) newBatch(n int) *batch {
	return &batch{x: make([]float32, n*in.width), votes: make([]float32, n*len(in.ds.Classes))}
}

// begin puts in the votes of items, whose inputs follow.
func (b *batch) begin(in *inputs, items []int) {
	b.n = len(items)
	d := len(in.ds.Classes)
	for j, i := range items {
		copy(b.votes[j*d:(j+1)*d], in.ds.CountsOf(i))
	}
}

// content returns the inputs and votes.
func (b *batch) content(in *inputs) (x []float32, votes head.Counts) {
	d := len(in.ds.Classes)
	return b.x[:b.n*in.width], head.Counts{Classes: d, Values: b.votes[:b.n*d]}
}
