package train

import (
	"sync"
	"time"
)

// outlook estimates when all runs of a phase will have ended. It never touches
// what is computed.
type outlook struct {
	mu   sync.Mutex
	runs []prospect
}

// prospect is what is known of the end of one run.
type prospect struct {
	items  int     // of an epoch
	epochs int     // at most
	least  int     // epochs before which it will not stop
	done   float64 // epochs
	speed  float64 // items per second; 0 if it has not begun
	ended  bool
}

func newOutlook(runs []*run) *outlook {
	o := &outlook{}
	for _, r := range runs {
		o.runs = append(o.runs, prospect{items: len(r.train), epochs: r.epochs})
	}
	return o
}

// update puts down how run i is going and returns the time until all runs have
// ended. Before any has, that is until all epochs are used up, and atMost is
// set; then each run is taken to need as many as those that have ended did on
// average, or what it needs for sure, if that is more.
//
// Runs take turns as those before them end, so that what is left of all is
// shared by the speeds of those that run; one that runs may outlast this.
func (o *outlook) update(i int, now prospect) (left time.Duration, atMost bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now.items, now.epochs = o.runs[i].items, o.runs[i].epochs
	o.runs[i] = now
	usual, ended := 0.0, 0
	for _, r := range o.runs {
		if r.ended {
			usual += r.done
			ended++
		}
	}
	items, speed, longest := 0.0, 0.0, 0.0
	for _, r := range o.runs {
		if r.ended {
			continue
		}
		end := float64(r.epochs)
		if ended > 0 {
			end = min(end, max(usual/float64(ended), float64(r.least)))
		}
		own := max(0, end-r.done) * float64(r.items)
		items += own
		speed += r.speed
		if r.speed > 0 {
			longest = max(longest, own/r.speed)
		}
	}
	if speed == 0 {
		return 0, true
	}
	return time.Duration(max(longest, items/speed) * float64(time.Second)), ended == 0
}
