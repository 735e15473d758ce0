// Package par runs loops on several cores with results that do not depend on
// the number of cores: the pieces of a loop are fixed by the caller, and each
// piece writes its own range of the output.
//
// A loop costs about a microsecond: helpers are started once, spin for some tens
// of microseconds after the last loop, and then sleep. A call allocates nothing;
// a caller that creates its loop bodies once and keeps them allocates nothing
// either.
package par

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Threads returns the largest number of goroutines that [For] uses.
func Threads() int { return runtime.GOMAXPROCS(0) }

// Limit is the largest number of goroutines for the loops of one caller, so that
// several callers can share the cores; 0 or less means [Threads].
type Limit int

// Workers returns the largest number of goroutines that loops use.
func (l Limit) Workers() int {
	if l > 0 {
		return min(int(l), Threads())
	}
	return Threads()
}

// For calls body(i) once for each i in 0 … n−1, in any order, on up to
// [Threads] goroutines, and returns when all calls have returned. A panic in
// body is passed on to the caller. A loop started inside another one, or while
// another goroutine's loop is running, runs only on the calling goroutine.
func For(n int, body func(i int)) { Limit(0).For(n, body) }

// Chunks calls body once for each chunk lo … hi−1 of 0 … n−1, all but the last of the given size, as
// [For] does.
func Chunks(n, size int, body func(lo, hi int)) { Limit(0).Chunks(n, size, body) }

// ForWorker is [For] for bodies that need separate working memory: worker
// is less than [Threads], and calls that run at the same time have different
// ones. The results of body must not depend on it.
func ForWorker(n int, body func(worker, i int)) { Limit(0).ForWorker(n, body) }

// For is [For] on up to l goroutines.
func (l Limit) For(n int, body func(i int)) { l.run(n, body, nil) }

// Chunks is [Chunks] on up to l goroutines.
func (l Limit) Chunks(n, size int, body func(lo, hi int)) {
	l.For((n+size-1)/size, func(i int) { body(i*size, min((i+1)*size, n)) })
}

// ForWorker is [ForWorker] on up to l goroutines; worker is less than
// [Limit.Workers].
func (l Limit) ForWorker(n int, body func(worker, i int)) { l.run(n, nil, body) }

// run runs a loop whose body is one of the two functions.
func (l Limit) run(n int, body func(i int), worker func(worker, i int)) {
	helpers := 0
	if n > 1 {
		helpers = min(l.Workers(), n, maxHelpers+1) - 1
	}
	switch {
	case helpers > 0 && shared.mu.TryLock():
		shared.run(n, helpers, body, worker)
	case body != nil:
		for i := range n {
			body(i)
		}
	default:
		for i := range n {
			worker(0, i)
		}
	}
}

// Loops returns the number of loops so far that several goroutines could join: how often cores have met.
func Loops() uint64 { return shared.state.Load() >> loopShift }

// maxHelpers bounds the goroutines that help a caller.
const maxHelpers = 1<<16 - 1

// lookout is how long an idle helper spins for the next loop before it
// sleeps: longer than the serial stretches within a training step.
const lookout = 100 * time.Microsecond

// A pool is one loop at a time and the goroutines that help with it.
//
// The protocol is based on one word, state. The caller writes the loop's fields,
// then opens it; a helper joins by raising the number of active helpers in the
// same compare-and-swap that sees the loop open, and lowers it when no pieces
// are left. The caller works too, closes the loop, and waits for the active
// helpers: one that never woke up is not waited for.
//
// Each worker starts with its own share, the same in every loop of n pieces, and then
// takes pieces of the shares of others. So the layers of a network, which divide the
// same items in the same order, find their inputs in the cache of the core that wrote
// them: fetching them from another core can cost more than the work of a piece.
type pool struct {
	mu    sync.Mutex // held by the caller whose loop this is
	state atomic.Uint64

	body     func(i int)         // either this
	worker   func(worker, i int) // or this
	shares   []*share            // of the caller and the helpers
	workers  int                 // how many of the shares the loop is divided into
	panicked atomic.Pointer[any]

	helpers []*helper // only the holder of mu adds to it
}

var shared pool

// Layout of pool.state: the number of active helpers, how many may join
// (helpers are numbered; those below it may), whether the loop is open, and a
// count of loops, by which a helper knows one it has already finished.
const (
	activeMask = 1<<16 - 1
	allowShift = 16
	allowMask  = 1<<16 - 1 // after the shift
	openBit    = 1 << 32
	loopShift  = 33
)

// A helper is a goroutine that joins the loops of a pool.
type helper struct {
	pool   *pool
	number uint64 // from 0
	asleep atomic.Bool
	wake   chan struct{}
}

// A share is the pieces of a loop that one worker begins with.
type share struct {
	next atomic.Int64 // the first piece not yet taken
	end  int64
	_    [112]byte // no two shares lie in lines that a core fetches together
}

// run is For with the lock held and at least one helper.
func (p *pool) run(n, helpers int, body func(i int), worker func(worker, i int)) {
	for len(p.helpers) < helpers {
		h := &helper{pool: p, number: uint64(len(p.helpers)), wake: make(chan struct{}, 1)}
		p.helpers = append(p.helpers, h)
		go h.serve()
	}
	p.divide(n, helpers+1)
	p.body, p.worker = body, worker
	loop := p.state.Load()>>loopShift + 1
	p.state.Store(loop<<loopShift | openBit | uint64(helpers)<<allowShift)
	for _, h := range p.helpers[:helpers] {
		if h.asleep.Load() && h.asleep.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
	p.work(0)
	// Close the loop, then wait for those still in it.
	for s, turn := p.state.And(^uint64(openBit)), 0; s&activeMask != 0; s = p.state.Load() {
		relax(turn)
		turn++
	}
	p.body, p.worker = nil, nil
	failed := p.panicked.Swap(nil)
	p.mu.Unlock()
	if failed != nil {
		panic(*failed)
	}
}

// divide gives each of the workers a share of n pieces.
func (p *pool) divide(n, workers int) {
	for len(p.shares) < workers {
		p.shares = append(p.shares, &share{})
	}
	p.workers = workers
	for w, s := range p.shares[:workers] {
		s.end = int64((w + 1) * n / workers)
		s.next.Store(int64(w * n / workers))
	}
}

// work takes pieces until none are left, first those of its own share. The caller
// is worker 0, helper number h is worker h+1.
func (p *pool) work(me int) {
	defer func() {
		if r := recover(); r != nil {
			v := r // a copy, so that only a panic allocates
			p.panicked.CompareAndSwap(nil, &v)
			for _, s := range p.shares[:p.workers] {
				s.next.Store(s.end)
			}
		}
	}()
	for k := range p.workers {
		s := p.shares[(me+k)%p.workers]
		for s.next.Load() < s.end {
			i := s.next.Add(1) - 1
			if i >= s.end {
				break
			}
			if p.body != nil {
				p.body(int(i))
			} else {
				p.worker(me, int(i))
			}
		}
	}
}

// serve joins loops forever.
func (h *helper) serve() {
	p := h.pool
	var done uint64 // the loop this helper has finished
	since := time.Now()
	for turn := 0; ; turn++ {
		if s := p.state.Load(); h.wanted(s, done) {
			if !p.state.CompareAndSwap(s, s+1) {
				continue
			}
			done = s >> loopShift
			p.work(int(h.number) + 1)
			p.state.Add(^uint64(0))
			since, turn = time.Now(), 0
			continue
		}
		relax(turn)
		if turn%16 == 15 && time.Since(since) > lookout {
			h.sleep(done)
			since = time.Now()
		}
	}
}

// wanted reports whether state s is an open loop that h may join.
func (h *helper) wanted(s, done uint64) bool {
	return s&openBit != 0 && s>>loopShift != done && h.number < s>>allowShift&allowMask
}

// sleep blocks until a caller wakes h. The state is checked once more after
// asleep is set: a loop opened before that may not have seen it.
func (h *helper) sleep(done uint64) {
	h.asleep.Store(true)
	if h.wanted(h.pool.state.Load(), done) && h.asleep.CompareAndSwap(true, false) {
		return
	}
	<-h.wake
}

// relax waits briefly for another core. Occasionally it yields to other goroutines,
// which may be the ones that are waited for when there are more of them than
// processors; it does not yield more often, because a goroutine that yields may
// continue on another core.
func relax(turn int) {
	pause()
	if turn%64 == 63 {
		runtime.Gosched()
	}
}
