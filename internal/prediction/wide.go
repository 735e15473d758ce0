package prediction

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"credence/head"
	"credence/internal/table"
	"credence/model"
)

// wideRows makes one row per item: what differs between classes or levels has a
// column for each of them.
type wideRows struct {
	o      *Options
	m      *model.Model
	long   rowMaker
	of     []Column // columns of long
	layout []wideColumn
}

// wideColumn is one column of the wide form.
type wideColumn struct {
	Column
	from int // where the cell stands among those of the long rows; −1 for the name of the predicted class
}

// perItem and perLevel are columns whose value is the same for every class, and
// perBoth those that differ by level, too; all others differ by class.
var (
	perItem  = []string{"entropy", "information", "next_gain", "distribution"}
	perLevel = []string{"level", "abstain"}
	perBoth  = []string{"lower", "upper", "upper_bound", "lower_bound", "hpd", "at_least"}
)

// newWideRows returns the wide form of the rows of long.
func newWideRows(o *Options, m *model.Model, long rowMaker) *wideRows {
	w := &wideRows{o: o, m: m, long: long, of: long.columns()}
	w.lay()
	return w
}

// lay finds the columns: the item, the predicted class, the level, what all rows
// share, and then everything of one class after the other.
func (w *wideRows) lay() {
	levels := 1
	if w.m.Traits().Joint {
		levels = len(w.o.Levels)
	}
	kept := func(name string) bool { return name == "item" || w.o.Keep == nil || w.o.Keep(name) }
	add := func(k, class, row int, suffix string) {
		c := w.of[k]
		if !kept(c.Name) {
			return
		}
		c.Of, c.Class = c.Name, class
		c.Name += suffix
		if c.tidymodels != "" {
			c.tidymodels += suffix
		}
		w.layout = append(w.layout, wideColumn{c, row*len(w.of) + k})
	}
	at := func(name string) int {
		return slices.IndexFunc(w.of, func(c Column) bool { return c.Name == name })
	}
	levelSuffix := func(l int) string {
		if levels == 1 {
			return ""
		}
		return "_" + strconv.FormatFloat(w.o.Levels[l], 'g', -1, 64)
	}
	add(at("item"), -1, 0, "")
	w.layout = append(w.layout, wideColumn{Column{Name: "predicted", tidymodels: ".pred_class", Kind: table.ParquetText, Of: "predicted", Class: -1}, -1})
	for i, class := range w.m.Classes {
		add(at("mean"), i, i*levels, "_"+class)
	}
	for k, c := range w.of {
		if slices.Contains(perLevel, c.Name) && !(c.Name == "level" && levels > 1) {
			for l := range levels {
				add(k, -1, l, levelSuffix(l))
			}
		}
	}
	for k, c := range w.of {
		if slices.Contains(perItem, c.Name) {
			add(k, -1, 0, "")
		}
	}
	for i, class := range w.m.Classes {
		for k, c := range w.of {
			switch {
			case slices.Contains([]string{"item", "class", "mean", "predicted"}, c.Name), slices.Contains(perItem, c.Name), slices.Contains(perLevel, c.Name):
			case slices.Contains(perBoth, c.Name):
				for l := range levels {
					add(k, i, i*levels+l, "_"+class+levelSuffix(l))
				}
			default:
				add(k, i, i*levels, "_"+class)
			}
		}
	}
}

// columns implements [rowMaker].
func (w *wideRows) columns() []Column {
	list := make([]Column, len(w.layout))
	for i := range w.layout {
		list[i] = w.layout[i].Column
	}
	return list
}

// append implements [rowMaker]. The long rows stand behind the wide one until their cells were taken.
func (w *wideRows) append(ctx context.Context, dst []Cell, item string, a *head.Answer) ([]Cell, error) {
	from := len(dst)
	dst = slices.Grow(dst, len(w.layout))[:from+len(w.layout)]
	all, err := w.long.append(ctx, dst, item, a)
	if err != nil {
		return dst[:from], err
	}
	row, long := all[from:len(dst)], all[len(dst):]
	for i := range w.layout {
		if at := w.layout[i].from; at >= 0 {
			row[i] = long[at]
		} else {
			row[i] = Cell{Text: w.m.Classes[a.Top()]}
		}
	}
	return all[:len(dst)], nil
}

// table implements [rowMaker]: that of a terminal has one row per item anyway.
func (w *wideRows) table(b *bytes.Buffer, a *Answers) { w.long.table(b, a) }
