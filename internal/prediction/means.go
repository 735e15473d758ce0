package prediction

import (
	"bytes"
	"context"

	"credence/head"
	"credence/internal/table"
	"credence/model"
)

// meansRows makes the rows of answers that are no distributions: the means, and what the method says
// beside them, named for what it is.
type meansRows struct {
	o      *Options
	m      *model.Model
	beside []head.Column
}

func newMeansRows(o *Options, m *model.Model) *meansRows {
	return &meansRows{o: o, m: m, beside: m.Traits().Columns(len(m.Members))}
}

// columns implements [rowMaker].
func (r *meansRows) columns() []Column {
	text, number := table.ParquetText, table.ParquetNumber
	list := []Column{
		{Name: "item", Kind: text},
		{Name: "class", Kind: text},
		{Name: "mean", tidymodels: ".pred", Kind: number},
		r.o.predictedColumn(),
	}
	for _, c := range r.beside {
		list = append(list, Column{Name: c.Name, tidymodels: "." + c.Name, Kind: number})
	}
	return append(list, Column{Name: "distribution", tidymodels: ".distribution", Kind: text})
}

// append implements [rowMaker].
func (r *meansRows) append(ctx context.Context, dst []Cell, item string, a *head.Answer) ([]Cell, error) {
	top, distribution := a.Top(), "none"
	if a.Opinion != nil {
		distribution = r.m.Method.Name() // of another kind
	}
	for i, class := range r.m.Classes {
		dst = append(dst, Cell{Text: item}, Cell{Text: class}, Cell{Number: a.Mean[i]}, r.o.predicted(r.m, i, top))
		for _, c := range r.beside {
			dst = append(dst, Cell{Number: c.Of(a, i)})
		}
		dst = append(dst, Cell{Text: distribution})
	}
	return dst, ctx.Err()
}

// table implements [rowMaker].
func (r *meansRows) table(b *bytes.Buffer, a *Answers) { writeMeansTable(r.m, r.beside, b, a) }
