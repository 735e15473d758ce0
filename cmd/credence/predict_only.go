package main

import (
	"bytes"
	"slices"

	"github.com/spf13/pflag"

	"credence/head"
	"credence/internal/table"
	"credence/model"
)

// onlyRows writes nothing but the means, which take no distribution.
type onlyRows struct {
	o       *predictOptions
	m       *model.Model
	classes [][]byte // fields of CSV
}

func newOnlyRows(o *predictOptions, m *model.Model) *onlyRows {
	r := &onlyRows{o: o, m: m}
	for _, c := range m.Classes {
		row := []any{c}
		if o.csvSafe {
			guardFormulas(row)
		}
		r.classes = append(r.classes, append(appendField([]byte{','}, row[0].(string)), ','))
	}
	return r
}

// checkOnly refuses --only with flags that ask for more.
func (o *predictOptions) checkOnly(f *pflag.FlagSet) error {
	if o.only == "" {
		return nil
	}
	if o.only != "mean" {
		return usagef("--only %q: expected mean", o.only)
	}
	for _, name := range []string{"level", "hpd", "full", "next", "top", "max-width", "min-top"} {
		if f.Changed(name) {
			return usagef("--only mean leaves out what --%s asks for: give one of them", name)
		}
	}
	return nil
}

// columns implements [rowMaker].
func (r *onlyRows) columns() []predictColumn {
	return []predictColumn{
		{name: "item", kind: table.ParquetText},
		{name: "class", kind: table.ParquetText},
		{name: "mean", tidymodels: ".pred", kind: table.ParquetNumber},
	}
}

// rows implements [rowMaker].
func (r *onlyRows) rows(item string, a *head.Answer) [][]any {
	list := make([][]any, len(a.Mean))
	for i, p := range a.Mean {
		list[i] = []any{item, r.m.Classes[i], p}
	}
	return list
}

// appendCSV implements [csvMaker].
func (r *onlyRows) appendCSV(dst []byte, item string, a *head.Answer) []byte {
	if r.o.csvSafe {
		row := []any{item}
		guardFormulas(row)
		item = row[0].(string)
	}
	d := r.o.digits.of("csv")
	from := len(dst)
	dst = appendField(dst, item)
	field := slices.Clip(dst[from:])
	for i, p := range a.Mean {
		if i > 0 {
			dst = append(dst, field...)
		}
		dst = append(d.append(append(dst, r.classes[i]...), p), '\n')
	}
	return dst
}

// table implements [rowMaker].
func (r *onlyRows) table(b *bytes.Buffer, a *answers) { writeMeansTable(r.m, nil, b, a) }
