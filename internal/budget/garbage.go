package budget

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// BoundGarbage bounds what the collector leaves lying about to so many bytes, or to a tenth of
// what is in use. By itself it lets garbage grow to as much as is in use, so that a program
// with features of 2 GB takes 4. Whoever sets GOGC or GOMEMLIMIT has said otherwise.
func BoundGarbage(bytes uint64) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	g := &garbage{bound: bytes, percent: 100, live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	g.watch()
}

// garbage sets the share of garbage anew after each collection.
type garbage struct {
	bound   uint64
	percent int // as it is set
	live    []metrics.Sample
}

// watch has settle called after the next collection, which finds that nobody needs the object.
func (g *garbage) watch() {
	runtime.AddCleanup(new(*garbage), (*garbage).settle, g)
}

func (g *garbage) settle() {
	g.watch()
	metrics.Read(g.live)
	percent := share(g.live[0].Value.Uint64(), g.bound)
	// Setting it stops the world.
	if d := percent - g.percent; d*d > 100 || percent == 100 && d != 0 {
		debug.SetGCPercent(percent)
		g.percent = percent
	}
}

// share returns how much garbage there may be beside live bytes, in percent of them.
func share(live, bound uint64) int {
	if live <= bound {
		return 100
	}
	return max(10, int(100*bound/live))
}
