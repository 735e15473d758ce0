package main

import (
	"bytes"
	"fmt"
	"math"

	"credence/baseline"
	"credence/dataset"
	"credence/mixture"
	"credence/model"
)

// answers are the predictions of some items: distributions or, of a model
// without any, estimates. An item without a prediction has nil.
type answers struct {
	items     []string
	mixtures  []*mixture.Dirichlet
	estimates []*baseline.Estimate
}

// answer predicts the items of a batch.
func (p *predictor) answer(batch *dataset.Dataset) (*answers, error) {
	a := &answers{items: batch.Items}
	var err error
	if p.model.Head.Method() == "" {
		a.mixtures, err = p.model.Predict(batch, model.PredictOptions{Batch: p.options.batch})
		return a, err
	}
	got, err := p.model.Estimate(batch)
	for j := range got {
		a.estimates = append(a.estimates, &got[j])
	}
	return a, err
}

// drop takes back the prediction of an item.
func (a *answers) drop(j int) {
	if a.mixtures != nil {
		a.mixtures[j] = nil
	} else {
		a.estimates[j] = nil
	}
}

// rows returns the rows of an item, a value for each column; none if it has no
// prediction.
func (p *predictor) rows(a *answers, j int) [][]any {
	switch {
	case a.mixtures != nil && a.mixtures[j] != nil:
		return p.options.rows(p.model, a.items[j], a.mixtures[j])
	case a.estimates != nil && a.estimates[j] != nil:
		return p.options.rivalRows(p.model, a.items[j], a.estimates[j])
	}
	return nil
}

// columns returns those of the model's kind.
func (p *predictor) columns() []predictColumn {
	if p.model.Head.Method() == "" {
		return p.options.columns()
	}
	text, number := dataset.ParquetText, dataset.ParquetNumber
	list := []predictColumn{
		{name: "item", kind: text},
		{name: "class", kind: text},
		{name: "mean", tidymodels: ".pred", kind: number},
		p.options.predictedColumn(),
	}
	for _, c := range uncertainties(p.model) {
		list = append(list, predictColumn{name: c.name, tidymodels: "." + c.name, kind: number})
	}
	list = append(list, predictColumn{name: "distribution", tidymodels: ".distribution", kind: text})
	if p.options.names == "tidymodels" {
		rename(list)
	}
	return list
}

// uncertainty is a column of what a method says beside the mean of a class,
// named for what it is.
type uncertainty struct {
	name string
	of   func(e *baseline.Estimate, class int) float64
}

// uncertainties are those that the model's method has.
func uncertainties(m *model.Model) []uncertainty {
	sd := func(e *baseline.Estimate, i int) float64 { return math.Sqrt(e.Variance[i]) }
	switch m.Head.Method() {
	case baseline.Softmax:
		if len(m.Members) > 1 {
			return []uncertainty{{"member_sd", sd}}
		}
		return []uncertainty{{"label_sd", sd}}
	case baseline.Dropout:
		return []uncertainty{{"pass_sd", sd}}
	case baseline.MVE:
		return []uncertainty{{"label_sd", sd}}
	case baseline.QD:
		return []uncertainty{
			{"label_lower", func(e *baseline.Estimate, i int) float64 { return e.Lower[i] }},
			{"label_upper", func(e *baseline.Estimate, i int) float64 { return e.Upper[i] }},
			{"label_width", func(e *baseline.Estimate, i int) float64 { return e.Upper[i] - e.Lower[i] }},
		}
	case baseline.Confidence:
		return []uncertainty{{"confidence", func(e *baseline.Estimate, _ int) float64 { return 1 - e.Uncertainty }}}
	case baseline.Evidential:
		return []uncertainty{
			{"evidential_sd", sd},
			{"vacuity", func(e *baseline.Estimate, _ int) float64 { return e.Uncertainty }},
		}
	}
	return nil
}

// distributionOf says which distribution of the class probability a method
// without votes together gives: none, or that of evidential, which is of
// another kind.
func distributionOf(m *model.Model) string {
	if m.Head.Method() == baseline.Evidential {
		return "evidential"
	}
	return "none"
}

// rivalRows returns a row for each class of one item.
func (o *predictOptions) rivalRows(m *model.Model, item string, e *baseline.Estimate) [][]any {
	top, columns, distribution := e.Top(), uncertainties(m), distributionOf(m)
	var list [][]any
	for i, class := range m.Classes {
		row := []any{item, class, e.Mean[i], o.predicted(m, i, top)}
		for _, c := range columns {
			row = append(row, c.of(e, i))
		}
		list = append(list, append(row, distribution))
	}
	return list
}

// writeEstimates shows the first items on a terminal.
func (t *predictTable) writeEstimates(a *answers) error {
	columns := uncertainties(t.p.model)
	shown := &table{left: map[int]bool{0: true, 1: true}}
	header := []string{"item", "class", "mean"}
	for _, c := range columns {
		header = append(header, c.name)
	}
	shown.add(header...)
	for j, id := range a.items[:min(len(a.items), tableItems)] {
		e := a.estimates[j]
		if e == nil {
			shown.add(ellipsis(id, 24), "-")
			continue
		}
		i := e.Top()
		row := []string{ellipsis(id, 24), ellipsis(t.p.model.Classes[i], 20), fmt.Sprintf("%.3f", e.Mean[i])}
		for _, c := range columns {
			row = append(row, fmt.Sprintf("%.3f", c.of(e, i)))
		}
		shown.add(row...)
	}
	var b bytes.Buffer
	shown.print(&b)
	t.more(&b, a)
	_, err := t.w.Write(b.Bytes())
	return err
}

// more says that there are more items than are shown.
func (t *predictTable) more(b *bytes.Buffer, a *answers) {
	if len(a.items) > tableItems {
		b.WriteString("… and more: -o predictions.csv writes all of them, with every class\n")
	}
}
