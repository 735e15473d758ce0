// Package par runs loops on several cores with results that do not depend on
// how many there are: the pieces of a loop are fixed by the caller, and each
// piece writes its own part of the output.
package par

import (
	"runtime"
	"sync"
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

// For calls body(i) once for each i in 0 … n−1, in any order, on up to
// [Threads] goroutines, and returns when all calls have returned. A panic in
// body is passed on to the caller.
func For(n int, body func(i int)) {
	workers := min(Threads(), n)
	if workers <= 1 {
		for i := range n {
			body(i)
		}
		return
	}
	var (
		next     atomic.Int64
		wg       sync.WaitGroup
		once     sync.Once
		panicked any
	)
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				once.Do(func() { panicked = p })
				next.Store(int64(n))
			}
		}()
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			body(i)
		}
	}
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if panicked != nil {
		panic(panicked)
	}
}
