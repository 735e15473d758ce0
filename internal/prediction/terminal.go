package prediction

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"credence/head"
	"credence/internal/calculator"
	"credence/internal/printout"
	"credence/model"
)

// TableItems is how many items a table on a terminal shows.
const TableItems = 20

// terminalTable shows the first items on a terminal.
type terminalTable struct {
	k *Maker
	w io.Writer
}

func (t *terminalTable) Write(_ context.Context, a *Answers) (bool, error) {
	var b bytes.Buffer
	t.k.table(&b, a)
	if len(a.Items) > TableItems {
		b.WriteString("… and more: -o predictions.csv writes all of them, with every class\n")
	}
	_, err := t.w.Write(b.Bytes())
	return false, err
}

func (t *terminalTable) Close() error { return nil }

// table implements [rowMaker]: each item with the density of its predicted class.
func (r *lawRows) table(b *bytes.Buffer, answered *Answers) {
	o, m := r.o, r.m
	level := o.Levels[0]
	shown := printout.NewTable(0, 1, 3, 4)
	shown.Add("item", "class", "mean", printout.Percent(level)+" interval", "density from 0 to 1", "P(top)")
	for j, id := range answered.Items[:min(len(answered.Items), TableItems)] {
		if answered.Dropped[j] {
			shown.Add(printout.Ellipsis(id, 24), "-")
			continue
		}
		answer := &answered.List[j]
		i := answer.Top()
		told := answer.Reported().To(o.Precision)
		f := told.Law.Marginal(i)
		class := told.Summarize([]float64{level}, true)[i]
		in := class.Intervals[0].TwoSided
		mark := ""
		if in.AtLeast {
			mark = " *"
		}
		if o.abstain(in.Length(), class.Top) {
			mark += " abstain"
		}
		shown.Add(printout.Ellipsis(id, 24), printout.Ellipsis(m.Classes[i], 20), fmt.Sprintf("%.3f", answer.Mean[i]),
			fmt.Sprintf("[%.3f, %.3f]%s", in.Lo, in.Hi, mark),
			calculator.Sparkline(f, 24), printout.Share(class.Top))
	}
	shown.Print(b)
	if bytes.Contains(b.Bytes(), []byte("] *")) {
		b.WriteString("* holds at least that much: there is nothing smaller that the votes could tell\n")
	}
}

// writeMeansTable writes the mean of each item's predicted class, and what is told beside it.
func writeMeansTable(m *model.Model, beside []head.Column, b *bytes.Buffer, a *Answers) {
	shown := printout.NewTable(0, 1)
	header := []string{"item", "class", "mean"}
	for _, c := range beside {
		header = append(header, c.Name)
	}
	shown.Add(header...)
	for j, id := range a.Items[:min(len(a.Items), TableItems)] {
		if a.Dropped[j] {
			shown.Add(printout.Ellipsis(id, 24), "-")
			continue
		}
		answer := &a.List[j]
		i := answer.Top()
		row := []string{printout.Ellipsis(id, 24), printout.Ellipsis(m.Classes[i], 20), fmt.Sprintf("%.3f", answer.Mean[i])}
		for _, c := range beside {
			row = append(row, fmt.Sprintf("%.3f", c.Of(answer, i)))
		}
		shown.Add(row...)
	}
	shown.Print(b)
}
