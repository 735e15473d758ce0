package train

import (
	"fmt"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/internal/par"
	"credence/nn"
)

// inputs gives the network inputs and votes of items. Inputs that fit into the
// memory allowed are computed once; others are read for each batch, ahead of it
// ([feed]). It is safe for use by several goroutines.
type inputs struct {
	ds     *dataset.Dataset
	rows   *dataset.InputRows
	width  int
	cached []float32 // [N, width] or nil

	// The single votes of item i are ratings[first[i]:first[i+1]]; nil if no head asks for them.
	ratings []dataset.Rating
	first   []int32
}

// rate sorts the single votes by item, for heads that ask who cast them.
func (in *inputs) rate() {
	in.first = make([]int32, in.ds.Len()+1)
	for _, r := range in.ds.Ratings {
		in.first[r.Item+1]++
	}
	for i := range in.ds.Len() {
		in.first[i+1] += in.first[i]
	}
	if slices.IsSortedFunc(in.ds.Ratings, func(a, b dataset.Rating) int { return int(a.Item) - int(b.Item) }) {
		in.ratings = in.ds.Ratings
		return
	}
	in.ratings = make([]dataset.Rating, len(in.ds.Ratings))
	next := slices.Clone(in.first)
	for _, r := range in.ds.Ratings {
		in.ratings[next[r.Item]] = r
		next[r.Item]++
	}
}

// manyItems is from where on inputs are computed anew from features in memory, which is
// little work beside training on them; memory is dear then.
const manyItems = 1_000_000

// defaultMemory is what inputs may take, in bytes.
const defaultMemory = 2 << 30

func newInputs(ds *dataset.Dataset, t *dataset.Transform, memory int64) (*inputs, error) {
	rows, err := t.Training(ds)
	if err != nil {
		return nil, err
	}
	in := &inputs{ds: ds, rows: rows, width: rows.Width()}
	if memory <= 0 {
		memory = defaultMemory
	}
	n := ds.Len()
	if inMemory(ds.Rows) && n >= manyItems || int64(n)*int64(in.width)*4 > memory {
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

// inMemory reports whether rows are held in memory, so that inputs would be there twice.
func inMemory(rows dataset.Rows) bool {
	if s, ok := rows.(*stoppable); ok {
		rows = s.Rows
	}
	_, ok := rows.(*dataset.Memory)
	return ok
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

	ratings []head.Rating // where heads ask for them

	pin   *nn.Pinned              // what x is a part of, on other devices than the CPU
	ahead func(x []float32) error // takes x to the device
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
	if in.first == nil {
		return
	}
	b.ratings = b.ratings[:0]
	for j, i := range items {
		for _, r := range in.ratings[in.first[i]:in.first[i+1]] {
			b.ratings = append(b.ratings, head.Rating{Item: int32(j), Rater: r.Rater, Class: r.Class})
		}
	}
}

// content returns the inputs and votes.
func (b *batch) content(in *inputs) (x []float32, votes head.Batch) {
	d := len(in.ds.Classes)
	return b.x[:b.n*in.width], head.Batch{
		Counts: head.Counts{Classes: d, Values: b.votes[:b.n*d]}, Ratings: b.ratings,
	}
}
