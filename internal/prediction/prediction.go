// Package prediction turns a model's answers into rows of a table, and writes them as CSV, JSON lines,
// Parquet, Arrow or NPY. Whoever tells predictions uses it, so that the same items have the same numbers, digit
// for digit, on the command line and from a server.
//
// A [Maker] knows the columns that a model and some [Options] have and makes the cells of an item; a
// [Writer] takes the answers to some items at a time and writes their rows. [WriteRows] writes any
// other table in the same forms.
package prediction

import (
	"bytes"
	"context"
	"fmt"

	"credence/head"
	"credence/internal/table"
	"credence/mixture"
	"credence/model"
)

// Options is what is told of an item, and how it is written.
type Options struct {
	Form
	Levels     []float64         // of the intervals
	Precision  mixture.Precision // of the intervals
	HPD        bool              // adds highest-density sets
	Full       bool              // adds the parameters of the mixtures
	Next       bool              // adds what one further vote would gain
	Top        bool              // adds p_top
	MaxWidth   float64           // abstain where the interval is wider, if not 0
	MinTop     float64           // abstain where p_top is smaller, if not 0
	OnlyMean   bool              // nothing but means
	Wide       bool              // one row per item
	Tidymodels bool              // names of columns as R's tidymodels have them
	Fields     []string          // of the records of an NPY file; nil for those that the above ask for

	// Seen, if not nil, is called with the cells of each item that a [Writer] writes, j being its place
	// among the answers, by several goroutines at a time; not where nothing but means is written.
	Seen func(a *Answers, j int, cells []Cell)
	// Keep leaves columns out of the wide form, by their names without class and level; nil keeps
	// all. The item and the predicted class always stay.
	Keep func(name string) bool
}

// Form is how rows are written.
type Form struct {
	Name    string // csv, jsonl, parquet, arrow, npy, or table for a terminal
	Digits  Digits // of numbers in text
	CSVSafe bool   // texts that a spreadsheet would take for formulas have ' before them in CSV
}

// abstains reports whether items are marked on which to abstain.
func (o *Options) abstains() bool { return o.MaxWidth > 0 || o.MinTop > 0 }

// abstain reports whether to abstain on an item, by the width of the predicted class's interval and the
// probability that it is the most probable one.
func (o *Options) abstain(width, top float64) bool {
	return o.MaxWidth > 0 && width > o.MaxWidth || o.MinTop > 0 && top < o.MinTop
}

// Answers are a model's predictions of some items.
type Answers struct {
	Items   []string
	List    []head.Answer
	Dropped []bool // items without a prediction
}

// Column is a column of the rows.
type Column struct {
	Name  string
	Kind  table.ParquetKind
	Of    string // the name without class and level; empty if it is Name
	Class int    // the class that a column of the wide form is about, counted from 0; −1 for none

	tidymodels string
	list       bool // numbers, written as text where there are no lists
}

// Cell is a value in a row. Which field counts is a matter of the column: booleans are numbers, 0 or 1.
type Cell struct {
	Text   string
	Number float64
	list   []float64
	null   bool
}

// rowMaker makes rows of one kind.
type rowMaker interface {
	columns() []Column
	// append appends the rows of an item, a cell for each column. The error is that of ctx, once it is done.
	append(ctx context.Context, dst []Cell, item string, a *head.Answer) ([]Cell, error)
	// table writes the first items for a terminal.
	table(b *bytes.Buffer, a *Answers)
}

// Maker makes rows of a model's answers. It may be used by several goroutines at a time.
type Maker struct {
	rowMaker
	options *Options
	model   *model.Model
	list    []Column
}

// New returns the one for the answers of m.
func New(m *model.Model, o Options) *Maker {
	k := &Maker{options: &o, model: m}
	switch {
	case o.OnlyMean:
		k.rowMaker = newOnlyRows(&o, m)
	case !m.Traits().Joint:
		k.rowMaker = newMeansRows(&o, m)
	default:
		k.rowMaker = &lawRows{o: &o, m: m}
	}
	if o.Wide {
		k.rowMaker = newWideRows(&o, m, k.rowMaker)
	}
	k.list = k.columns()
	if o.Tidymodels {
		for i := range k.list {
			if name := k.list[i].tidymodels; name != "" {
				k.list[i].Name = name
			}
		}
	}
	return k
}

// Columns returns the columns of the rows. They are not to be changed.
func (k *Maker) Columns() []Column { return k.list }

// Wide reports whether there is one row per item.
func (k *Maker) Wide() bool { return k.options.Wide }

// CheckNames is the error of classes such that columns of the wide form have the names of others.
func (k *Maker) CheckNames() error {
	seen := map[string]bool{}
	for _, c := range k.list {
		if seen[c.Name] {
			return fmt.Errorf("two columns would have the name %q", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// Append appends the cells of an item's rows to dst: row after row, a cell for each column. When ctx is done it stops
// and returns the context's error.
func (k *Maker) Append(ctx context.Context, dst []Cell, item string, a *head.Answer) ([]Cell, error) {
	return k.append(ctx, dst, item, a)
}

// truth is a boolean as a cell.
func truth(b bool) Cell {
	if b {
		return Cell{Number: 1}
	}
	return Cell{}
}

// predictedColumn reports whether a class is the predicted one. The column that
// tidymodels have instead names the predicted class in every row of the item.
func (o *Options) predictedColumn() Column {
	c := Column{Name: "predicted", tidymodels: ".pred_class", Kind: table.ParquetBool}
	if o.Tidymodels {
		c.Kind = table.ParquetText
	}
	return c
}

// predicted is the cell of that column for a class.
func (o *Options) predicted(m *model.Model, class, predicted int) Cell {
	if o.Tidymodels {
		return Cell{Text: m.Classes[predicted]}
	}
	return truth(class == predicted)
}
