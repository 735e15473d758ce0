package monitor

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"credence/internal/par"
	"credence/internal/rng"
	"credence/mixture"
)

// Change is a way in which votes could come to differ from a model's distributions.
type Change struct {
	// Bias is added to the log odds of the last class, of the mean of each component.
	Bias float64
	// Concentration is a factor for the concentration of p; 0 means 1. At most one of both is set.
	Concentration float64
}

// Changes are the changes whose delays are reported.
var Changes = []Change{{Bias: .5}, {Bias: 1}, {Concentration: 4}, {Concentration: .25}}

// Delay is the number of votes that an alarm would take after a change.
type Delay struct {
	Change Change `json:"-"`
	Text   string `json:"text"`
	// Votes is the median over simulated streams; 0 means more than Most.
	Votes int `json:"votes"`
	Most  int `json:"most"`
}

// DelayOptions configures the simulation of [Delays]. The zero value selects the defaults.
type DelayOptions struct {
	Streams int // simulated streams; 0 means 40
	Votes   int // votes per item; 0 means 3
	Most    int // votes per stream; 0 means 3000
	Seed    uint64
}

// Delays simulates streams of votes from distributions of a model, with each of the [Changes] from the start, and
// returns how many votes an alarm takes. Classes are the model's.
func Delays(ctx context.Context, classes []string, dists []*mixture.Dirichlet, o Options, d DelayOptions) ([]Delay, error) {
	if len(dists) == 0 {
		return nil, errors.New("expected at least one distribution to simulate votes from")
	}
	d.Streams, d.Votes, d.Most = orDefault(d.Streams, 40), orDefault(d.Votes, 3), orDefault(d.Most, 3000)
	o.By, o.Inputs = "", nil
	var list []Delay
	for _, c := range Changes {
		took, errs := make([]int, d.Streams), make([]error, d.Streams)
		par.For(d.Streams, func(s int) {
			s0 := stream{classes: classes, dists: dists, options: o, each: d.Votes, most: d.Most, change: c}
			took[s], errs[s] = s0.run(ctx, rand.New(rng.New(d.Seed, "monitor delays", uint64(s))))
		})
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		slices.Sort(took)
		median := took[d.Streams/2]
		if median > d.Most {
			median = 0
		}
		list = append(list, Delay{c, c.words(classes), median, d.Most})
	}
	return list, nil
}

func orDefault(n, value int) int {
	if n > 0 {
		return n
	}
	return value
}

// words describes the change.
func (c Change) words(classes []string) string {
	switch {
	case c.Concentration > 1:
		return "votes on the same item agree less: concentration × " + strconv.FormatFloat(c.Concentration, 'g', -1, 64)
	case c.Concentration > 0:
		return "votes on the same item agree more: concentration ÷ " + strconv.FormatFloat(1/c.Concentration, 'g', -1, 64)
	}
	return "votes run towards " + classes[len(classes)-1] + " by " + strconv.FormatFloat(c.Bias, 'g', -1, 64) + " on the logit"
}

// stream simulates votes on items drawn from a list of distributions.
type stream struct {
	classes    []string
	dists      []*mixture.Dirichlet
	options    Options
	each, most int // votes per item, and in all after the change
	quiet      int // items before the change
	change     Change
}

// run returns the number of votes after the change at which an alarm is raised, most+1 if none is.
func (s *stream) run(ctx context.Context, r *rand.Rand) (int, error) {
	w, err := newMonitor(s.classes, s.options)
	if err != nil {
		return 0, err
	}
	before := 0
	for i := 0; w.Votes() < before+s.most; i++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		dist, change := s.dists[r.IntN(len(s.dists))], s.change
		if i < s.quiet {
			change, before = Change{}, before+s.each
		}
		p, err := change.draw(dist, r)
		if err != nil {
			return 0, err
		}
		id := strconv.Itoa(i)
		if err := w.AddItem(id, Item{Dist: dist}); err != nil {
			return 0, err
		}
		for range s.each {
			if err := w.Add(Vote{Item: id, Class: pick(p, r)}); err != nil {
				return 0, err
			}
			if w.alarmed(kindVotes) {
				return w.Votes() - before, nil
			}
		}
		w.forget(id)
	}
	return s.most + 1, nil
}

// forget frees the distributions of an item that gets no further votes.
func (w *Monitor) forget(id string) {
	w.items[id].updaters, w.cached = nil, w.cached[:0]
}

// draw returns class probabilities of an item after the change.
func (c Change) draw(dist *mixture.Dirichlet, r *rand.Rand) ([]float64, error) {
	b := bet{factor: c.Concentration}
	if c.Bias != 0 {
		b = bet{class: dist.Classes() - 1, tilt: c.Bias}
	}
	dist, err := b.apply(dist)
	if err != nil {
		return nil, err
	}
	return dist.Sample(nil, r), nil
}

// pick draws a class.
func pick(p []float64, r *rand.Rand) int {
	u := r.Float64()
	for i, x := range p {
		if u -= x; u < 0 {
			return i
		}
	}
	return len(p) - 1 // rounding
}

// Dists returns distributions of at most n items, evenly chosen in the order of their ids.
func (w *Monitor) Dists(n int) []*mixture.Dirichlet {
	ids := slices.Sorted(maps.Keys(w.items))
	step := max(1, len(ids)/n)
	var list []*mixture.Dirichlet
	for i := 0; i < len(ids) && len(list) < n; i += step {
		list = append(list, w.items[ids[i]].Dist)
	}
	return list
}
