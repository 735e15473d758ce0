// Package par runs loops on several cores with results that do not depend on
// the number of cores: the pieces of a loop are fixed by the caller, and each
// piece writes its own range of the output.
//
// A loop costs about a microsecond: helpers are started once, spin for some tens
// of microseconds after the last loop, and then sleep. A call allocates nothing;
// a caller that creates its loop bodies once and keeps them allocates nothing
// either.
package par

import "runtime"

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

// Chunks is [Chunks] on up to l goroutines.
func (l Limit) Chunks(n, size int, body func(lo, hi int)) {
	l.For((n+size-1)/size, func(i int) { body(i*size, min((i+1)*size, n)) })
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
