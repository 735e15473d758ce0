package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"credence/mixture"
)

// mixtureState is a mixture with all that is shown of it.
type mixtureState struct {
	when  string // "before" or "after" the votes
	m     *mixture.Dirichlet
	class []*mixture.Beta
	top   []float64
}

func newMixtureState(when string, m *mixture.Dirichlet) *mixtureState {
	s := &mixtureState{when: when, m: m, top: m.TopClass(nil)}
	for i := range m.Classes() {
		s.class = append(s.class, m.Marginal(i))
	}
	return s
}

// mixtureReport is the table and the sketch of credence mixture. It has one
// state, or two with votes: before and after them.
type mixtureReport struct {
	options *mixtureOptions
	classes []string
	width   int
	states  []*mixtureState
}

func (r *mixtureReport) print(w *bytes.Buffer) {
	for i, section := range []func(*bytes.Buffer){
		r.components, r.moments, r.intervals, r.quantiles, r.entropies, r.sketch,
	} {
		from := w.Len()
		section(w)
		if i > 0 && w.Len() > from {
			body := bytes.Clone(w.Bytes()[from:])
			w.Truncate(from)
			w.WriteByte('\n')
			w.Write(body)
		}
	}
}

// newTable starts a table whose first columns name the class, if byClass, and
// whether a row is before or after the votes, if there are votes.
func (r *mixtureReport) newTable(byClass bool, header ...string) *table {
	var lead []string
	if byClass {
		lead = append(lead, "class")
	}
	if len(r.states) > 1 {
		lead = append(lead, "votes")
	}
	t := &table{left: map[int]bool{}}
	for i := range lead {
		t.left[i] = true
	}
	t.add(append(lead, header...)...)
	return t
}

// eachRow calls f for every class and state with the cells that lead the row.
// A class is named on its first row only.
func (r *mixtureReport) eachRow(f func(lead []string, i int, s *mixtureState)) {
	for i, name := range r.classes {
		for _, s := range r.states {
			lead := []string{name}
			if len(r.states) > 1 {
				lead = append(lead, s.when)
			}
			f(lead, i, s)
			name = ""
		}
	}
}

// components lists weights and parameters, so that a slip of the keyboard shows.
func (r *mixtureReport) components(w *bytes.Buffer) {
	o := r.options
	fmt.Fprintf(w, "Mixture of %s, %d classes\n", plural(len(o.alpha), "component"), len(r.classes))
	header, room := []string{"component", "weight"}, r.width-len("component  >0.9999  ")
	if o.votes.changed {
		header, room = append(header, "after votes"), room-len("after votes  ")
	}
	t := &table{left: map[int]bool{len(header): true}}
	t.add(append(header, "alpha")...)
	for k, alpha := range o.alpha {
		weight := o.weights.values[k]
		cells := []string{strconv.Itoa(k), formatShare(weight)}
		if o.votes.changed {
			cells = append(cells, formatShare(weight*r.likelihood(alpha)))
		}
		t.add(append(cells, ellipsis(joinNumbers(alpha, ", "), room))...)
	}
	t.print(w)
}

// likelihood returns how many times more probable the votes are under one
// component than under the mixture, which is how its weight changes. Update
// drops components that have become impossible, so that those it returns cannot
// be told by their place.
func (r *mixtureReport) likelihood(alpha []float64) float64 {
	alone, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
	if err != nil {
		return math.NaN()
	}
	votes := r.options.votes.values // the mixture has accepted them
	l, _ := alone.LogVotes(votes)
	all, _ := r.states[0].m.LogVotes(votes)
	return math.Exp(l - all)
}

func (r *mixtureReport) moments(w *bytes.Buffer) {
	p := r.precision()
	t := r.newTable(true, "mean", "sd", "median", "P(top)")
	r.eachRow(func(lead []string, i int, s *mixtureState) {
		mean, variance := s.class[i].Moments()
		t.add(append(lead, p.probability(mean, 1-mean), p.number(math.Sqrt(variance)),
			p.probability(s.class[i].QuantileBoth(0.5)), formatShare(s.top[i]))...)
	})
	t.print(w)
}

func (r *mixtureReport) intervals(w *bytes.Buffer) {
	p := r.precision()
	t := r.newTable(true, "level", "two-sided", "upper", "lower", "highest density")
	n := len(t.rows[0])
	t.left[n-4], t.left[n-1] = true, true
	r.eachRow(func(lead []string, i int, s *mixtureState) {
		for _, level := range r.options.levels.values {
			f, tail := s.class[i], 1-level
			x0, y0 := f.QuantileBoth(tail / 2)
			x1, y1 := f.ComplementaryQuantile(tail / 2)
			cells := append(lead, percent(level), p.interval(x0, y0, x1, y1),
				"≤ "+p.probability(f.ComplementaryQuantile(tail)),
				"≥ "+p.probability(f.QuantileBoth(tail)))
			for _, piece := range p.set(f, level) {
				t.add(append(cells, piece)...)
				cells = make([]string, n-1)
			}
			lead = make([]string, len(lead))
		}
	})
	t.print(w)
}

func (r *mixtureReport) quantiles(w *bytes.Buffer) {
	if !r.options.quantiles.changed {
		return
	}
	p := r.precision()
	t := r.newTable(true, "quantile", "x", "1-x")
	r.eachRow(func(lead []string, i int, s *mixtureState) {
		for _, q := range r.options.quantiles.values {
			x, y := s.class[i].QuantileBoth(q)
			t.add(append(lead, strconv.FormatFloat(q, 'g', -1, 64), p.probability(x, y), p.probability(y, x))...)
			lead = make([]string, len(lead))
		}
	})
	t.print(w)
}

// entropies shows how the uncertainty about the next label splits.
func (r *mixtureReport) entropies(w *bytes.Buffer) {
	w.WriteString("Entropy of the next label, in nats\n")
	t := r.newTable(false, "total", "raters disagree", "p is unknown")
	p := precision{decimals: 4, digits: 2}
	for _, s := range r.states {
		var lead []string
		if len(r.states) > 1 {
			lead = []string{s.when}
		}
		e := s.m.Entropy()
		t.add(append(lead, p.number(e.Predictive), p.number(e.Expected), p.number(e.Information))...)
	}
	t.print(w)
}

func (r *mixtureReport) sketch(w *bytes.Buffer) {
	if len(r.classes) > 2 {
		r.sparklines(w)
		return
	}
	for i, s := range r.states {
		if i > 0 {
			w.WriteByte('\n')
		}
		title := "Density of the probability of class " + r.classes[0]
		if len(r.states) > 1 {
			title += ", " + s.when + " the votes"
		}
		w.WriteString(title + "\n")
		drawDensity(w, s.class[0], r.options.levels.values, r.width)
	}
}

func (r *mixtureReport) sparklines(w *bytes.Buffer) {
	w.WriteString("Density of each class's probability, each to its own height\n")
	var labels []string
	var densities []*mixture.Beta
	names := &table{left: map[int]bool{0: true, 1: true}}
	r.eachRow(func(lead []string, i int, s *mixtureState) {
		names.add(lead...)
		densities = append(densities, s.class[i])
	})
	var text bytes.Buffer
	names.print(&text)
	for line := range strings.Lines(text.String()) {
		labels = append(labels, ellipsis(strings.TrimRight(line, "\n"), r.width/3))
	}
	drawSparklines(w, labels, densities, r.width)
}
