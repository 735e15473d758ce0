package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"credence/internal/atomicfile"
	"credence/internal/votelog"
	"credence/model"
	"credence/monitor"
)

// Health configures the monitoring of a model by the votes that are posted on the items.
type Health struct {
	// Off disables it. It also requires items and a vote file.
	Off bool
	// Options are those of the monitor. Its By must be a column that items can be filtered by.
	Options monitor.Options
	// AlarmURL, if set, is sent alarms as JSON by POST; with AlarmKey, requests are signed.
	AlarmURL string
	AlarmKey []byte
}

// health monitors the model of the queue in the background. Its number is a function of the vote file: it replays
// the lines that were written while the model was in use, which the state file records, so that no vote counts twice or
// is lost, however the server ends.
type health struct {
	server  *Server
	options Health
	path    string // of the state file
	wake    chan struct{}
	ctx     context.Context
	stop    context.CancelFunc
	idle    sync.WaitGroup

	mu      sync.Mutex
	state   healthState
	unsaved bool         // state differs from the file
	of      *rankedItems // the items that monitor has predictions of
	monitor *monitor.Monitor
	plain   *model.Model
	trained map[string]bool    // items whose votes are left out
	left    map[itemRater]bool // votes that are left out
	seen    int                // lines of the vote file that monitor includes
	failed  error
	delays  []monitor.Delay
	asked   bool // delays are being simulated
}

// newHealth starts to monitor.
func newHealth(s *Server, o Health) (*health, error) {
	ctx, stop := context.WithCancel(context.Background())
	h := &health{server: s, options: o, path: s.options.Votes + ".monitor.json", wake: make(chan struct{}, 1), ctx: ctx, stop: stop}
	if err := h.load(); err != nil {
		stop()
		return nil, err
	}
	h.idle.Go(h.loop)
	if o.AlarmURL != "" {
		h.idle.Go(h.deliver)
	}
	return h, nil
}

// load reads the state file, if there is one.
func (h *health) load() error {
	f, err := os.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		h.state.Models = map[string]*modelState{}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if h.state, err = readHealthState(f, len(h.server.votes.Votes(0))); err != nil {
		return fmt.Errorf("reading %s: %w: restore it and the vote file together, or remove it to start anew", h.path, err)
	}
	return nil
}

// save writes the state file, whole or not at all, if the state has changed since it was written.
func (h *health) save() error {
	if !h.unsaved {
		return nil
	}
	err := atomicfile.Write(h.path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(&h.state)
	})
	h.unsaved = err != nil
	return err
}

// close stops monitoring. Votes that it has not read yet are read after the next start.
func (h *health) close() {
	h.stop()
	h.idle.Wait()
}

// voted signals that there are new votes. It does not wait for them to be counted.
func (h *health) voted() {
	if h == nil {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default: // it has been signaled already
	}
}

// checkHealthEvery is the interval between checks for votes and models without a signal.
const checkHealthEvery = time.Second

// loop counts votes as they arrive.
func (h *health) loop() {
	tick := time.NewTicker(checkHealthEvery)
	defer tick.Stop()
	for {
		if err := h.catchUp(); err != nil && h.ctx.Err() == nil {
			h.mu.Lock()
			if h.failed == nil || h.failed.Error() != err.Error() {
				h.server.options.Log.Error("monitoring failed", "error", err)
			}
			h.failed = err
			h.mu.Unlock()
		}
		select {
		case <-h.ctx.Done():
			return
		case <-h.wake:
		case <-tick.C:
		}
	}
}

// catchUp counts the votes that were written since the last call.
func (h *health) catchUp() error {
	p, release, err := h.server.queue.get()
	if err != nil {
		return nil // items are not ready
	}
	release() // what is read below does not change, and votes must not wait for it
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of != p {
		if err := h.begin(p); err != nil {
			h.of, h.monitor = nil, nil
			return err
		}
	}
	for _, v := range h.server.votes.Votes(h.seen) {
		if h.ctx.Err() != nil {
			return nil
		}
		if err := h.count(v); err != nil {
			return err
		}
		h.seen++
	}
	h.failed = nil
	return h.save()
}

// begin starts or continues to monitor the model of p: it replays the lines recorded for the model.
func (h *health) begin(p *rankedItems) error {
	o := h.options.Options
	if o.By != "" {
		f := p.facet(o.By)
		if f == nil {
			return fmt.Errorf("monitoring by %s: expected a column to filter items by, found none of this name", o.By)
		}
		o.Groups = f.Levels
	}
	if n, unlike, err := p.of.folder.HeldOutUnlike(h.ctx); err == nil && n > 0 {
		rates := monitor.NewInputRates(n, unlike.Far, unlike.Unknown)
		o.Inputs = &rates
	}
	w, err := monitor.New(p.of.model, o)
	if err != nil {
		return err
	}
	lines := h.server.votes.Votes(0)
	h.unsaved = h.state.use(p.of.hash, p.line) || h.unsaved
	if err := h.save(); err != nil {
		return err
	}
	mine := h.state.Models[p.of.hash]
	h.trained, err = p.of.folder.TrainedItems(h.ctx, h.server.options.Votes)
	if err != nil {
		h.server.options.Log.Warn("monitoring cannot check which items the model was trained on", "error", err)
		h.trained = map[string]bool{}
	}
	for _, v := range lines[:mine.Lines[0][0]] {
		if !isSkip(v) {
			h.trained[v.Item] = true // voted on before the model was in use: it may have been trained on that vote
		}
	}
	h.of, h.monitor, h.plain, h.left, h.delays, h.asked = p, w, monitor.Plain(p.of.model), map[itemRater]bool{}, nil, false
	for _, a := range mine.Alarms {
		w.Record(a.Alarm)
	}
	for _, r := range mine.Lines {
		if h.seen = r[0]; r[1] < 0 {
			break
		}
		for _, v := range lines[r[0]:r[1]] {
			if err := h.count(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// count adds one line of the vote file.
func (h *health) count(v votelog.Vote) error {
	p := h.of
	i, ok := p.at[v.Item]
	switch {
	case !ok || p.prior[i] == nil || isSkip(v):
		return nil
	case h.trained[v.Item]:
		if by := (itemRater{v.Item, v.Rater}); v.Label != "" {
			h.left[by] = true
		} else {
			delete(h.left, by)
		}
		return nil
	case v.Label == "": // withdrawn, or undecided
		return h.monitor.Withdraw(v.Item, v.Rater)
	}
	class := slices.Index(p.of.model.Classes, v.Label)
	if class < 0 {
		return nil
	}
	if !h.monitor.HasItem(v.Item) {
		if err := h.addItem(i); err != nil {
			return err
		}
	}
	if err := h.monitor.Add(monitor.Vote{Item: v.Item, Rater: v.Rater, Class: class}); err != nil {
		return err
	}
	h.record()
	return nil
}

// addItem predicts item i for the monitor.
func (h *health) addItem(i int) error {
	p := h.of
	ds, err := p.rows.dataset(i, p.ids[i])
	if err != nil {
		return err
	}
	decoded, err := h.plain.Predict(h.ctx, ds, model.PredictOptions{})
	if err != nil {
		return err
	}
	item := monitor.Item{Dist: decoded[0].Dist}
	if f := p.facet(h.options.Options.By); f != nil && f.Codes[i] >= 0 {
		item.Group = f.Levels[f.Codes[i]]
	}
	if earlier := p.ballots.earlier[i]; earlier != nil {
		item.Earlier = earlier.votes(p.ids[i])
	}
	if item.Unlike, err = monitor.UnlikeOf(p.of.model, ds); err != nil {
		return err
	}
	return h.monitor.AddItem(p.ids[i], item)
}

// votes returns the earlier votes on an item one by one.
func (e *earlierVotes) votes(id string) (list []monitor.Vote) {
	left := slices.Clone(e.counts)
	for _, m := range e.named {
		left[m.class]--
		list = append(list, monitor.Vote{Item: id, Rater: m.rater, Class: m.class})
	}
	for c, n := range left {
		for range int(n) {
			list = append(list, monitor.Vote{Item: id, Class: c})
		}
	}
	return list
}

// leftOut counts the votes that are left out.
func (h *health) leftOut() monitor.LeftOut {
	items := map[string]bool{}
	for by := range h.left {
		items[by.item] = true
	}
	return monitor.LeftOut{TrainedItems: len(items), TrainedVotes: len(h.left)}
}

// record notes new alarms. catchUp saves them after it has counted all votes, which goes on if saving fails, as on a full disk.
func (h *health) record() {
	mine := h.state.Models[h.of.of.hash]
	alarms := h.monitor.Alarms()
	for _, a := range alarms[len(mine.Alarms):] {
		mine.Alarms, h.unsaved = append(mine.Alarms, savedAlarm{Alarm: a}), true
		h.server.options.Log.Warn("alarm", "model", h.of.of.name, "kind", a.Kind, "votes", a.Votes, "evidence", a.Evidence, "text", a.Text)
	}
}

// facet returns the facet of a column, or nil.
func (p *rankedItems) facet(name string) *facet {
	at := slices.IndexFunc(p.facets, func(f facet) bool { return f.Name == name })
	if at < 0 {
		return nil
	}
	return &p.facets[at]
}
