package budget

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestShare(t *testing.T) {
	for _, c := range []struct {
		live, bound uint64
		want        int
	}{{0, 100, 1000}, {1, 100, 1000}, {8, 100, 400}, {31, 100, 103}, {32, 100, 100}, {100, 100, 100}, {200, 100, 50}, {800, 100, 12}, {1 << 20, 100, 10}} {
		if got := share(c.live<<20, c.bound<<20); got != c.want {
			t.Errorf("%d MB live, %d allowed: %d%%, want %d%%", c.live, c.bound, got, c.want)
		}
	}
}

// The GC percentage follows the live heap, up and down.
func TestBoundGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	const bound = 64 << 20
	old := debug.SetGCPercent(100)
	defer debug.SetGCPercent(old)
	BoundGarbage(bound)
	percent := func(ok func(int) bool) int {
		for range 200 {
			runtime.GC()
			time.Sleep(5 * time.Millisecond) // until the cleanup has run
			now := debug.SetGCPercent(100)
			debug.SetGCPercent(now)
			if ok(now) {
				return now
			}
		}
		t.Fatal("the share does not follow")
		return 0
	}
	x := make([]byte, 4*bound)
	if got := percent(func(p int) bool { return p < 50 }); got < 10 {
		t.Errorf("%d%%", got)
	}
	runtime.KeepAlive(x)
	x = nil
	percent(func(p int) bool { return p > 100 })
}
