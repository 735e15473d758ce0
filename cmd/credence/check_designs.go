package main

import (
	"slices"
	"strconv"

	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/words"
)

// checkPlan refuses plans without sense before anything is read.
func (o *checkOptions) checkPlan() error {
	for _, n := range o.Items {
		if n < 1 {
			return usagef("--plan-items %d: expected at least 1", n)
		}
	}
	for _, m := range o.Votes {
		if m < 2 || m > evaluate.MaxPlannedVotes {
			return usagef("--plan-votes %d: expected 2 to %s", m, words.Thousands(evaluate.MaxPlannedVotes))
		}
	}
	return nil
}

// designs has a row for each number of votes per item and a column for each number
// of items.
func (r *checkReport) designs(w *printout.Page) {
	if len(r.Designs) == 0 {
		return
	}
	w.Heading("How many votes per item, how many items?")
	t := printout.NewTable()
	var items []int
	for _, d := range r.Designs {
		if !slices.Contains(items, d.Items) {
			items = append(items, d.Items)
		}
	}
	header := []string{"  votes"}
	for i, n := range items {
		of := words.Thousands(n)
		if i == 0 {
			of = "error of R: " + words.Plural(n, "item")
		}
		header = append(header, of)
	}
	t.Add(append(header, "0.25 with items", "loss per vote")...)
	for row := range slices.Chunk(r.Designs, len(items)) {
		cells := []string{strconv.Itoa(row[0].Votes)}
		for _, d := range row {
			if d.RatioSE > 10 { // there is next to no spread to be right about
				cells = append(cells, "> 10")
				continue
			}
			cells = append(cells, decimal(d.RatioSE, 2))
		}
		last := row[len(row)-1]
		needed := "-"
		if last.Needed.Known() && last.Needed < 1e9 {
			needed = words.Thousands(int(last.Needed))
		}
		t.Add(append(cells, needed, plusMinus(evaluate.Estimate{Value: last.Loss, SE: last.LossSE}, 3))...)
	}
	w.Table(t)
	last := words.Thousands(items[len(items)-1])
	w.Paragraph("  ", "R is the squared error of predicted means over the predicted variance; its standard error is at most 0.25 if "+
		"intervals are supported, here if features explain half of the spread. The loss is that of a model without features on new "+
		"items, fitted to "+last+", ± over "+last+".")
}
