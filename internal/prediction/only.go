package prediction

import (
	"bytes"
	"context"
	"slices"

	"credence/head"
	"credence/internal/table"
	"credence/model"
)

// onlyRows makes rows of nothing but the means, which take no distribution.
type onlyRows struct {
	o       *Options
	m       *model.Model
	classes [][]byte // fields of CSV, with the commas around them
}

func newOnlyRows(o *Options, m *model.Model) *onlyRows {
	r := &onlyRows{o: o, m: m}
	for _, c := range m.Classes {
		r.classes = append(r.classes, append(appendField([]byte{','}, o.guard(c)), ','))
	}
	return r
}

// columns implements [rowMaker].
func (r *onlyRows) columns() []Column {
	return []Column{
		{Name: "item", Kind: table.ParquetText},
		{Name: "class", Kind: table.ParquetText},
		{Name: "mean", tidymodels: ".pred", Kind: table.ParquetNumber},
	}
}

// append implements [rowMaker].
func (r *onlyRows) append(ctx context.Context, dst []Cell, item string, a *head.Answer) ([]Cell, error) {
	for i, p := range a.Mean {
		dst = append(dst, Cell{Text: item}, Cell{Text: r.m.Classes[i]}, Cell{Number: p})
	}
	return dst, ctx.Err()
}

// appendCSV implements [csvMaker].
func (r *onlyRows) appendCSV(dst []byte, item string, a *head.Answer) []byte {
	from := len(dst)
	dst = appendField(dst, r.o.guard(item))
	field := slices.Clip(dst[from:])
	for i, p := range a.Mean {
		if i > 0 {
			dst = append(dst, field...)
		}
		dst = append(r.o.Digits.Append(append(dst, r.classes[i]...), p), '\n')
	}
	return dst
}

// table implements [rowMaker].
func (r *onlyRows) table(b *bytes.Buffer, a *Answers) { writeMeansTable(r.m, nil, b, a) }
