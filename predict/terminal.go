package predict

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"credence/head"
	"credence/internal/calculator"
	"credence/internal/printout"
)

// TableItems is how many items a table on a terminal shows.
const TableItems = 20

// terminalTable shows the first items on a terminal.
type terminalTable struct {
	table *Table
	w     io.Writer
}

func (t *terminalTable) Write(ctx context.Context, list []Prediction) (bool, error) {
	var b bytes.Buffer
	shown := list[:min(len(list), TableItems)]
	if t.table.dists && !t.table.format.OnlyMean {
		if err := t.table.printDists(ctx, &b, shown); err != nil {
			return false, err
		}
	} else {
		t.table.printMeans(&b, shown)
	}
	if len(list) > TableItems {
		b.WriteString("… and more: -o predictions.csv writes all of them, with every class\n")
	}
	_, err := t.w.Write(b.Bytes())
	return false, err
}

func (t *terminalTable) Close() error { return nil }

// printDists prints each item with the density of its predicted class.
func (t *Table) printDists(ctx context.Context, b *bytes.Buffer, list []Prediction) error {
	s := t.format.Summary
	s.Levels, s.needs = s.Levels[:1], needClasses|needTop
	shown := printout.NewTable(0, 1, 3, 4)
	shown.Add("item", "class", "mean", printout.Percent(s.Levels[0])+" interval", "density from 0 to 1", "P(top)")
	for j := range list {
		p := &list[j]
		if p.Err != nil {
			shown.Add(printout.Ellipsis(p.Item, 24), "-")
			continue
		}
		r, err := p.Summarize(ctx, &s)
		if err != nil {
			return err
		}
		class := &r.Classes[r.Predicted]
		in := class.Intervals[0].TwoSided
		mark := ""
		if in.AtLeast {
			mark = " *"
		}
		if r.Abstain(0) {
			mark += " abstain"
		}
		shown.Add(printout.Ellipsis(p.Item, 24), printout.Ellipsis(t.model.Classes[r.Predicted], 20), fmt.Sprintf("%.3f", p.Mean[r.Predicted]),
			fmt.Sprintf("[%.3f, %.3f]%s", in.Lo, in.Hi, mark),
			calculator.Sparkline(r.reported.Law.Marginal(r.Predicted), 24), printout.Share(class.Top))
	}
	shown.Print(b)
	if bytes.Contains(b.Bytes(), []byte("] *")) {
		b.WriteString("* holds at least that much: there is nothing smaller that the votes could tell\n")
	}
	return nil
}

// printMeans prints the mean of each item's predicted class, and what the method gives beside it.
func (t *Table) printMeans(b *bytes.Buffer, list []Prediction) {
	shown := printout.NewTable(0, 1)
	header := []string{"item", "class", "mean"}
	var beside []head.Column
	if !t.format.OnlyMean {
		beside = t.model.Traits().Columns(len(t.model.Members))
	}
	for _, c := range beside {
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
		for _, c := range beside {
			row = append(row, fmt.Sprintf("%.3f", c.Of(&p.Answer, i)))
		}
		shown.Add(row...)
	}
	shown.Print(b)
}
