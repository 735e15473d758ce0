package train

import (
	"math"
	"sync"
	"time"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/words"
)

// The kinds of warnings in the provenance of a model. They never name raters, since they are shown on its page.
const (
	ClassWeighted evaluate.Kind = "class weights void the calibration of %s"
	SingleVotes   evaluate.Kind = "no item has more than one vote: the means can be used, the intervals mean nothing"
	FewPairs      evaluate.Kind = "too few held-out items have two votes: whether intervals are wide enough is not known"
	UnclearWidths evaluate.Kind = "these votes hardly determine how wide intervals should be " +
		"(the squared error is %.2f times the predicted variance, 95%% interval %.2f to %.2f): more items or more votes per item would help"
	Leak evaluate.Kind = "these features seem to contain the votes: votes are closer to the predictions for held-out items than independent votes can be " +
		"(%.2f times the predicted variance, 95%% interval %.2f to %.2f); %s"
	FewInGroups    evaluate.Kind = "too few votes to calibrate intervals by %s for %s: they have the scale of all items"
	Duplicates     evaluate.Kind = "%s with the same features as an earlier item, or nearly the same image: networks hold copies out together; group them in the data if they are one item"
	SmallVolumes   evaluate.Kind = "volumes of %s voxels are too small for cnn3d, which needs %d per side: every voxel is an input of an mlp with %s weights; resample volumes to a larger size if they have more voxels"
	DoubtfulRaters evaluate.Kind = "raters are modelled as asked, although %s"
	RatersLeft     evaluate.Kind = "%v" // *evaluate.LeftRaters
	DataGone       evaluate.Kind = "the data of the model that training started from are not at hand: networks may have seen what they hold out, so held-out scores and the calibration of intervals may flatter"
	FewHeldOut     evaluate.Kind = "too few items are left that networks of the model to start from have held out: they may have seen what they hold out now, so held-out scores and the calibration of intervals may flatter"
	NotCompared    evaluate.Kind = "the losses before and now are not compared: %v"
	Clamped        evaluate.Kind = "%.0f%% of the parameters log α reached the limit ±%s: the votes may be unanimous where the features differ"
	Diverged       evaluate.Kind = "training diverged %d times and went on with a smaller learning rate"
	StillImproving evaluate.Kind = "%d of %s were still improving after %s: more epochs may help"
	NoHelp         evaluate.Kind = "the features do not help: on held-out items one %s for all is as good"
	StoppedEarly   evaluate.Kind = "training was stopped before its end"
)

// The kinds of reasons why raters are modelled or not.
const (
	RatersAsked        evaluate.Kind = "they were asked for"
	RatersHelp         evaluate.Kind = "networks that know raters predict held-out votes better (%+.4f ± %.4f nats per vote)"
	RatersNoHelp       evaluate.Kind = "networks that know raters predict held-out votes no better (%+.4f ± %.4f nats per vote)"
	RatersWrongAverage evaluate.Kind = "networks that know raters predict held-out votes better (%+.4f ± %.4f nats per vote), but votes of raters who are not known worse (%+.4f ± %.4f), " +
		"as if raters differed in another way than bias and guess rate; if classes are the points of a scale, --ordered states it"
	RatersNoSign       evaluate.Kind = "biases and guess rates of raters, fitted to held-out votes of the networks, predict others no better (%+.4f ± %.4f nats per vote)"
	RatersUntried      evaluate.Kind = "training was stopped before networks with raters were fitted"
	RatersIgnored      evaluate.Kind = "method %s takes all votes alike"
	NoNames            evaluate.Kind = "votes carry no raters' names"
	OneRater           evaluate.Kind = "there is one rater only"
	FractionalVote     evaluate.Kind = "item %q has %v votes for class %q, %v of them by raters with a name: only whole votes can be distinguished"
	ManyVotes          evaluate.Kind = "item %q has %v votes, more than the %d that can be distinguished"
	UnnamedVotes       evaluate.Kind = "%s of %s carry no rater's name"
	FewVotes           evaluate.Kind = "raters voted %.1f times on average, fewer than %d"
	DisconnectedGroups evaluate.Kind = "raters fall into %s groups that share no item, " +
		"and less than half of the votes are by groups of two raters or more with %d votes each on average"
)

// message returns a message of a kind with the values of its format.
func message(kind evaluate.Kind, args ...any) evaluate.Message {
	return evaluate.Message{Kind: kind, Args: args}
}

// warn adds a warning.
func (f *fitting) warn(kind evaluate.Kind, args ...any) {
	f.warnings = append(f.warnings, message(kind, args...))
}

// ratable returns the reason why a likelihood with raters cannot be fitted to the data, or no message.
func ratable(ds *dataset.Dataset) evaluate.Message {
	switch {
	case len(ds.Raters) == 0 || len(ds.Ratings) == 0:
		return message(NoNames)
	case len(ds.Raters) == 1:
		return message(OneRater)
	}
	d := len(ds.Classes)
	named := make([]float32, len(ds.Counts))
	each := make([]int, ds.Len())
	for _, r := range ds.Ratings {
		named[int(r.Item)*d+int(r.Class)]++
		each[r.Item]++
	}
	for k, n := range named {
		if n > ds.Counts[k] || ds.Counts[k] != float32(math.Round(float64(ds.Counts[k]))) {
			return message(FractionalVote, ds.Items[k/d], ds.Counts[k], ds.Classes[k%d], n)
		}
	}
	for j := range each {
		if m := ds.VotesOf(j); m > mostRatings {
			return message(ManyVotes, ds.Items[j], m, mostRatings)
		}
	}
	return evaluate.Message{}
}

// doubtful returns the reason why raters are not modelled unless requested, or no message. It never names
// raters: the reason is stored in the model and shown on its page.
func doubtful(g *evaluate.RaterGraph) evaluate.Message {
	switch {
	case g.Unnamed > 0:
		return message(UnnamedVotes, words.Thousands(g.Unnamed), words.Plural(g.Votes+g.Unnamed, "vote"))
	case g.Raters < 2:
		return message(OneRater)
	case g.Modelled > 0:
		return evaluate.Message{}
	case g.MeanVotes < evaluate.EnoughVotes:
		return message(FewVotes, float64(g.MeanVotes), evaluate.EnoughVotes)
	}
	return message(DisconnectedGroups, words.Thousands(g.Components), evaluate.EnoughVotes)
}

// Event reports the progress of a fit. Losses are joint negative log-likelihoods per
// vote, in nats, of the mixture; other methods have their own loss and their own
// criterion for the held-out items. An event without Epochs does not concern a
// network; its Note describes what is being done.
type Event struct {
	Run     string  // which network: "member 0", "fold 3", "refit"
	Index   int     // of the run, from 0
	Runs    int     // number of runs in this phase of the fit
	Epoch   int     // epochs finished
	Epochs  int     // at most
	Done    float64 // completed share of the current epoch; 0 right after an epoch
	Loss    float64 // on the training items: of the last epoch, or of the current one so far
	HeldOut float64 // on the held-out items after the last epoch; NaN before, and without any
	Best    int     // epoch with the smallest held-out loss so far; 0 is the start
	Rate    float64 // learning rate
	Speed   float64 // training items per second, of this run
	// Left is an estimate of the time until all runs of this phase have ended. It
	// is an upper bound, AtMost, until one of them has: before that, it is unknown
	// how much early stopping saves.
	Left   time.Duration
	AtMost bool
	Note   string // what else happened, such as a recovery from divergence
	End    bool   // the run is finished
}

// Snapshot is a network after an epoch. Its slices share memory with the network: they
// must not be modified, and are valid only until AfterEpoch returns.
type Snapshot struct {
	Run    string    // which network, as in [Event]
	Index  int       // of the run, from 0
	Epoch  int       // epochs finished
	Values []float32 // all parameters, as in [nn.Network]
	Held   []int     // items held out
}

// heartbeat is the longest time between two events of a run.
const heartbeat = time.Second

// inTurn returns a function that passes on the events of concurrent runs, one call at a time.
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

// meter measures the speed of a run. It does not affect the result.
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

// outlook estimates when all runs of a phase will have ended. It does not affect
// the result.
type outlook struct {
	mu   sync.Mutex
	runs []prospect
}

// prospect is the progress of one run.
type prospect struct {
	items  int     // of an epoch
	epochs int     // at most
	least  int     // epochs before which it will not stop
	done   float64 // epochs
	speed  float64 // items per second; 0 if it has not started
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

// update records the progress of run i and returns the time until all runs have
// ended. Before any has, that is the time for all epochs, and atMost is set; then
// each run is assumed to need the average number of epochs of the runs that have
// ended, or the number that it certainly needs, if that is larger.
//
// Runs start as earlier ones end, so the remaining work of all is divided by the
// total speed of the active runs; a single active run may take longer than that.
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
