package train

import (
	"runtime"
	"testing"
	"time"
)

func TestStepDoesNotAllocate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, threads := range []int{1, 2} {
		runtime.GOMAXPROCS(threads)
		for _, name := range []string{"mlp", "lenet5", "cnn2d"} {
			w := workload(t, name)
			// A worker allocates its working memory when it first gets a piece of a
			// layer, which on a busy machine may take a few steps.
			n := 1
			for range 20 {
				if n = w.Time(5 * time.Nanosecond).AllocsPerStep; n == 0 {
					break
				}
			}
			if n != 0 {
				t.Errorf("%s on %d threads: %v allocations a step", name, threads, n)
			}
		}
	}
}
