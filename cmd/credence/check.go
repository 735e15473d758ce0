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
	evaluate.CheckOptions
	data config.Settings
	out  outputFlags
}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := newVerb("check VOTES...", "See how far raters agree, and if their votes support intervals",
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
