// Package monitor watches a model after deployment: votes that arrive later on new items are evidence for or against
// its distributions.
//
// A [Monitor] multiplies likelihood ratios: how probable a vote was under each of a few alternatives (bets), compared with
// the model's own distribution, given the earlier votes on the item. Under a correct model the result is a martingale,
// and the probability that it ever exceeds 20 is at most 1/20, however often one looks and however items
// are chosen (Ville's inequality). Evidence is kept for all votes together and for groups of items, for each rater, and for
// inputs that are unlike those of training.
//
// It assumes that whether and when a vote arrives, is left out or is withdrawn does not depend on its value. Votes on
// items that the model was trained on must not be added.
package monitor

import (
	"errors"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/mixture"
	"credence/model"
)

// Options configures a [Monitor]. The zero value selects the defaults, without a tolerance.
type Options struct {
	// Tolerate is the bias, on the logit, up to which a model counts as correct; see [DefaultTolerance].
	Tolerate float64
	// Note and Alarm are the evidence from which a note and an alarm are raised; 0 means 5 and 20.
	Note, Alarm float64
	// By names the column of the groups of items; "" if items have none.
	By string
	// Groups are groups known before the first vote; others may follow.
	Groups []string
	// Inputs bounds the rates of unlike items; nil means that inputs are not watched.
	Inputs *InputRates
}

// DefaultTolerance is the tolerated bias of the command line and of the server: with less, models without
// any change in their votes raised alarms in the end.
const DefaultTolerance = 0.1

const (
	blockItems = 50 // distinct items per block
	blockVotes = 25 // votes of a rater per block
)

// Vote is one vote on an item.
type Vote struct {
	Item  string
	Rater string // "" if unknown
	Class int
}

// Item is what the model predicts for an item.
type Item struct {
	Dist    *mixture.Dirichlet // at the scale of [Plain]
	Group   string             // "" if it has none
	Earlier []Vote             // votes that were cast before monitoring began
	Unlike  Unlike             // how the item differs from those of training
}

// Monitor is the evidence from the votes so far. It is not safe for concurrent use.
type Monitor struct {
	o       Options
	classes []string
	model   *head.RaterModel
	raterAt map[string]int // in the rater model
	judges  []string       // machines, whose votes are features
	bets    []bet
	byRater []bet

	items   map[string]*itemState
	cached  []*itemState // those with updaters
	votes   []entry
	pooled  *process
	groups  *family
	raters  *family
	inputs  *inputs
	history []Evidence // after each vote
	alarms  []Alarm
}

// itemState is an item with the votes on it.
type itemState struct {
	Item
	past     []Vote    // votes that count, in their order
	updaters []updater // of the model and of each bet, given all votes; nil if not cached
}

// entry is a vote that counts, with its likelihood ratios by bet.
type entry struct {
	Vote
	p                          []float64 // chances of the vote under the model
	q                          []float64 // [bets, d] under each bet
	strict, tolerant           []float64
	raterStrict, raterTolerant []float64
}

// ErrNoDistributions means that a model cannot be monitored.
var ErrNoDistributions = errors.New("expected a model that predicts distributions")

// New returns a monitor of a model without votes.
func New(m *model.Model, o Options) (*Monitor, error) {
	if !m.Traits().Joint {
		return nil, fmt.Errorf("%w, found method %s", ErrNoDistributions, m.Method.Name())
	}
	w, err := newMonitor(m.Classes, o)
	if err != nil {
		return nil, err
	}
	w.model, w.judges = m.RaterModel, dataset.JudgesOf(m.Transform.Schema())
	for i, name := range m.Raters {
		w.raterAt[name] = i
	}
	if w.model != nil {
		w.raters = newFamily(len(w.byRater), m.Raters)
	}
	return w, nil
}

func newMonitor(classes []string, o Options) (*Monitor, error) {
	if o.Note == 0 {
		o.Note = 5
	}
	if o.Alarm == 0 {
		o.Alarm = 20
	}
	switch {
	case !(o.Tolerate >= 0 && o.Tolerate <= 5):
		return nil, fmt.Errorf("tolerated bias: expected a number from 0 to 5, found %v", o.Tolerate)
	case !(o.Note > 1 && o.Note <= o.Alarm && o.Alarm <= 1e9):
		return nil, fmt.Errorf("evidence of a note and of an alarm: expected 1 < note ≤ alarm ≤ 1e9, found %v and %v", o.Note, o.Alarm)
	}
	w := &Monitor{o: o, classes: classes, raterAt: map[string]int{}, items: map[string]*itemState{},
		bets: itemBets(len(classes)), byRater: raterBets(len(classes))}
	w.pooled, w.groups = newProcess(len(w.bets)), newFamily(len(w.bets), o.Groups)
	w.raters = newFamily(len(w.byRater), nil)
	w.inputs = newInputs(o.Inputs)
	return w, nil
}

// AddItem adds an item. Votes on items that were not added are refused.
func (w *Monitor) AddItem(id string, item Item) error {
	switch {
	case item.Dist == nil:
		return fmt.Errorf("item %q: %w", id, ErrNoDistributions)
	case item.Dist.Classes() != len(w.classes):
		return fmt.Errorf("item %q: expected a distribution over %d classes, found %d", id, len(w.classes), item.Dist.Classes())
	case w.items[id] != nil:
		return fmt.Errorf("item %q was added already", id)
	}
	w.items[id] = &itemState{Item: item}
	if w.inputs != nil {
		w.inputs.add(item.Unlike)
		w.check(kindInputs, w.inputs.evidence(), w.inputs.words())
	}
	return nil
}

// HasItem reports whether an item was added.
func (w *Monitor) HasItem(id string) bool { return w.items[id] != nil }

// Votes returns the number of votes that count.
func (w *Monitor) Votes() int { return len(w.votes) }

// Add adds a vote. A second vote of a rater on an item replaces the first, as in the files of votes. Votes of the model's
// judges are left out.
func (w *Monitor) Add(v Vote) error {
	item := w.items[v.Item]
	switch {
	case item == nil:
		return fmt.Errorf("unknown item %q", v.Item)
	case v.Class < 0 || v.Class >= len(w.classes):
		return fmt.Errorf("item %q: expected a class from 0 to %d, found %d", v.Item, len(w.classes)-1, v.Class)
	case slices.Contains(w.judges, v.Rater):
		return nil
	}
	if at := w.find(item, v.Item, v.Rater); at >= 0 {
		if w.votes[at].Class == v.Class {
			return nil
		}
		if err := w.Withdraw(v.Item, v.Rater); err != nil {
			return err
		}
	}
	e := entry{Vote: v}
	if err := w.predict(&e, item); err != nil {
		return err
	}
	fresh := len(item.past) == 0
	item.past = append(item.past, v)
	w.votes = append(w.votes, e)
	w.apply(&e, fresh)
	w.checkVotes()
	return nil
}

// find returns the index of the vote of a named rater on an item, or −1.
func (w *Monitor) find(item *itemState, id, rater string) int {
	if rater == "" || !slices.ContainsFunc(item.past, func(v Vote) bool { return v.Rater == rater }) {
		return -1
	}
	return slices.IndexFunc(w.votes, func(e entry) bool { return e.Item == id && e.Rater == rater })
}

// Withdraw removes the vote of a rater on an item, if there is one: the evidence becomes that of the other votes.
// Alarms stay recorded.
func (w *Monitor) Withdraw(id, rater string) error {
	item := w.items[id]
	if item == nil {
		return nil
	}
	at := w.find(item, id, rater)
	if at < 0 {
		return nil
	}
	w.votes = slices.Delete(w.votes, at, at+1)
	item.past, item.updaters = item.past[:0], nil
	for i := range w.votes {
		if e := &w.votes[i]; e.Item == id {
			if err := w.predict(e, item); err != nil {
				return err
			}
			item.past = append(item.past, e.Vote)
		}
	}
	w.pooled, w.history = newProcess(len(w.bets)), w.history[:0]
	w.groups, w.raters = w.groups.clone(), w.raters.clone()
	seen := make(map[string]bool, len(w.items))
	for i := range w.votes {
		e := &w.votes[i]
		w.apply(e, !seen[e.Item])
		seen[e.Item] = true
	}
	return nil
}

// mostCached is the number of items whose distributions under all bets are kept between votes.
const mostCached = 500

// updatersOf returns the distribution of an item and those of all bets, given the votes so far.
func (w *Monitor) updatersOf(item *itemState) ([]updater, error) {
	if item.updaters != nil {
		return item.updaters, nil
	}
	if len(w.cached) == mostCached {
		for _, other := range w.cached {
			other.updaters = nil
		}
		w.cached = w.cached[:0]
	}
	w.cached = append(w.cached, item)
	for j := -1; j < len(w.bets); j++ {
		b := bet{}
		if j >= 0 {
			b = w.bets[j]
		}
		dist, err := b.apply(item.Dist)
		if err != nil {
			return nil, err
		}
		u := newUpdater(dist, w.model)
		for _, list := range [][]Vote{item.Earlier, item.past} {
			for _, v := range list {
				u.add(w.rater(v.Rater), v.Class)
			}
		}
		item.updaters = append(item.updaters, u)
	}
	return item.updaters, nil
}

// predict sets the likelihood ratios of a vote, given the earlier ones on its item, and conditions the item on it.
func (w *Monitor) predict(e *entry, item *itemState) error {
	rater := w.rater(e.Rater)
	updaters, err := w.updatersOf(item)
	if err != nil {
		return err
	}
	p, err := updaters[0].chances(nil, rater)
	if err != nil {
		return err
	}
	e.p, e.q = p, e.q[:0]
	var q []float64
	for j := range w.bets {
		if q, err = updaters[j+1].chances(q, rater); err != nil {
			return err
		}
		e.q = append(e.q, q...)
	}
	for _, u := range updaters {
		u.add(rater, e.Class)
	}
	w.compare(e)
	return nil
}

// compare sets the likelihood ratios of a vote.
func (w *Monitor) compare(e *entry) {
	d := len(e.p)
	e.strict, e.tolerant = make([]float64, len(w.bets)), make([]float64, len(w.bets))
	for j := range w.bets {
		e.strict[j], e.tolerant[j] = w.ratios(e.p, e.q[j*d:(j+1)*d], e.Class)
	}
	if e.Rater == "" {
		return
	}
	e.raterStrict, e.raterTolerant = make([]float64, len(w.byRater)), make([]float64, len(w.byRater))
	var q []float64
	for j, b := range w.byRater {
		q = b.chances(q, e.p)
		e.raterStrict[j], e.raterTolerant[j] = w.ratios(e.p, q, e.Class)
	}
}

// WithTolerance returns a monitor of the same votes with another tolerated bias.
func (w *Monitor) WithTolerance(tolerate float64) (*Monitor, error) {
	o := w.o
	o.Tolerate = tolerate
	x, err := newMonitor(w.classes, o)
	if err != nil {
		return nil, err
	}
	x.model, x.raterAt, x.judges, x.items, x.inputs, x.raters = w.model, w.raterAt, w.judges, w.items, w.inputs, w.raters.clone()
	seen := make(map[string]bool, len(w.items))
	for _, e := range w.votes {
		x.compare(&e)
		x.votes = append(x.votes, e)
		x.apply(&e, !seen[e.Item])
		x.checkVotes()
		seen[e.Item] = true
	}
	return x, nil
}

func (w *Monitor) ratios(p, q []float64, class int) (strict, tolerant float64) {
	return ratio(p, q, class, 0), ratio(p, q, class, w.o.Tolerate)
}

// rater returns the number of a rater in the rater model, −1 if unknown.
func (w *Monitor) rater(name string) int {
	if i, ok := w.raterAt[name]; ok {
		return i
	}
	return -1
}

// apply adds the likelihood ratios of a vote to the evidence; fresh reports whether it is the first on its item.
func (w *Monitor) apply(e *entry, fresh bool) {
	w.pooled.add(e.strict, e.tolerant, fresh, blockItems)
	if w.o.By != "" {
		w.groups.members[w.groups.member(w.items[e.Item].Group)].add(e.strict, e.tolerant, fresh, blockItems)
	}
	if e.Rater != "" {
		w.raters.members[w.raters.member(e.Rater)].add(e.raterStrict, e.raterTolerant, true, blockVotes)
	}
	w.history = append(w.history, w.evidence())
}

// evidence returns the evidence of all votes: half of the weight is that of groups, if there are any.
func (w *Monitor) evidence() Evidence {
	e := w.pooled.evidence()
	if w.o.By == "" {
		return e
	}
	g := w.groups.evidence()
	return Evidence{(e.Strict + g.Strict) / 2, (e.Tolerant + g.Tolerant) / 2}
}

// Evidence returns the evidence of all votes and groups together.
func (w *Monitor) Evidence() Evidence { return w.evidence() }
