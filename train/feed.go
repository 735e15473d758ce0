package train

import (
	"fmt"
	"slices"
	"sync"

	"credence/dataset"
	"credence/head"
	"credence/internal/kernel"
	"credence/internal/par"
	"credence/nn"
)

// inputs provides the network inputs and votes of items. Inputs that fit into the
// memory limit are computed once; others are read for each batch, ahead of time
// ([feed]). It is safe for concurrent use.
type inputs struct {
	ds     *dataset.Dataset
	rows   *dataset.InputRows
	width  int
	cached []float32       // [N, width] or nil
	memory *dataset.Memory // raw rows, or nil if they are not in memory

	threads par.Limit // of the loops that read a batch

	// The single votes of item i are ratings[first[i]:first[i+1]]; nil if no head needs them.
	ratings []dataset.Rating
	first   []int32
}

// rate sorts single votes by item, for heads that need to know who cast them.
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

// ratingsOf appends the single votes on items. The item number of a vote is its index in items.
func (in *inputs) ratingsOf(list []head.Rating, items []int) []head.Rating {
	for k, j := range items {
		for _, r := range in.ratings[in.first[j]:in.first[j+1]] {
			list = append(list, head.Rating{Item: int32(k), Rater: r.Rater, Class: r.Class})
		}
	}
	return list
}

// manyItems is the number of items from which inputs are computed again from features in memory:
// that is little work compared with training, and saves memory.
const manyItems = 1_000_000

// defaultMemory is the default memory limit of inputs, in bytes.
const defaultMemory = 2 << 30

func newInputs(ds *dataset.Dataset, t *dataset.Transform, memory int64, threads int) (*inputs, error) {
	rows, err := t.Training(ds)
	if err != nil {
		return nil, err
	}
	in := &inputs{ds: ds, rows: rows, width: rows.Width(), memory: inMemory(ds.Rows), threads: par.Limit(threads)}
	if memory <= 0 {
		memory = defaultMemory
	}
	n := ds.Len()
	if in.memory != nil && n >= manyItems || int64(n)*int64(in.width)*4 > memory {
		return in, nil
	}
	cache := make([]float32, n*in.width)
	errs := make([]error, n)
	in.threads.For(n, func(i int) { errs[i] = rows.ReadRow(i, cache[i*in.width:(i+1)*in.width]) })
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

// prefetch prefetches the memory that [batch.put] will read for an item.
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

// inMemory returns rows that are in memory, so that caching inputs would duplicate them, or nil.
func inMemory(rows dataset.Rows) *dataset.Memory {
	if s, ok := rows.(*stoppable); ok {
		rows = s.Rows
	}
	m, _ := rows.(*dataset.Memory)
	return m
}

// batch is a buffer for the inputs and votes of some items.
type batch struct {
	x     []float32 // [N, width]
	votes []float32 // [N, d]
	n     int       // number of items
	err   error     // of reading them

	ratings []head.Rating // if heads need them

	pin   *nn.Pinned              // memory of x, on devices other than the CPU
	ahead func(x []float32) error // sends x to the device
}

// put stores the inputs and votes of an item at index j.
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

// feed returns batches of inputs in order. While one is trained on, goroutines of
// the feed read the next; but rows in memory, which are available at once, are read when
// they are requested, by the cores that will work on them. The content of a batch does not
// depend on when it is read.
type feed struct {
	in     *inputs
	n      int               // number of batches
	items  func(i int) []int // of batch i
	change func(x []float32, item int)

	at   int    // index of the next batch
	hand *batch // in use by the caller

	// The batch that is being read, its items, and how a piece of them is read.
	into  *batch
	now   []int
	size  int // of a piece
	piece func(i int)
	errs  []error // of pieces

	// If batches are read ahead:
	free  chan *batch
	ready chan *batch
	quit  chan struct{}
	over  sync.WaitGroup
}

// readAhead is the number of batches that are read before they are requested.
const readAhead = 1

// feedItems is the number of items in a piece of a batch that is not read ahead.
const feedItems = 64

// prefetchItems is the number of items that memory is prefetched ahead: some hundred nanoseconds.
const prefetchItems = 8

// buffers returns the buffers for a feed of batches of up to n items: two if batches are read
// ahead, as from files, or if inputs will be changed after they are read.
func (in *inputs) buffers(n int, changing bool) []*batch {
	list := make([]*batch, 1, 1+readAhead)
	if !in.quick() || changing {
		list = list[:1+readAhead]
	}
	for i := range list {
		list[i] = &batch{x: make([]float32, n*in.width), votes: make([]float32, n*len(in.ds.Classes))}
	}
	return list
}

// feed returns a feed of the batches 0 … n−1, each with the given items. change,
// if not nil, is called for each input row that was read, by several goroutines
// at once. Only one feed at a time may use the same buffers. The caller must
// close it.
func (in *inputs) feed(buffers []*batch, n int, items func(i int) []int, change func(x []float32, item int)) *feed {
	f := &feed{in: in, n: n, items: items, change: change, size: feedItems}
	f.piece = f.readPiece
	if len(buffers) == 1 {
		f.hand = buffers[0]
		return f
	}
	f.size = 1
	f.free, f.ready, f.quit = make(chan *batch, len(buffers)), make(chan *batch), make(chan struct{})
	for _, b := range buffers {
		f.free <- b
	}
	f.over.Go(f.read)
	return f
}

// read fills free buffers until all batches were read or the feed is closed.
func (f *feed) read() {
	for i := range f.n {
		var b *batch
		select {
		case b = <-f.free:
		case <-f.quit:
			return
		}
		b.err = f.fill(b, f.items(i))
		select {
		case f.ready <- b:
		case <-f.quit:
			return
		}
	}
}

// fill reads items into b, with their single votes if heads need them. A feed that reads ahead has its own
// goroutines: those of package par serve one loop at a time, which should be that of the network.
func (f *feed) fill(b *batch, items []int) error {
	b.n = len(items)
	if f.in.first != nil {
		b.ratings = f.in.ratingsOf(b.ratings[:0], items)
	}
	f.into, f.now = b, items
	n := (len(items) + f.size - 1) / f.size
	f.errs = slices.Grow(f.errs[:0], n)[:n]
	clear(f.errs)
	if f.free == nil {
		f.in.threads.For(n, f.piece)
	} else {
		workers := min(f.in.threads.Workers(), n)
		var wait sync.WaitGroup
		for w := range workers {
			wait.Go(func() {
				for i := w; i < n; i += workers {
					f.piece(i)
				}
			})
		}
		wait.Wait()
	}
	for _, err := range f.errs {
		if err != nil {
			return err
		}
	}
	if b.ahead != nil {
		return b.ahead(b.x[:len(items)*f.in.width])
	}
	return nil
}

// next returns the inputs and votes of the next batch. They are valid until the
// next call.
func (f *feed) next() (x []float32, votes head.Batch, err error) {
	if f.free == nil {
		f.hand.err = f.fill(f.hand, f.items(f.at))
		f.at++
	} else {
		if f.hand != nil {
			f.free <- f.hand
		}
		f.hand = <-f.ready
	}
	b, d := f.hand, len(f.in.ds.Classes)
	votes = head.Batch{Counts: head.Counts{Classes: d, Values: b.votes[:b.n*d]}, Ratings: b.ratings}
	return b.x[:b.n*f.in.width], votes, b.err
}

// readPiece reads piece i of the items of a batch.
func (f *feed) readPiece(i int) {
	width := f.in.width
	for j := i * f.size; j < min((i+1)*f.size, len(f.now)); j++ {
		if next := j + prefetchItems; next < len(f.now) {
			f.in.prefetch(f.now[next])
		}
		if err := f.into.put(f.in, j, f.now[j]); err != nil {
			f.errs[i] = fmt.Errorf("item %q: %w", f.in.ds.Items[f.now[j]], err)
			return
		}
		if f.change != nil {
			f.change(f.into.x[j*width:(j+1)*width], f.now[j])
		}
	}
}

// close stops reading ahead. A nil feed is already closed.
func (f *feed) close() {
	if f == nil || f.free == nil {
		return
	}
	close(f.quit)
	f.over.Wait()
}

// each calls do with the inputs and votes of items, in batches, without changing
// the inputs.
func (in *inputs) each(buffers []*batch, size int, items []int, do func(x []float32, votes head.Batch, some []int) error) error {
	pieces := slices.Collect(slices.Chunk(items, size))
	f := in.feed(buffers, len(pieces), func(i int) []int { return pieces[i] }, nil)
	defer f.close()
	for _, some := range pieces {
		x, votes, err := f.next()
		if err != nil {
			return err
		}
		if err := do(x, votes, some); err != nil {
			return err
		}
	}
	return nil
}

// stopReading stops reading ahead for the current epoch.
func (r *run) stopReading() {
	r.feed.close()
	r.feed = nil
}
