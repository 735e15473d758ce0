// Package par runs loops on several cores with results that do not depend on
// how many there are: the pieces of a loop are fixed by the caller, and each
// piece writes its own part of the output.
//
// A loop costs about a microsecond: helpers are started once, look out for the
// next loop for some tens of microseconds after the last one, and then sleep.
// Nothing is allocated by a call; a caller that makes its loop bodies once and
// keeps them allocates nothing either.
package par

import (
	"runtime"
	"sync/atomic"
)

var threads atomic.Int64

// Threads returns how many goroutines [For] uses at most.
func Threads() int {
	if n := threads.Load(); n > 0 {
		return int(n)
	}
	return runtime.GOMAXPROCS(0)
}

// SetThreads sets what [Threads] returns; n ≤ 0 means all cores.
func SetThreads(n int) { threads.Store(int64(n)) }

// Limit is the largest number of goroutines for the loops of one caller, so that
// several callers can share the cores; 0 or less means [Threads].
type Limit int

// Workers returns how many goroutines loops use at most.
func (l Limit) Workers() int {
	if l > 0 {
		return min(int(l), Threads())
	}
	return Threads()
}

// For calls body(i) once for each i in 0 … n−1, in any order, on up to
// [Threads] goroutines, and returns when all calls have returned. A panic in
// body is passed on to the caller. A loop started inside another one, or while
// another goroutine's is under way, runs on its own goroutine alone.
func For(n int, body func(i int)) { Limit(0).For(n, body) }

// Chunks calls body once for each chunk lo … hi−1 of 0 … n−1, all but the last of the given size, as
// [For] does.
func Chunks(n, size int, body func(lo, hi int)) {
	For((n+size-1)/size, func(i int) { body(i*size, min((i+1)*size, n)) })
}

// ForWorker is [For] for bodies that need working memory of their own: worker
// is less than [Threads], and calls that run at the same time have different
// ones. What body computes must not depend on it.
func ForWorker(n int, body func(worker, i int)) { Limit(0).ForWorker(n, body) }

// For is [For] on up to l goroutines.
func (l Limit) For(n int, body func(i int)) {
	helpers := min(l.Workers(), n, maxHelpers+1) - 1
	if helpers <= 0 || !shared.mu.TryLock() {
		for i := range n {
			body(i)
		}
		return
	}
	shared.run(n, helpers, body, nil)
}

// ForWorker is [ForWorker] on up to l goroutines; worker is less than
// [Limit.Workers].
func (l Limit) ForWorker(n int, body func(worker, i int)) {
	helpers := min(l.Workers(), n, maxHelpers+1) - 1
	if helpers <= 0 || !shared.mu.TryLock() {
		for i := range n {
			body(0, i)
		}
		return
	}
	shared.run(n, helpers, nil, body)
}
