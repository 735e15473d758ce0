package train

import (
	"fmt"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/internal/kernel"
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
	cached []float32       // [N, width] or nil
	memory *dataset.Memory // raw rows, or nil where they are not in memory

	// The single votes of item i are ratings[first[i]:first[i+1]]; nil if no head asks for them.
	ratings []dataset.Rating
	first   []int32
}

// rate sorts single votes by item, for heads that ask who cast them.
func (in *inputs) rate(ratings []dataset.Rating) {
	in.first = make([]int32, in.ds.Len()+1)
	for _, r := range ratings {
		in.first[r.Item+1]++
	}
	for i := range in.ds.Len() {
		in.first[i+1] += in.first[i]
	}
	if slices.IsSortedFunc(ratings, func(a, b dataset.Rating) int { return int(a.Item) - int(b.Item) }) {
		in.ratings = ratings
		return
	}
	in.ratings = make([]dataset.Rating, len(ratings))
	next := slices.Clone(in.first)
	for _, r := range ratings {
		in.ratings[next[r.Item]] = r
		next[r.Item]++
	}
}

// ratingsOf appends the single votes on items, whose places in the list are the numbers of items.
func (in *inputs) ratingsOf(list []head.Rating, items []int) []head.Rating {
	for k, j := range items {
		for _, r := range in.ratings[in.first[j]:in.first[j+1]] {
			list = append(list, head.Rating{Item: int32(k), Rater: r.Rater, Class: r.Class})
		}
	}
	return list
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
	in := &inputs{ds: ds, rows: rows, width: rows.Width(), memory: inMemory(ds.Rows)}
	if memory <= 0 {
		memory = defaultMemory
	}
	n := ds.Len()
	if in.memory != nil && n >= manyItems || int64(n)*int64(in.width)*4 > memory {
		return in, nil
	}
	cache := make([]float32, n*in.width)
	errs := make([]error, n)
	par.For(n, func(i int) { errs[i] = rows.ReadRow(i, cache[i*in.width:(i+1)*in.width]) })
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("item %q: %w", ds.Items[i], err)
		}
	}
	in.cached = cache
	return in, nil
}

// quick reports whether inputs are read from memory.
func (in *inputs) quick() bool { return in.cached != nil || in.memory != nil }

// prefetch asks for what [batch.put] will read of an item.
func (in *inputs) prefetch(item int) {
	kernel.Prefetch(in.ds.CountsOf(item))
	switch {
	case in.cached != nil:
		kernel.Prefetch(in.cached[item*in.width : (item+1)*in.width])
	case in.memory != nil:
		w := in.memory.W
		kernel.Prefetch(in.memory.Values[item*w : (item+1)*w])
	}
}

// inMemory returns rows that are held in memory, so that inputs would be there twice, or nil.
func inMemory(rows dataset.Rows) *dataset.Memory {
	if s, ok := rows.(*stoppable); ok {
		rows = s.Rows
	}
	m, _ := rows.(*dataset.Memory)
	return m
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

// put makes an item the one at place j, with its inputs and votes.
func (b *batch) put(in *inputs, j, item int) error {
	d := len(in.ds.Classes)
	copy(b.votes[j*d:(j+1)*d], in.ds.CountsOf(item))
	x := b.x[j*in.width : (j+1)*in.width]
	if in.cached != nil {
		copy(x, in.cached[item*in.width:])
		return nil
	}
	return in.rows.ReadRow(item, x)
}

// begin makes room for items, which follow, and tells who cast their votes.
func (b *batch) begin(in *inputs, items []int) {
	b.n = len(items)
	if in.first == nil {
		return
	}
	b.ratings = in.ratingsOf(b.ratings[:0], items)
}

// content returns the inputs and votes.
func (b *batch) content(in *inputs) (x []float32, votes head.Batch) {
	d := len(in.ds.Classes)
	return b.x[:b.n*in.width], head.Batch{
		Counts: head.Counts{Classes: d, Values: b.votes[:b.n*d]}, Ratings: b.ratings,
	}
}
