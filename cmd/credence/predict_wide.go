package main

import (
	"bytes"
	"fmt"
	"slices"

	"credence/head"
	"credence/internal/table"
	"credence/model"
)

// wideRows writes one row per item: what differs between classes or levels has a
// column for each of them.
type wideRows struct {
	o      *predictOptions
	m      *model.Model
	long   rowMaker
	of     []predictColumn // columns of long
	layout []wideColumn
}

// wideColumn is one column of the wide form: where its value stands among the rows of
// the long one.
type wideColumn struct {
	predictColumn
	row, column int
	class       bool // the name of the predicted class
}

// perItem and perLevel are columns whose value is the same for every class, and
// perBoth those that differ by level, too; all others differ by class.
var (
	perItem  = []string{"entropy", "information", "next_gain", "distribution"}
	perLevel = []string{"level", "abstain"}
	perBoth  = []string{"lower", "upper", "upper_bound", "lower_bound", "hpd", "at_least"}
)

// newWideRows returns the wide form of the rows of long, or the error of classes whose
// columns would have the names of others.
func newWideRows(o *predictOptions, m *model.Model, long rowMaker) (*wideRows, error) {
	w := &wideRows{o: o, m: m, long: long, of: long.columns()}
	w.lay()
	seen := map[string]bool{}
	for _, c := range w.columns() {
		name := c.name
		if o.names == "tidymodels" && c.tidymodels != "" {
			name = c.tidymodels
		}
		if seen[name] {
			return nil, withHint(fmt.Errorf("--wide: two columns would have the name %q", name), "without --wide, classes are in a column of their own")
		}
		seen[name] = true
	}
	return w, nil
}

// lay finds the columns: the item, the predicted class, the level, what all rows
// share, and then everything of one class after the other.
func (w *wideRows) lay() {
	levels := 1
	if w.m.Traits().Joint {
		levels = len(w.o.levels.values)
	}
	add := func(k, row int, suffix string) {
		c := w.of[k]
		c.name += suffix
		if c.tidymodels != "" {
			c.tidymodels += suffix
		}
		w.layout = append(w.layout, wideColumn{predictColumn: c, row: row, column: k})
	}
	at := func(name string) int {
		return slices.IndexFunc(w.of, func(c predictColumn) bool { return c.name == name })
	}
	levelSuffix := func(l int) string {
		if levels == 1 {
			return ""
		}
		return "_" + exact(w.o.levels.values[l])
	}
	add(at("item"), 0, "")
	w.layout = append(w.layout, wideColumn{class: true,
		predictColumn: predictColumn{name: "predicted", tidymodels: ".pred_class", kind: table.ParquetText}})
	for i, class := range w.m.Classes {
		add(at("mean"), i*levels, "_"+class)
	}
	for k, c := range w.of {
		if slices.Contains(perLevel, c.name) && !(c.name == "level" && levels > 1) {
			for l := range levels {
				add(k, l, levelSuffix(l))
			}
		}
	}
	for k, c := range w.of {
		if slices.Contains(perItem, c.name) {
			add(k, 0, "")
		}
	}
	for i, class := range w.m.Classes {
		for k, c := range w.of {
			switch {
			case slices.Contains([]string{"item", "class", "mean", "predicted"}, c.name), slices.Contains(perItem, c.name), slices.Contains(perLevel, c.name):
			case slices.Contains(perBoth, c.name):
				for l := range levels {
					add(k, i*levels+l, "_"+class+levelSuffix(l))
				}
			default:
				add(k, i*levels, "_"+class)
			}
		}
	}
}

// columns implements [rowMaker].
func (w *wideRows) columns() []predictColumn {
	var list []predictColumn
	for _, c := range w.layout {
		list = append(list, c.predictColumn)
	}
	return list
}

// rows implements [rowMaker].
func (w *wideRows) rows(item string, a *head.Answer) [][]any {
	long := w.long.rows(item, a)
	row := make([]any, len(w.layout))
	for i, c := range w.layout {
		if c.class {
			row[i] = w.m.Classes[a.Top()]
		} else {
			row[i] = long[c.row][c.column]
		}
	}
	return [][]any{row}
}

// table implements [rowMaker]: that of a terminal has one row per item anyway.
func (w *wideRows) table(b *bytes.Buffer, a *answers) { w.long.table(b, a) }
