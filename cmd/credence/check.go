package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/evaluate"
)

// checkOptions is the command line of credence check.
type checkOptions struct {
	data       evaluateData
	ordered    bool
	replicates int
	seed       uint64
	out        outputFlags
}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check VOTES",
		Short: "See how far raters agree, and if their votes support intervals",
		Long: `Look at a file of votes before any training: how it is read, how far raters
agree, which raters differ, where disagreement sits, and whether the votes can
support intervals at all.

Agreement is the share of pairs of votes on an item that are equal,
Krippendorff's alpha (nominal; also ordinal and interval if the classes are
three numbers or more, or ordinal if --ordered says that they are in order) and
Fleiss's kappa, all with 95% intervals by bootstrap over items. Alpha and kappa
are 1 if votes on an item always agree and 0 if they agree as by chance.

Where votes carry raters, each is compared with the others on the same items:
how often others agree, and how often a class is used. Training takes raters to
be exchangeable, so those who differ are worth a look.

Votes may be long (item, rater, label), wide (one column a rater), counts (one
column a class) or fractions with a total; the form is found out or given.

VOTES may be - for CSV on standard input. The result is text, Markdown or JSON,
as --format or the name of -o says.

JSON:
  --json prints one object on one line: read_as, items, votes, votes_per_item,
  classes, pair_agreement, alpha_nominal, alpha_ordinal, alpha_interval and
  fleiss_kappa (each with value, se, lo and hi; null where it does not apply),
  confusions, contested, raters, support and warnings.`,
		Example: `  credence check votes.csv
  credence check ratings.csv --votes-form wide --ignore notes
  credence check grades.csv --classes mild,moderate,severe --ordered
  cat votes.csv | credence check - --json
  credence check votes.csv -o agreement.md`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("expected a file of votes, found %s", plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.data.addVotes(f)
	f.StringVar(&o.data.item, "item", "", "`column` of item ids (default: found by its name)")
	f.StringSliceVar(&o.data.na, "na", nil, "`spellings` of a missing value (default: NA, NaN, null and others)")
	f.StringSliceVar(&o.data.classes, "classes", nil, "`names` of the classes, in their order")
	f.BoolVar(&o.ordered, "ordered", false, "the classes are in order, as grades are")
	f.IntVar(&o.replicates, "bootstrap", 0, "`draws` for intervals (default 1000; 200 if items are many)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the bootstrap")
	o.out.declare(f, "table", "md", "json")
	return cmd
}

// checkReport is what credence check prints. It is also its JSON.
type checkReport struct {
	ReadAs string `json:"read_as"`
	*evaluate.CheckResult
	Contested []contestedItem `json:"contested"` // in place of that of the result

	classes []string
}

// contestedItem is an item whose votes disagree, by name.
type contestedItem struct {
	Item      string          `json:"item"`
	Agreement evaluate.Number `json:"agreement"`
	Votes     []float64       `json:"votes"`
}

func (o *checkOptions) run(cmd *cobra.Command, path string) error {
	if o.replicates < 0 {
		return usagef("--bootstrap %d: expected a number of draws", o.replicates)
	}
	if err := o.out.settle(); err != nil {
		return err
	}
	vo, err := o.data.readVotes()
	if err != nil {
		return err
	}
	if vo.Stdin, err = readStdin(cmd.InOrStdin(), path); err != nil {
		return err
	}
	votes, err := dataset.ReadVotes(path, vo)
	if err != nil {
		return err
	}
	ds := votes.Dataset()
	// The report says in its own words what one vote an item means.
	dataWarnings(cmd.ErrOrStderr(), ds)
	r, err := o.check(ds)
	if err != nil {
		return fmt.Errorf("checking %s: %w", path, err)
	}
	return o.out.write(cmd.OutOrStdout(), func(w io.Writer) error {
		if o.out.form == "json" {
			return json.NewEncoder(w).Encode(r)
		}
		return o.out.print(w, r.print)
	})
}

// check computes the report.
func (o *checkOptions) check(ds *dataset.Dataset) (*checkReport, error) {
	in := evaluate.CheckInput{
		Votes:   evaluate.Votes{Classes: len(ds.Classes), Counts: float64s(ds.Counts)},
		Classes: ds.Classes, Raters: ds.Raters,
	}
	for _, m := range in.Votes.Counts {
		if m != math.Trunc(m) {
			return nil, withHint(errors.New("some counts are fractions of a vote: agreement is between whole votes"),
				"shares times their total should be whole numbers of votes: is --total the right column?")
		}
	}
	in.Values = classNumbers(ds.Classes)
	// Where a row stands for several votes, single ballots do not tell all.
	if float64(len(ds.Ratings)) == ds.Votes.Votes {
		for _, b := range ds.Ratings {
			in.Ballots = append(in.Ballots, evaluate.Ballot{Item: int(b.Item), Rater: int(b.Rater), Class: int(b.Class)})
		}
	}
	c, err := evaluate.Check(in, evaluate.Bootstrap{Replicates: o.replicates, Seed: o.seed})
	if err != nil {
		return nil, err
	}
	none := evaluate.Number(math.NaN())
	if len(ds.Classes) < 3 || in.Values == nil && !o.ordered {
		c.AlphaOrdinal = evaluate.Estimate{Value: none, SE: none, Lo: none, Hi: none}
	}
	if len(ds.Classes) < 3 || in.Values == nil {
		c.AlphaInterval = evaluate.Estimate{Value: none, SE: none, Lo: none, Hi: none}
	}
	r := &checkReport{ReadAs: ds.Votes.String(), CheckResult: c, Contested: []contestedItem{}, classes: ds.Classes}
	// In JSON a list of nothing is [].
	c.Confusions, c.Raters = append([]evaluate.Confusion{}, c.Confusions...), append([]evaluate.Rater{}, c.Raters...)
	for _, x := range c.Contested {
		r.Contested = append(r.Contested, contestedItem{ds.Items[x.Item], x.Agreement, x.Votes})
	}
	return r, nil
}

// classNumbers returns the values of classes that are numbers, else nil.
func classNumbers(classes []string) []float64 {
	values := make([]float64, len(classes))
	for i, c := range classes {
		x, err := strconv.ParseFloat(c, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		values[i] = x
	}
	return values
}
