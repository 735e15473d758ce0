package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/config"
)

// checkOptions is the command line of credence check.
type checkOptions struct {
	data       config.Settings
	ordered    bool
	replicates int
	seed       uint64
	items      []int
	votes      []int
	out        outputFlags
}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := newVerb("check VOTES...", "See how far raters agree, and if their votes support intervals",
		"a file of votes", o.run)
	f := cmd.Flags()
	declare(f, &o.data, config.Check)
	f.BoolVar(&o.ordered, "ordered", false, "the classes are in order, as grades are")
	f.IntVar(&o.replicates, "bootstrap", 0, "`draws` for intervals (default 1000; 200 if items are many)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the bootstrap")
	f.IntSliceVar(&o.items, "plan-items", nil, "numbers of `items` to predict for (default those at hand, twice and four times)")
	f.IntSliceVar(&o.votes, "plan-votes", nil, "numbers of `votes` per item to predict for (default 2, 3, 5 and 10)")
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
	err := expect(o.replicates >= 0, "--bootstrap %d: expected a number of draws", o.replicates)
	if err := cmp.Or(err, o.checkPlan()); err != nil {
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
	c, err := evaluate.Check(ds, evaluate.CheckOptions{
		Ordered: o.ordered, Items: o.items, Votes: o.votes,
		Bootstrap: evaluate.Bootstrap{Replicates: o.replicates, Seed: o.seed},
	})
	if errors.Is(err, evaluate.ErrFractions) {
		err = withHint(err, "shares times their total should be whole numbers of votes: is --total the right column?")
	}
	if err != nil {
		return fmt.Errorf("checking %s: %w", strings.Join(paths, ", "), err)
	}
	r := &checkReport{ReadAs: ds.Votes.String(), CheckResult: c, classes: ds.Classes}
	return o.out.write(cmd, r, r.print, records(r.Designs))
}
