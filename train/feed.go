package train

import (
	"fmt"
	"slices"
	"sync"

	"credence/head"
	"credence/internal/par"
	"credence/nn"
)

// feed gives batches of inputs in turn. While one is trained on, goroutines of
// the feed read the next; but rows in memory, which are there at once, are read when
// they are asked for, by the cores that will work on them. What a batch holds does not
// depend on when it is read.
type feed struct {
	in     *inputs
	n      int               // batches
	items  func(i int) []int // of batch i
	change func(x []float32, item int)

	at   int    // the next batch
	hand *batch // what the caller works on

	// Where they are not read ahead: the items of the batch in hand, and how a piece of
	// them is read.
	now   []int
	piece func(i int)
	errs  []error // of pieces

	// Where batches are read ahead:
	free  chan *batch
	ready chan delivery
	quit  chan struct{}
	over  sync.WaitGroup
}

// delivery is a batch that was read, or the reason why it was not.
type delivery struct {
	b   *batch
	err error
}

// readAhead is how many batches are read before they are asked for.
const readAhead = 1

// feedItems is how many items make a piece of a batch that is not read ahead.
const feedItems = 64

// prefetchItems is how many items ahead memory is asked for: some hundred nanoseconds.
const prefetchItems = 8

// buffers returns the memory for a feed of batches of up to n items: for two where they are
// read ahead, as from files, or if inputs will be changed after they are read.
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

// pin moves the inputs of buffers to memory that an engine copies fastest. ahead is called
// with the inputs of each batch as soon as they are there.
func pin(list []*batch, e nn.Pinner, ahead func(x []float32) error) error {
	for _, b := range list {
		p, err := e.Pin(len(b.x))
		if err != nil {
			return err
		}
		b.x, b.pin, b.ahead = p.Values, p, ahead
	}
	return nil
}

// feed returns the batches 0 … n−1 in turn, each with the given items. change,
// if not nil, is called for each input row that was read, by several goroutines
// at once. Only one feed at a time may use the same buffers, and the caller
// closes it.
func (in *inputs) feed(buffers []*batch, n int, items func(i int) []int, change func(x []float32, item int)) *feed {
	f := &feed{in: in, n: n, items: items, change: change}
	if len(buffers) == 1 {
		f.hand, f.piece = buffers[0], f.readPiece
		return f
	}
	f.free, f.ready, f.quit = make(chan *batch, len(buffers)), make(chan delivery), make(chan struct{})
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
		d := delivery{b, f.fill(b, f.items(i))}
		select {
		case f.ready <- d:
		case <-f.quit:
			return
		}
	}
}

// fill reads items into b. It has goroutines of its own: those of package par
// serve one loop at a time, and that shall be the network's.
func (f *feed) fill(b *batch, items []int) error {
	b.begin(f.in, items)
	width := f.in.width
	errs := make([]error, len(items))
	workers := min(par.Threads(), len(items))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for j := w; j < len(items); j += workers {
				if errs[j] = b.put(f.in, j, items[j]); errs[j] != nil {
					return
				}
				if f.change != nil {
					f.change(b.x[j*width:(j+1)*width], items[j])
				}
			}
		})
	}
	wait.Wait()
	for j, err := range errs {
		if err != nil {
			return fmt.Errorf("item %q: %w", f.in.ds.Items[items[j]], err)
		}
	}
	if b.ahead != nil {
		return b.ahead(b.x[:len(items)*width])
	}
	return nil
}

// next returns the inputs and votes of the next batch. They are the caller's
// until it asks again.
func (f *feed) next() (x []float32, votes head.Batch, err error) {
	i := f.at
	f.at++
	if f.free == nil {
		f.now = f.items(i)
		f.hand.begin(f.in, f.now)
		n := (len(f.now) + feedItems - 1) / feedItems
		f.errs = slices.Grow(f.errs[:0], n)[:n]
		clear(f.errs)
		par.For(n, f.piece)
		x, votes = f.hand.content(f.in)
		for _, err := range f.errs {
			if err != nil {
				return nil, votes, err
			}
		}
		return x, votes, nil
	}
	if f.hand != nil {
		f.free <- f.hand
	}
	d := <-f.ready
	f.hand = d.b
	x, votes = d.b.content(f.in)
	return x, votes, d.err
}

// readPiece reads piece i of the items in hand.
func (f *feed) readPiece(i int) {
	lo, hi := i*feedItems, min((i+1)*feedItems, len(f.now))
	for j := lo; j < hi; j++ {
		if next := j + prefetchItems; next < len(f.now) {
			f.in.prefetch(f.now[next])
		}
		if err := f.hand.put(f.in, j, f.now[j]); err != nil {
			f.errs[i] = fmt.Errorf("item %q: %w", f.in.ds.Items[f.now[j]], err)
			return
		}
	}
}

// close ends reading ahead. A nil feed is closed.
func (f *feed) close() {
	if f == nil || f.free == nil {
		return
	}
	close(f.quit)
	f.over.Wait()
}

// each calls do with the inputs and votes of items, some at a time, as they
// are.
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
