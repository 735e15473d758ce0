package predict

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"credence/head"
	"credence/internal/calculator"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
)

// Format selects the output fields of a prediction, and how they are written.
type Format struct {
	Form
	Summary
	HPD        bool     // adds highest-density sets
	Full       bool     // adds the parameters of the mixtures
	Next       bool     // adds the value of one further vote
	Top        bool     // adds p_top
	OnlyMean   bool     // only means
	OnlyPoint  bool     // only the point
	Wide       bool     // one row per item
	Tidymodels bool     // names of columns by the conventions of R's tidymodels
	Fields     []string // of the records of an NPY file; nil for those selected above

	ordered bool // the classes of the model are ordered
	rated   bool // the model has a rater model

	// Seen, if not nil, is called with each row that a [Writer] writes, by several goroutines at a time. It is not
	// called where only means are written.
	Seen func(r *Row)
	// Keep selects fields of the wide form by name; nil keeps all. The item and the predicted class are always kept.
	Keep func(name string) bool
}

// Form is how rows are written.
type Form struct {
	Name    string // csv, jsonl, parquet, arrow, npy, or table for a terminal
	Digits  Digits // of numbers in text
	CSVSafe bool   // prefix with ' texts in CSV that a spreadsheet would take for formulas
}

func (f *Format) namesPredicted() bool { return f.Wide || f.Tidymodels }

// Column is a column of a table. Its JSON is its name and kind.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`

	field        *Field
	class, level int  // of a column of the wide form
	list         bool // list of numbers, written as text in formats without lists
}

// Value is one value of a row. The column determines which field holds it; booleans are the numbers 0 and 1.
type Value struct {
	Text   string
	Number float64
	list   []float64
	null   bool
}

// Table lays the predictions of a model out in rows and columns. It may be used by several goroutines at a time.
type Table struct {
	format  Format
	model   *model.Model
	columns []Column
	dists   bool     // predictions are distributions
	levels  int      // of the intervals, 1 if there are none
	classes [][]byte // for tables of only means: class names as CSV, between commas
}

// NewTable returns the table of a model's predictions.
func NewTable(m *model.Model, f Format) *Table {
	f.ordered, f.rated = m.Ordered && m.Traits().Joint, m.RaterModel != nil
	t := &Table{format: f, model: m, dists: m.Traits().Joint, levels: 1}
	t.format.scale, _ = Scale(m)
	if t.dists && !f.OnlyMean && !f.OnlyPoint {
		t.levels = len(f.Levels)
	}
	if f.Wide {
		t.wide(t.fields())
	} else {
		for _, x := range t.fields() {
			t.add(x, 0, 0, "")
		}
	}
	if !f.OnlyMean {
		for i := range t.columns {
			t.format.needs |= t.columns[i].field.needs
		}
	} else if !f.Wide {
		for _, c := range m.Classes {
			t.classes = append(t.classes, append(appendField([]byte{','}, f.guard(c)), ','))
		}
	}
	return t
}

// fields returns the fields of the table.
func (t *Table) fields() []*Field {
	var used []*Field
	for i := range fields {
		f := &fields[i]
		switch {
		case t.format.OnlyMean && f.Name != "item" && f.Name != "class" && f.Name != "mean" && !(f.Name == "predicted" && t.format.Wide):
			continue
		case t.format.OnlyPoint && f.Name != "item" && f.Name != "class" && f.Name != "point" && !(f.Name == "predicted" && t.format.Wide):
			continue
		case !t.dists && f.Name == "distribution" && !t.format.OnlyMean:
			for _, c := range t.model.Traits().Columns(len(t.model.Members)) {
				used = append(used, methodField(c))
			}
		}
		if has := f.column != nil && f.column(&t.format); t.dists && has || !t.dists && f.means && (f.column == nil || has) {
			used = append(used, f)
		}
	}
	return used
}

// add adds a column.
func (t *Table) add(f *Field, class, level int, suffix string) {
	c := Column{Name: f.Name + suffix, Kind: f.Kind, field: f, class: class, level: level, list: f.list != nil}
	if t.format.Tidymodels && f.tidymodels != "" {
		c.Name = f.tidymodels + suffix
	}
	t.columns = append(t.columns, c)
}

// wide adds the columns of the wide form: the item, the predicted class, the means, the fields per level, the
// fields per item, and then the remaining fields, class by class.
func (t *Table) wide(used []*Field) {
	levelSuffix := func(k int) string {
		if t.levels == 1 {
			return ""
		}
		return "_" + strconv.FormatFloat(t.format.Levels[k], 'g', -1, 64)
	}
	first := func(f *Field) bool { return f.Name == "item" || f.Name == "predicted" }
	used = slices.DeleteFunc(used, func(f *Field) bool { return !first(f) && t.format.Keep != nil && !t.format.Keep(f.Name) })
	each := func(which func(f *Field) bool, add func(f *Field)) {
		for _, f := range used {
			if which(f) {
				add(f)
			}
		}
	}
	each(first, func(f *Field) { t.add(f, 0, 0, "") })
	mean := func(f *Field) bool { return f.Name == "mean" }
	each(mean, func(f *Field) {
		for i, class := range t.model.Classes {
			t.add(f, i, 0, "_"+class)
		}
	})
	each(func(f *Field) bool { return f.Per == PerLevel && !(f.Name == "level" && t.levels > 1) }, func(f *Field) {
		for k := range t.levels {
			t.add(f, 0, k, levelSuffix(k))
		}
	})
	each(func(f *Field) bool { return f.Per == PerItem && !first(f) }, func(f *Field) { t.add(f, 0, 0, "") })
	for i, class := range t.model.Classes {
		each(func(f *Field) bool { return f.Per == PerClass && !mean(f) || f.Per == PerInterval }, func(f *Field) {
			if f.Per == PerClass {
				t.add(f, i, 0, "_"+class)
				return
			}
			for k := range t.levels {
				t.add(f, i, k, "_"+class+levelSuffix(k))
			}
		})
	}
}

// Columns returns the columns of the table. The caller must not modify them.
func (t *Table) Columns() []Column { return t.columns }

// CheckNames returns an error if two columns of the wide form have the same name, which depends on the class names.
func (t *Table) CheckNames() error {
	seen := map[string]bool{}
	for _, c := range t.columns {
		if seen[c.Name] {
			return fmt.Errorf("two columns would have the name %q", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// Row computes the row of a prediction, which must not have an Err. When ctx is done, Row returns its error.
func (t *Table) Row(ctx context.Context, p *Prediction) (Row, error) {
	r, err := p.Summarize(ctx, &t.format.Summary)
	r.table = t
	return r, err
}

// Append appends the values of an item to dst: row after row, one for each column.
func (t *Table) Append(dst []Value, r *Row) []Value {
	rows, n := 1, len(dst)
	if !t.format.Wide {
		rows = len(t.model.Classes) * t.levels
	}
	dst = slices.Grow(dst, rows*len(t.columns))[:n+rows*len(t.columns)]
	for row := range rows {
		values := dst[n+row*len(t.columns):][:len(t.columns)]
		for j := range t.columns {
			c := &t.columns[j]
			class, level := c.class, c.level
			if !t.format.Wide {
				class, level = row/t.levels, row%t.levels
			}
			c.field.set(&values[j], r, class, level)
		}
	}
	return dst
}

// set sets a value to that of a class and a level. What the kind of the field does not have is left alone.
func (f *Field) set(v *Value, r *Row, class, level int) {
	v.null = false
	switch {
	case f.number != nil:
		v.Number = f.number(r, class, level)
	case f.text != nil:
		v.Text = f.text(r, class, level)
	case f.list != nil:
		v.list = f.list(r, class, level)
	default:
		v.setTruth(f.truth(r, class, level))
	}
}

// setTruth sets v to a boolean.
func (v *Value) setTruth(b bool) {
	if v.Number = 0; b {
		v.Number = 1
	}
}

// TableItems is the number of items in a table on a terminal.
const TableItems = 20

// terminalTable shows the first items on a terminal.
type terminalTable struct {
	table *Table
	w     io.Writer
}

func (t *terminalTable) Write(ctx context.Context, list []Prediction) (bool, error) {
	var b bytes.Buffer
	if err := t.table.print(ctx, &b, list[:min(len(list), TableItems)]); err != nil {
		return false, err
	}
	if len(list) > TableItems {
		b.WriteString("… and more: -o predictions.csv writes all of them, with every class\n")
	}
	_, err := t.w.Write(b.Bytes())
	return false, err
}

func (t *terminalTable) Close() error { return nil }

// print prints each item with the mean of its predicted class and, if predictions are distributions, with the interval
// and the density of the class; otherwise with the numbers that the method gives in addition to the mean.
func (t *Table) print(ctx context.Context, b *bytes.Buffer, list []Prediction) error {
	shown, header := printout.NewTable(0, 1), []string{"item", "class", "mean"}
	s, dists := t.format.Summary, t.dists && !t.format.OnlyMean
	var columns []head.Column
	if dists {
		s.Levels, s.needs = s.Levels[:1], needClasses|needTop|t.format.needs&needPoint
		shown = printout.NewTable(0, 1, 3, 4)
		header = append(header, printout.Percent(s.Levels[0])+" interval", "density from 0 to 1", "P(top)")
		if point(&t.format) {
			shown = printout.NewTable(0, 1, 3, 4, 6)
			header = append(header, "point: "+strings.Join(t.model.Classes, " "))
		}
	} else if !t.format.OnlyMean {
		columns = t.model.Traits().Columns(len(t.model.Members))
	}
	for _, c := range columns {
		header = append(header, c.Name)
	}
	shown.Add(header...)
	for j := range list {
		p := &list[j]
		if p.Err != nil {
			shown.Add(printout.Ellipsis(p.Item, 24), "-")
			continue
		}
		i := p.Top()
		row := []string{printout.Ellipsis(p.Item, 24), printout.Ellipsis(t.model.Classes[i], 20), fmt.Sprintf("%.3f", p.Mean[i])}
		if dists {
			r, err := p.Summarize(ctx, &s)
			if err != nil {
				return err
			}
			row = append(row, r.intervalText(),
				calculator.Sparkline(p.ReportedDist().Marginal(i), 24), printout.Share(r.Classes[i].Top))
			if r.Point != nil {
				row = append(row, strings.Join(words.Each(r.Point, func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }), " "))
			}
		}
		for _, c := range columns {
			row = append(row, fmt.Sprintf("%.3f", c.Of(&p.Decoded, i)))
		}
		shown.Add(row...)
	}
	shown.Print(b)
	if dists && bytes.Contains(b.Bytes(), []byte("] *")) {
		b.WriteString("* contains at least that much: the votes cannot resolve anything smaller\n")
	}
	return nil
}

// intervalText formats the first interval of the predicted class for a table on a terminal, with its marks.
func (r *Row) intervalText() string {
	in := r.Classes[r.Predicted].Intervals[0].TwoSided
	mark := ""
	if in.AtLeast {
		mark = " *"
	}
	if r.Abstain(0) {
		mark += " abstain"
	}
	return fmt.Sprintf("[%.3f, %.3f]%s", in.Lo, in.Hi, mark)
}
