package main

import (
	"bytes"
	"strconv"
	"strings"

	"credence/head"
	"credence/internal/table"
	"credence/mixture"
	"credence/model"
)

// predictColumn is a column of the output of credence predict.
type predictColumn struct {
	name, tidymodels string
	kind             table.ParquetKind
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

// csvMaker is a rowMaker that writes the rows of an item as CSV itself.
type csvMaker interface {
	appendCSV(dst []byte, item string, a *head.Answer) []byte
}

// newRowMaker returns the one for the model's answers, in the form asked for.
func newRowMaker(o *predictOptions, m *model.Model) (rowMaker, error) {
	long := newLongRows(o, m)
	if !o.wide {
		return long, nil
	}
	return newWideRows(o, m, long)
}

// newLongRows returns the one that gives each class of an item a row.
func newLongRows(o *predictOptions, m *model.Model) rowMaker {
	if o.only != "" {
		return newOnlyRows(o, m)
	}
	if !m.Traits().Joint {
		return newMeansRows(o, m)
	}
	r := &lawRows{o: o, m: m}
	r.width = len(r.columns())
	return r
}

// lawRows writes answers that are distributions.
type lawRows struct {
	o     *predictOptions
	m     *model.Model
	width int // how many columns there are
}

// columns implements [rowMaker].
func (r *lawRows) columns() []predictColumn {
	o := r.o
	text, number, truth := table.ParquetText, table.ParquetNumber, table.ParquetBool
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
	list = append(list, predictColumn{name: "at_least", tidymodels: ".at_least", kind: truth})
	if o.abstains() {
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
	c := predictColumn{name: "predicted", tidymodels: ".pred_class", kind: table.ParquetBool}
	if o.names == "tidymodels" {
		c.kind = table.ParquetText
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

// rows implements [rowMaker].
func (r *lawRows) rows(item string, answer *head.Answer) [][]any {
	o, m, told := r.o, r.m, answer.Reported().To(r.o.precision())
	top := o.top == "on"
	classes := told.Summarize(o.levels.values, top || o.minTop > 0)
	entropy := answer.Law.Entropy()
	var gain float64
	if o.next {
		gain, _ = answer.Law.Gain(1) // one vote has a closed form, which cannot fail
	}
	predicted := answer.Top()
	cells := make([]any, 0, len(m.Classes)*len(o.levels.values)*r.width)
	list := make([][]any, 0, len(m.Classes)*len(o.levels.values))
	for i, class := range m.Classes {
		c := &classes[i]
		for k, level := range o.levels.values {
			in := &c.Intervals[k]
			from := len(cells)
			cells = append(cells, item, class, c.Mean, c.SD, c.Median, level, in.TwoSided.Lo, in.TwoSided.Hi,
				in.Upper.Hi, in.Lower.Lo)
			if o.hpd {
				set, _ := told.Class(i).HighestDensity(level)
				cells = append(cells, writeSet(set, o.digits.of(o.format)))
			}
			if top {
				cells = append(cells, c.Top)
			}
			cells = append(cells, o.predicted(m, i, predicted), entropy.Expected, entropy.Information)
			if o.next {
				cells = append(cells, gain)
			}
			cells = append(cells, in.TwoSided.AtLeast)
			if o.abstains() {
				cells = append(cells, o.abstain(classes[predicted].Intervals[k].TwoSided.Length(), classes[predicted].Top))
			}
			if o.full {
				cells = append(cells, parameters(told.Law.Marginal(i))...)
			}
			list = append(list, cells[from:])
		}
	}
	return list
}

// parameters returns the weights and parameters of a mixture.
func parameters(f *mixture.Beta) []any {
	var weights, as, bs []float64
	for c := range f.K() {
		w, x, y := f.Component(c)
		weights, as, bs = append(weights, w), append(as, x), append(bs, y)
	}
	return []any{weights, as, bs}
}

// writeSet writes intervals as [0.1,0.2] [0.7,0.9].
func writeSet(set []mixture.Interval, d digits) string {
	var parts []string
	for _, s := range set {
		parts = append(parts, "["+d.text(s.Lo)+","+d.text(s.Hi)+"]")
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
