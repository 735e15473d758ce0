package main

import (
	"bytes"
	"fmt"

	"credence/head"
	"credence/internal/printout"
	"credence/internal/table"
	"credence/model"
)

// meansRows writes answers that are no distributions: the means, and what the method says beside
// them, named for what it is.
type meansRows struct {
	o      *predictOptions
	m      *model.Model
	beside []head.Column
}

func newMeansRows(o *predictOptions, m *model.Model) *meansRows {
	return &meansRows{o: o, m: m, beside: m.Traits().Columns(len(m.Members))}
}

// columns implements [rowMaker].
func (r *meansRows) columns() []predictColumn {
	text, number := table.ParquetText, table.ParquetNumber
	list := []predictColumn{
		{name: "item", kind: text},
		{name: "class", kind: text},
		{name: "mean", tidymodels: ".pred", kind: number},
		r.o.predictedColumn(),
	}
	for _, c := range r.beside {
		list = append(list, predictColumn{name: c.Name, tidymodels: "." + c.Name, kind: number})
	}
	return append(list, predictColumn{name: "distribution", tidymodels: ".distribution", kind: text})
}

// rows implements [rowMaker].
func (r *meansRows) rows(item string, a *head.Answer) [][]any {
	top, distribution := a.Top(), "none"
	if a.Opinion != nil {
		distribution = r.m.Method.Name() // of another kind
	}
	var list [][]any
	for i, class := range r.m.Classes {
		row := []any{item, class, a.Mean[i], r.o.predicted(r.m, i, top)}
		for _, c := range r.beside {
			row = append(row, c.Of(a, i))
		}
		list = append(list, append(row, distribution))
	}
	return list
}

// table implements [rowMaker].
func (r *meansRows) table(b *bytes.Buffer, a *answers) { writeMeansTable(r.m, r.beside, b, a) }

// writeMeansTable writes the mean of each item's predicted class, and what is told beside it.
func writeMeansTable(m *model.Model, beside []head.Column, b *bytes.Buffer, a *answers) {
	shown := printout.NewTable(0, 1)
	header := []string{"item", "class", "mean"}
	for _, c := range beside {
		header = append(header, c.Name)
	}
	shown.Add(header...)
	for j, id := range a.items[:min(len(a.items), tableItems)] {
		if a.dropped[j] {
			shown.Add(printout.Ellipsis(id, 24), "-")
			continue
		}
		answer := &a.list[j]
		i := answer.Top()
		row := []string{printout.Ellipsis(id, 24), printout.Ellipsis(m.Classes[i], 20), fmt.Sprintf("%.3f", answer.Mean[i])}
		for _, c := range beside {
			row = append(row, fmt.Sprintf("%.3f", c.Of(answer, i)))
		}
		shown.Add(row...)
	}
	shown.Print(b)
}
