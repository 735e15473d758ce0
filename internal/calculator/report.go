package calculator

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"credence/internal/printout"
	"credence/internal/words"
	"credence/mixture"
)

// state is a mixture with the quantities derived from it.
type state struct {
	when  string // "before" or "after" the votes
	m     *mixture.Dirichlet
	class []*mixture.Beta
	top   []float64
}

func newState(when string, m *mixture.Dirichlet) *state {
	s := &state{when: when, m: m, top: m.TopClass(nil)}
	for i := range m.Classes() {
		s.class = append(s.class, m.Marginal(i))
	}
	return s
}

// Report prints a mixture, before and after votes, for people: tables and sketches
// of the densities.
type Report struct {
	Weights           []float64
	Alpha             [][]float64
	Votes             []float64 // nil: none
	Levels, Quantiles []float64
	Classes           []string // names
	Width             int      // of the text

	states []*state // before the votes and, if there are any, after them
}

// Print writes the report on the mixture before the votes and, if after is not
// nil, after them.
func (r *Report) Print(w *bytes.Buffer, before, after *mixture.Dirichlet) {
	r.states = []*state{newState("before", before)}
	if after != nil {
		r.states = append(r.states, newState("after", after))
	}
	var text bytes.Buffer
	for i, section := range []func(*bytes.Buffer){
		r.components, r.moments, r.intervals, r.quantiles, r.entropies, r.sketch,
	} {
		if section(&text); i > 0 && text.Len() > 0 {
			w.WriteByte('\n')
		}
		text.WriteTo(w)
	}
}

// newTable returns a table whose first columns are the class, if byClass, and
// "before" or "after", if there are votes.
func (r *Report) newTable(byClass bool, header ...string) *printout.Table {
	var lead []string
	if byClass {
		lead = append(lead, "class")
	}
	if len(r.states) > 1 {
		lead = append(lead, "votes")
	}
	t := printout.NewTable()
	for i := range lead {
		t.Left(i)
	}
	t.Add(append(lead, header...)...)
	return t
}

// lead returns the first cells of a row: those given and, if there are votes, "before" or "after".
func (r *Report) lead(s *state, cells ...string) []string {
	if len(r.states) > 1 {
		return append(cells, s.when)
	}
	return cells
}

// eachRow calls f for every class and state with the first cells of the row.
// A class is named only on its first row.
func (r *Report) eachRow(f func(lead []string, i int, s *state)) {
	for i, name := range r.Classes {
		for _, s := range r.states {
			f(r.lead(s, name), i, s)
			name = ""
		}
	}
}

// components prints the weights and parameters, so that typing errors are visible.
func (r *Report) components(w *bytes.Buffer) {
	fmt.Fprintf(w, "Mixture of %s, %d classes\n", words.Plural(len(r.Alpha), "component"), len(r.Classes))
	header, room := []string{"component", "weight"}, r.Width-len("component  >0.9999  ")
	if r.Votes != nil {
		header, room = append(header, "after votes"), room-len("after votes  ")
	}
	t := printout.NewTable(len(header))
	t.Add(append(header, "alpha")...)
	for k, alpha := range r.Alpha {
		weight := r.Weights[k]
		cells := []string{strconv.Itoa(k), printout.Share(weight)}
		if r.Votes != nil {
			cells = append(cells, printout.Share(weight*r.likelihood(alpha)))
		}
		t.Add(append(cells, printout.Ellipsis(JoinNumbers(alpha, ", "), room))...)
	}
	t.Print(w)
}

// likelihood returns the ratio of the likelihoods of the votes under one
// component and under the mixture, which is the factor on its weight. Update
// drops components that have become impossible, so that the components it returns
// cannot be matched by index.
func (r *Report) likelihood(alpha []float64) float64 {
	alone, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
	if err != nil {
		return math.NaN()
	}
	votes := r.Votes // the mixture has accepted them
	l, _ := alone.LogVotes(votes)
	all, _ := r.states[0].m.LogVotes(votes)
	return math.Exp(l - all)
}

// moments prints the mean, standard deviation and median of each class.
func (r *Report) moments(w *bytes.Buffer) {
	p := r.precision()
	t := r.newTable(true, "mean", "sd", "median", "P(top)")
	r.eachRow(func(lead []string, i int, s *state) {
		mean, variance := s.class[i].Moments()
		t.Add(append(lead, p.probability(mean, 1-mean), p.number(math.Sqrt(variance)),
			p.probability(s.class[i].QuantileBoth(0.5)), printout.Share(s.top[i]))...)
	})
	t.Print(w)
}

func (r *Report) intervals(w *bytes.Buffer) {
	p := r.precision()
	t := r.newTable(true, "level", "two-sided", "upper", "lower", "highest density")
	n := len(t.Rows[0])
	t.Left(n-4, n-1)
	r.eachRow(func(lead []string, i int, s *state) {
		for _, level := range r.Levels {
			f, tail := s.class[i], 1-level
			x0, y0 := f.QuantileBoth(tail / 2)
			x1, y1 := f.ComplementaryQuantile(tail / 2)
			cells := append(lead, printout.Percent(level), p.interval(x0, y0, x1, y1),
				"≤ "+p.probability(f.ComplementaryQuantile(tail)),
				"≥ "+p.probability(f.QuantileBoth(tail)))
			for _, piece := range p.set(f, level) {
				t.Add(append(cells, piece)...)
				cells = make([]string, n-1)
			}
			lead = make([]string, len(lead))
		}
	})
	t.Print(w)
}

func (r *Report) quantiles(w *bytes.Buffer) {
	if r.Quantiles == nil {
		return
	}
	p := r.precision()
	t := r.newTable(true, "quantile", "x", "1-x")
	r.eachRow(func(lead []string, i int, s *state) {
		for _, q := range r.Quantiles {
			x, y := s.class[i].QuantileBoth(q)
			t.Add(append(lead, strconv.FormatFloat(q, 'g', -1, 64), p.probability(x, y), p.probability(y, x))...)
			lead = make([]string, len(lead))
		}
	})
	t.Print(w)
}

// entropies prints the decomposition of the uncertainty about the next label.
func (r *Report) entropies(w *bytes.Buffer) {
	w.WriteString("Entropy of the next label, in nats\n")
	t := r.newTable(false, "total", "raters disagree", "p is unknown")
	p := precision{decimals: 4, digits: 2}
	for _, s := range r.states {
		e := s.m.Entropy()
		t.Add(append(r.lead(s), p.number(e.Predictive), p.number(e.Expected), p.number(e.Information))...)
	}
	t.Print(w)
}

func (r *Report) sketch(w *bytes.Buffer) {
	if len(r.Classes) > 2 {
		r.sparklines(w)
		return
	}
	for i, s := range r.states {
		if i > 0 {
			w.WriteByte('\n')
		}
		title := "Density of the probability of class " + r.Classes[0]
		if len(r.states) > 1 {
			title += ", " + s.when + " the votes"
		}
		w.WriteString(title + "\n")
		drawDensity(w, s.class[0], r.Levels, r.Width)
	}
}

// sparklines draws each density on its own line over a common axis.
func (r *Report) sparklines(w *bytes.Buffer) {
	w.WriteString("Density of each class's probability, each to its own height\n")
	var densities []*mixture.Beta
	names := printout.NewTable(0, 1)
	r.eachRow(func(lead []string, i int, s *state) {
		names.Add(lead...)
		densities = append(densities, s.class[i])
	})
	var text bytes.Buffer
	names.Print(&text)
	var labels []string
	gutter := 0 // room for the labels
	for line := range strings.Lines(text.String()) {
		label := printout.Ellipsis(strings.TrimRight(line, "\n"), r.Width/3)
		labels, gutter = append(labels, label), max(gutter, utf8.RuneCountInString(label))
	}
	a := newAxis(r.Width-gutter-2, densities...)
	for i, f := range densities {
		line := printout.Pad(labels[i], gutter, true) + "  " + sparkline(f, a)
		w.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	ruler, numbers := a.lines()
	for _, line := range []string{ruler, numbers} {
		w.WriteString(strings.Repeat(" ", gutter+2) + line + "\n")
	}
}

// precision is the number of digits in a report: decimals or, close to zero and
// one, significant digits in scientific notation.
type precision struct{ decimals, digits int }

// precision returns the precision at which the interval of the narrowest class
// has two different ends.
func (r *Report) precision() precision {
	p := precision{4, 2}
	for _, s := range r.states {
		for _, f := range s.class {
			mean, variance := f.Moments()
			sd, distance := math.Sqrt(variance), min(mean, 1-mean)
			switch {
			case !(sd > 0):
			case distance > 1e-4:
				p.decimals = max(p.decimals, min(10, 2+places(sd)))
			case distance > 0:
				p.digits = max(p.digits, min(6, 1+places(sd/distance)))
			}
		}
	}
	return p
}

// places returns the decimal place of the first digit of x: 1 for 0.1 ≤ x < 1.
func places(x float64) int { return int(-math.Floor(math.Log10(x))) }

// number formats x ≥ 0 with decimals, or in scientific notation if those would show
// fewer than two digits of it.
func (p precision) number(x float64) string {
	if x == 0 || x >= math.Pow(10, float64(1-p.decimals)) {
		return strconv.FormatFloat(x, 'f', p.decimals, 64)
	}
	return p.scientific(x)
}

// probability formats x, given y = 1 − x, so that values close to one are shown
// as precisely as values close to zero.
func (p precision) probability(x, y float64) string {
	switch {
	case x == 0:
		return "0"
	case y == 0:
		return "1"
	case y < math.Pow(10, float64(-p.decimals))/2:
		return "1-" + p.scientific(y)
	}
	return p.number(x)
}

// interval formats the interval from x0 to x1, with their complements y0 and y1.
func (p precision) interval(x0, y0, x1, y1 float64) string {
	return "[" + p.probability(x0, y0) + ", " + p.probability(x1, y1) + "]"
}

// set formats the pieces of the highest-density set of f; it returns at least one string.
// Their complements are the ends of the set of the reflected distribution.
func (p precision) set(f *mixture.Beta, level float64) []string {
	set, mirror := f.HighestDensity(level), f.Reflect().HighestDensity(level)
	if len(set) == 0 {
		return []string{"-"}
	}
	var pieces []string
	for i, piece := range set {
		y0, y1 := 1-piece.Lo, 1-piece.Hi
		if len(mirror) == len(set) {
			m := mirror[len(set)-1-i]
			y0, y1 = m.Hi, m.Lo
		}
		text := p.interval(piece.Lo, y0, piece.Hi, y1)
		if i < len(set)-1 {
			text += " ∪"
		}
		pieces = append(pieces, text)
	}
	return pieces
}

// scientific formats x with a short exponent: 3.4e-5.
func (p precision) scientific(x float64) string {
	s := strconv.FormatFloat(x, 'e', p.digits-1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	n, _ := strconv.Atoi(exponent)
	return mantissa + "e" + strconv.Itoa(n)
}

// JoinNumbers formats values with about six digits, joined by the separator.
func JoinNumbers(values []float64, separator string) string {
	text := func(v float64) string {
		if v >= 1e5 && v < 1e10 { // rather 1000000 than 1e+06
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strings.Join(words.Each(values, text), separator)
}
