package train

import (
	"sync"
	"time"
)

// Event tells how a fit is going. Losses are joint negative log-likelihoods per
// vote, in nats, of the mixture; other methods have their own loss and their own
// criterion for the held-out items. An event without Epochs is about no network;
// its Note says what is done.
type Event struct {
	Run     string  // which network: "member 0", "fold 3", "refit"
	Index   int     // of the run, from 0
	Runs    int     // how many there are in this phase of the fit
	Epoch   int     // epochs finished
	Epochs  int     // at most
	Done    float64 // share of the epoch under way that is done; 0 right after an epoch
	Loss    float64 // on the training items: of the last epoch, or of the one under way so far
	HeldOut float64 // on the held-out items after the last epoch; NaN before, and without any
	Best    int     // epoch with the smallest held-out loss so far; 0 is the start
	Rate    float64 // learning rate
	Speed   float64 // training items per second, of this run
	// Left is an estimate of the time until all runs of this phase have ended. It
	// is an upper bound, AtMost, until one of them has: what early stopping
	// saves is not known before.
	Left   time.Duration
	AtMost bool
	Note   string // what else happened, such as a recovery from divergence
	End    bool   // the run is finished
}

// Snapshot is a network after an epoch. Its slices are the network's own: they
// are to be read only, and only until AfterEpoch returns.
type Snapshot struct {
	Run    string    // which network, as in [Event]
	Index  int       // of the run, from 0
	Epoch  int       // epochs finished
	Values []float32 // all parameters, as in [nn.Network]
	Held   []int     // items held out
}

// heartbeat is the longest time between two events of a run.
const heartbeat = time.Second

// inTurn passes on the events of runs that train at the same time, one after the other.
func inTurn(call func(Event)) func(Event) {
	if call == nil {
		return func(Event) {}
	}
	var mu sync.Mutex
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		call(e)
	}
}

// meter measures the speed of a run. It never touches what is computed.
type meter struct {
	start time.Time
	items int // since start
	beat  time.Time
}

// add counts items and reports whether it is time for an event.
func (m *meter) add(items int) bool {
	m.items += items
	if time.Since(m.beat) < heartbeat {
		return false
	}
	m.beat = time.Now()
	return true
}

func (m *meter) speed() float64 { return float64(m.items) / max(time.Since(m.start).Seconds(), 1e-9) }

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
	for i, r := range runs {
		r.place = i
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
