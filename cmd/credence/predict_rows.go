package main

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/mixture"
	"credence/model"
)

// predictColumn is a column of the output of credence predict.
type predictColumn struct {
	name, tidymodels string
	kind             dataset.ParquetKind
	list             bool // numbers, written as text where there are no lists
}

// answers are the predictions of some items.
type answers struct {
	items   []string
	list    []head.Answer
	dropped []bool // items without a prediction
}

// rows returns the rows of an item, none if it has no prediction.
func (a *answers) rows(m rowMaker, j int) [][]any {
	if a.dropped[j] {
		return nil
	}
	return m.rows(a.items[j], &a.list[j])
}

// rowMaker turns answers into rows.
type rowMaker interface {
	columns() []predictColumn
	// rows returns the rows of an item, a value for each column.
	rows(item string, a *head.Answer) [][]any
	// table writes the first items for a terminal.
	table(b *bytes.Buffer, a *answers)
}

// newRowMaker returns the one for the model's answers.
func newRowMaker(o *predictOptions, m *model.Model) rowMaker {
	if m.Traits().Joint {
		return &lawRows{o, m}
	}
	return newMeansRows(o, m)
}

// lawRows writes answers that are distributions.
type lawRows struct {
	o *predictOptions
	m *model.Model
}

// columns implements [rowMaker].
func (r *lawRows) columns() []predictColumn {
	o := r.o
	text, number, truth := dataset.ParquetText, dataset.ParquetNumber, dataset.ParquetBool
	list := []predictColumn{
		{name: "item", kind: text},
		{name: "class", kind: text},
		{name: "mean", tidymodels: ".pred", kind: number},
		{name: "sd", tidymodels: ".std_error", kind: number},
		{name: "median", tidymodels: ".pred_median", kind: number},
		{name: "level", tidymodels: ".level", kind: number},
		{name: "lower", tidymodels: ".pred_lower", kind: number},
		{name: "upper", tidymodels: ".pred_upper", kind: number},
		{name: "upper_bound", tidymodels: ".pred_upper_bound", kind: number},
		{name: "lower_bound", tidymodels: ".pred_lower_bound", kind: number},
	}
	if o.hpd {
		list = append(list, predictColumn{name: "hpd", tidymodels: ".pred_hpd", kind: text})
	}
	if o.top == "on" {
		list = append(list, predictColumn{name: "p_top", tidymodels: ".pred_top", kind: number})
	}
	list = append(list,
		o.predictedColumn(),
		predictColumn{name: "entropy", tidymodels: ".entropy", kind: number},
		predictColumn{name: "information", tidymodels: ".information", kind: number})
	if o.next {
		list = append(list, predictColumn{name: "next_gain", tidymodels: ".next_gain", kind: number})
	}
	list = append(list,
		predictColumn{name: "below_resolution", tidymodels: ".below_resolution", kind: truth})
	if o.maxWidth > 0 {
		list = append(list, predictColumn{name: "abstain", tidymodels: ".abstain", kind: truth})
	}
	if o.full {
		for _, name := range []string{"weights", "a", "b"} {
			list = append(list, predictColumn{name: name, tidymodels: "." + name, kind: text, list: true})
		}
	}
	return list
}

// predictedColumn reports whether a class is the predicted one. The column that
// tidymodels have instead names the predicted class in every row of the item.
func (o *predictOptions) predictedColumn() predictColumn {
	c := predictColumn{name: "predicted", tidymodels: ".pred_class", kind: dataset.ParquetBool}
	if o.names == "tidymodels" {
		c.kind = dataset.ParquetText
	}
	return c
}

// predicted is the value of that column for a class.
func (o *predictOptions) predicted(m *model.Model, class, predicted int) any {
	if o.names == "tidymodels" {
		return m.Classes[predicted]
	}
	return class == predicted
}

// rename gives columns their names in tidymodels.
func rename(list []predictColumn) {
	for i := range list {
		if list[i].tidymodels != "" {
			list[i].name = list[i].tidymodels
		}
	}
}

// levelAnswer is what is said of one class at one level.
type levelAnswer struct {
	twoSided, upper, lower mixture.Interval
	hpd                    []mixture.Interval
	below                  bool
}

// ends are the quantiles that intervals at one level end at, each as x and 1 − x.
type ends struct{ lo, hi, upper, lower [2]float64 }

func endsOf(f *mixture.Beta, level float64) (e ends) {
	tail := 1 - level
	e.lo[0], e.lo[1] = f.QuantileBoth(tail / 2)
	e.hi[0], e.hi[1] = f.ComplementaryQuantile(tail / 2)
	e.upper[0], e.upper[1] = f.ComplementaryQuantile(tail)
	e.lower[0], e.lower[1] = f.QuantileBoth(tail)
	return e
}

// reflect returns the ends of 1 − p.
func (e ends) reflect() ends {
	swap := func(x [2]float64) [2]float64 { return [2]float64{x[1], x[0]} }
	return ends{lo: swap(e.hi), hi: swap(e.lo), upper: swap(e.lower), lower: swap(e.upper)}
}

// answer returns the intervals of a class at a level.
func (o *predictOptions) answer(f *mixture.Beta, class int, r *evaluate.Resolution, level float64) levelAnswer {
	return o.answerWith(endsOf(f, level), f, class, r, level)
}

func (o *predictOptions) answerWith(e ends, f *mixture.Beta, class int, r *evaluate.Resolution, level float64) levelAnswer {
	var a levelAnswer
	if o.resolution == "off" {
		r = nil
	}
	at := func(side mixture.Side, in mixture.Interval) mixture.Interval {
		out, below := r.Apply(class, side, in)
		a.below = a.below || below
		return out
	}
	a.twoSided = at(mixture.TwoSided, mixture.Interval{Lo: e.lo[0], Hi: e.hi[0]})
	a.upper = at(mixture.Upper, mixture.Interval{Lo: 0, Hi: e.upper[0]})
	a.lower = at(mixture.Lower, mixture.Interval{Lo: e.lower[0], Hi: 1})
	if o.hpd {
		for _, in := range f.HighestDensity(level) {
			a.hpd = join(a.hpd, at(mixture.TwoSided, in))
		}
	}
	return a
}

// join adds an interval to a set in increasing order. One that was widened takes
// in those that it overlaps or touches.
func join(set []mixture.Interval, in mixture.Interval) []mixture.Interval {
	for len(set) > 0 && set[len(set)-1].Hi >= in.Lo {
		last := set[len(set)-1]
		in.Lo, in.Hi = min(in.Lo, last.Lo), max(in.Hi, last.Hi)
		set = set[:len(set)-1]
	}
	return append(set, in)
}

// rows implements [rowMaker].
func (r *lawRows) rows(item string, answer *head.Answer) [][]any {
	o, m, p := r.o, r.m, answer.Law
	var top []float64
	if o.top == "on" {
		top = p.TopClass(nil)
	}
	entropy := p.Entropy()
	var gain float64
	if o.next {
		gain, _ = p.Gain(1) // one vote has a closed form, which cannot fail
	}
	predicted := answer.Top()
	abstain := make([]bool, len(o.levels.values))
	if o.maxWidth > 0 {
		best := p.Marginal(predicted)
		for k, level := range o.levels.values {
			abstain[k] = o.answer(best, predicted, m.Resolution, level).twoSided.Length() > o.maxWidth
		}
	}
	list := make([][]any, 0, len(m.Classes)*len(o.levels.values))
	// Of two classes the second mirrors the first, which saves half the work.
	var median, complement float64
	first := make([]ends, len(o.levels.values))
	mirrored := func(i int) bool { return i == 1 && len(m.Classes) == 2 }
	for i, class := range m.Classes {
		f := p.Marginal(i)
		mean, variance := f.Moments()
		if mirrored(i) {
			median = complement
		} else {
			median, complement = f.QuantileBoth(0.5)
		}
		for k, level := range o.levels.values {
			if mirrored(i) {
				first[k] = first[k].reflect()
			} else {
				first[k] = endsOf(f, level)
			}
			a := o.answerWith(first[k], f, i, m.Resolution, level)
			row := []any{item, class, mean, math.Sqrt(variance), median, level,
				a.twoSided.Lo, a.twoSided.Hi, a.upper.Hi, a.lower.Lo}
			if o.hpd {
				row = append(row, writeSet(a.hpd))
			}
			if top != nil {
				row = append(row, top[i])
			}
			row = append(row, o.predicted(m, i, predicted), entropy.Expected, entropy.Information)
			if o.next {
				row = append(row, gain)
			}
			row = append(row, a.below)
			if o.maxWidth > 0 {
				row = append(row, abstain[k])
			}
			if o.full {
				var weights, as, bs []float64
				for c := range f.K() {
					w, x, y := f.Component(c)
					weights, as, bs = append(weights, w), append(as, x), append(bs, y)
				}
				row = append(row, weights, as, bs)
			}
			list = append(list, row)
		}
	}
	return list
}

// largest returns the index of the largest value, the first of several.
func largest(values []float64) int {
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	return best
}

// writeSet writes intervals as [0.1,0.2] [0.7,0.9].
func writeSet(set []mixture.Interval) string {
	var parts []string
	for _, s := range set {
		parts = append(parts, "["+exact(s.Lo)+","+exact(s.Hi)+"]")
	}
	return strings.Join(parts, " ")
}

// writeList writes numbers with spaces between them.
func writeList(values []float64) string {
	var b []byte
	for i, v := range values {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return string(b)
}
