package par

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestForVisitsEachOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, th := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(th)
		for _, n := range []int{0, 1, 2, 3, 100, 1001} {
			counts := make([]atomic.Int32, n)
			For(n, func(i int) { counts[i].Add(1) })
			for i := range counts {
				if c := counts[i].Load(); c != 1 {
					t.Fatalf("threads %d, n %d: piece %d ran %d times", th, n, i, c)
				}
			}
		}
	}
}

// TestLimit: a caller's own limit holds, below that of the process.
func TestLimit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(4)
	for limit, want := range map[Limit]int{0: 4, -1: 4, 1: 1, 3: 3, 9: 4} {
		if got := limit.Workers(); got != want {
			t.Errorf("limit %d: %d workers, want %d", limit, got, want)
		}
		var now, most atomic.Int32
		seen := make([]atomic.Int32, 100)
		limit.ForWorker(len(seen), func(worker, i int) {
			if worker < 0 || worker >= want {
				t.Errorf("limit %d: worker %d, want less than %d", limit, worker, want)
			}
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(10 * time.Microsecond)
			seen[i].Add(1)
			now.Add(-1)
		})
		if int(most.Load()) > want {
			t.Errorf("limit %d: %d at once, want at most %d", limit, most.Load(), want)
		}
		limit.For(len(seen), func(i int) { seen[i].Add(1) })
		for i := range seen {
			if n := seen[i].Load(); n != 2 {
				t.Fatalf("limit %d: piece %d ran %d times in two loops", limit, i, n)
			}
		}
	}
}

func TestForPassesPanicOn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, th := range []int{1, 4} {
		runtime.GOMAXPROCS(th)
		func() {
			defer func() {
				if p := recover(); p != "here" {
					t.Errorf("threads %d: recovered %v", th, p)
				}
			}()
			For(50, func(i int) {
				if i == 20 {
					panic("here")
				}
			})
			t.Errorf("threads %d: For returned", th)
		}()
	}
}

func TestForNested(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(4)
	var sum atomic.Int64
	For(10, func(i int) {
		For(10, func(j int) { sum.Add(int64(10*i + j)) })
	})
	if s := sum.Load(); s != 4950 {
		t.Errorf("sum %d, want 4950", s)
	}
}

// TestForManyCallers runs loops from several goroutines at once, with pauses
// of all lengths in between, so that helpers are met awake and asleep.
func TestForManyCallers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(3)
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			out := make([]int, 64)
			for round := range 300 {
				For(len(out), func(i int) { out[i] = round * i })
				for i, x := range out {
					if x != round*i {
						t.Errorf("caller %d round %d: piece %d is %d", g, round, i, x)
						return
					}
				}
				time.Sleep(time.Duration(round%7) * 20 * time.Microsecond)
			}
		})
	}
	wg.Wait()
}

func TestForDoesNotAllocate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(2)
	var sum atomic.Int64
	body := func(i int) { sum.Add(1) }
	For(8, body)
	var before, after runtime.MemStats // testing.AllocsPerRun uses one core
	runtime.ReadMemStats(&before)
	for range 100 {
		For(8, body)
	}
	runtime.ReadMemStats(&after)
	if n := (after.Mallocs - before.Mallocs) / 100; n != 0 {
		t.Errorf("%v allocations per call", n)
	}
}

func BenchmarkFor(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, th := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", th), func(b *testing.B) {
			runtime.GOMAXPROCS(th)
			var sink [64]struct {
				x float64
				_ [56]byte
			}
			body := func(i int) {
				x := sink[i].x
				for range 1000 {
					x = x*0.5 + 1
				}
				sink[i].x = x
			}
			for b.Loop() {
				For(8, body)
			}
		})
	}
}

func TestForWorker(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, th := range []int{1, 3} {
		runtime.GOMAXPROCS(th)
		busy := make([]atomic.Bool, th)
		var done atomic.Int64
		ForWorker(500, func(w, i int) {
			if !busy[w].CompareAndSwap(false, true) {
				t.Errorf("worker %d is two at once", w)
			}
			done.Add(1)
			busy[w].Store(false)
		})
		if done.Load() != 500 {
			t.Errorf("%d pieces ran, want 500", done.Load())
		}
	}
}
