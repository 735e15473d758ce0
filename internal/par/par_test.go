package par

import (
	"sync/atomic"
	"testing"
)

func TestForVisitsEachOnce(t *testing.T) {
	defer SetThreads(0)
	for _, th := range []int{1, 2, 7} {
		SetThreads(th)
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

func TestForPassesPanicOn(t *testing.T) {
	defer SetThreads(0)
	for _, th := range []int{1, 4} {
		SetThreads(th)
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
