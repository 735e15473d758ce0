package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
)

// checkOptions is the command line of credence check.
type checkOptions struct {
	evaluate.CheckOptions
	data config.Settings
	out  outputFlags
}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := newVerb("check VOTES...", "Check rater agreement, and whether the votes support intervals",
		"a file of votes", o.run)
	f := cmd.Flags()
	declare(f, &o.data, config.Check)
	f.BoolVar(&o.Ordered, "ordered", false, "the classes are in order, as grades are")
	f.IntVar(&o.Bootstrap.Replicates, "bootstrap", 0, "`draws` for intervals (default 1000; 200 if items are many)")
	f.Uint64Var(&o.Bootstrap.Seed, "seed", 0, "seed of the bootstrap")
	f.IntSliceVar(&o.Items, "plan-items", nil, "numbers of `items` to predict for (default those at hand, twice and four times)")
	f.IntSliceVar(&o.Votes, "plan-votes", nil, "numbers of `votes` per item to predict for (default 2, 3, 5 and 10)")
	o.out.declare(f, "table", "md", "csv", "json")
	notZero(f, "bootstrap")
	return cmd
}

// checkReport is what credence check prints. It is also its JSON.
type checkReport struct {
	ReadAs string `json:"read_as"`
	*evaluate.CheckResult

	classes []string
}

func (o *checkOptions) run(cmd *cobra.Command, paths []string) error {
	err := cmp.Or(checkDraws(o.Bootstrap), o.checkPlan())
	if err != nil {
		return err
	}
	if err := o.out.begin(cmd, paths); err != nil {
		return err
	}
	vo := o.data.LoadOptions().VotesOptions
	if vo.Stdin, err = readStdin(cmd.InOrStdin(), paths...); err != nil {
		return err
	}
	ds, err := dataset.Load(cmd.Context(), dataset.LoadOptions{Votes: paths, VotesOptions: vo})
	if err != nil {
		return err
	}
	// The report says in its own words what one vote per item means.
	dataWarnings(cmd.ErrOrStderr(), ds)
	c, err := evaluate.Check(ds, o.CheckOptions)
	if errors.Is(err, evaluate.ErrFractions) {
		err = withHint(err, "shares times their total should be whole numbers of votes: is --total the right column?")
	}
	if err != nil {
		return fmt.Errorf("checking %s: %w", strings.Join(paths, ", "), err)
	}
	r := &checkReport{ReadAs: ds.Votes.String(), CheckResult: c, classes: ds.Classes}
	return o.out.write(cmd, r, r.print, records(r.Designs))
}

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
