package prediction

import (
	"context"
	"strings"

	"credence/head"
	"credence/internal/table"
	"credence/mixture"
	"credence/model"
)

// lawRows makes the rows of answers that are distributions.
type lawRows struct {
	o *Options
	m *model.Model
}

// columns implements [rowMaker].
func (r *lawRows) columns() []Column {
	o := r.o
	text, number, truth := table.ParquetText, table.ParquetNumber, table.ParquetBool
	list := []Column{
		{Name: "item", Kind: text},
		{Name: "class", Kind: text},
		{Name: "mean", tidymodels: ".pred", Kind: number},
		{Name: "sd", tidymodels: ".std_error", Kind: number},
		{Name: "median", tidymodels: ".pred_median", Kind: number},
		{Name: "level", tidymodels: ".level", Kind: number},
		{Name: "lower", tidymodels: ".pred_lower", Kind: number},
		{Name: "upper", tidymodels: ".pred_upper", Kind: number},
		{Name: "upper_bound", tidymodels: ".pred_upper_bound", Kind: number},
		{Name: "lower_bound", tidymodels: ".pred_lower_bound", Kind: number},
	}
	if o.HPD {
		list = append(list, Column{Name: "hpd", tidymodels: ".pred_hpd", Kind: text})
	}
	if o.Top {
		list = append(list, Column{Name: "p_top", tidymodels: ".pred_top", Kind: number})
	}
	list = append(list,
		o.predictedColumn(),
		Column{Name: "entropy", tidymodels: ".entropy", Kind: number},
		Column{Name: "information", tidymodels: ".information", Kind: number})
	if o.Next {
		list = append(list, Column{Name: "next_gain", tidymodels: ".next_gain", Kind: number})
	}
	list = append(list, Column{Name: "at_least", tidymodels: ".at_least", Kind: truth})
	if o.abstains() {
		list = append(list, Column{Name: "abstain", tidymodels: ".abstain", Kind: truth})
	}
	if o.Full {
		for _, name := range []string{"weights", "a", "b"} {
			list = append(list, Column{Name: name, tidymodels: "." + name, Kind: text, list: true})
		}
	}
	return list
}

// append implements [rowMaker].
func (r *lawRows) append(ctx context.Context, dst []Cell, item string, answer *head.Answer) ([]Cell, error) {
	o, m, told := r.o, r.m, answer.Reported().To(r.o.Precision)
	classes, err := told.SummarizeContext(ctx, o.Levels, o.Top || o.MinTop > 0)
	if err != nil {
		return dst, err
	}
	entropy := answer.Law.Entropy()
	var gain float64
	if o.Next {
		gain, _ = answer.Law.Gain(1) // one vote has a closed form, which cannot fail
	}
	predicted := answer.Top()
	for i, class := range m.Classes {
		c := &classes[i]
		for k, level := range o.Levels {
			in := &c.Intervals[k]
			dst = append(dst, Cell{Text: item}, Cell{Text: class}, Cell{Number: c.Mean}, Cell{Number: c.SD}, Cell{Number: c.Median},
				Cell{Number: level}, Cell{Number: in.TwoSided.Lo}, Cell{Number: in.TwoSided.Hi}, Cell{Number: in.Upper.Hi}, Cell{Number: in.Lower.Lo})
			if o.HPD {
				set, _, err := told.Class(i).HighestDensityContext(ctx, level)
				if err != nil {
					return dst, err
				}
				dst = append(dst, Cell{Text: setText(set, o.Digits)})
			}
			if o.Top {
				dst = append(dst, Cell{Number: c.Top})
			}
			dst = append(dst, o.predicted(m, i, predicted), Cell{Number: entropy.Expected}, Cell{Number: entropy.Information})
			if o.Next {
				dst = append(dst, Cell{Number: gain})
			}
			dst = append(dst, truth(in.TwoSided.AtLeast))
			if o.abstains() {
				p := &classes[predicted]
				dst = append(dst, truth(o.abstain(p.Intervals[k].TwoSided.Length(), p.Top)))
			}
			if o.Full {
				dst = appendParameters(dst, told.Law.Marginal(i))
			}
		}
	}
	return dst, ctx.Err()
}

// appendParameters appends the weights and parameters of a mixture.
func appendParameters(dst []Cell, f *mixture.Beta) []Cell {
	var weights, as, bs []float64
	for c := range f.K() {
		w, x, y := f.Component(c)
		weights, as, bs = append(weights, w), append(as, x), append(bs, y)
	}
	return append(dst, Cell{list: weights}, Cell{list: as}, Cell{list: bs})
}

// setText writes intervals as [0.1,0.2] [0.7,0.9].
func setText(set []mixture.Interval, d Digits) string {
	var parts []string
	for _, s := range set {
		parts = append(parts, "["+d.Text(s.Lo)+","+d.Text(s.Hi)+"]")
	}
	return strings.Join(parts, " ")
}
