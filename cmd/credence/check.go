package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	json       bool
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

JSON:
  --json prints one object on one line: read_as, items, votes, votes_per_item,
  classes, pair_agreement, alpha_nominal, alpha_ordinal, alpha_interval and
  fleiss_kappa (each with value, se, lo and hi; null where it does not apply),
  confusions, contested, raters, support and warnings.`,
		Example: `  credence check votes.csv
  credence check ratings.csv --votes-form wide --ignore notes
  credence check grades.csv --classes mild,moderate,severe --ordered
  credence check votes.csv --json`,
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
	f.StringSliceVar(&o.data.classes, "classes", nil, "`names` of the classes, in their order")
	f.BoolVar(&o.ordered, "ordered", false, "the classes are in order, as grades are")
	f.IntVar(&o.replicates, "bootstrap", 0, "`draws` for intervals (default 1000; 200 if items are many)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the bootstrap")
	f.BoolVar(&o.json, "json", false, "print one line of JSON")
	return cmd
}

// checkReport is what credence check prints. It is also its JSON.
type checkReport struct {
	ReadAs string `json:"read_as"`
	*evaluate.CheckResult
	Contested []contestedItem `json:"contested"` // in place of that of the result

	classes []string
	width   int
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
	vo, err := o.data.votesOptions()
	if err != nil {
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
	if o.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	var text bytes.Buffer
	r.print(&text)
	_, err = cmd.OutOrStdout().Write(text.Bytes())
	return err
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
	r := &checkReport{ReadAs: ds.Votes.String(), CheckResult: c, Contested: []contestedItem{}, classes: ds.Classes, width: terminalWidth()}
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

func (r *checkReport) print(w *bytes.Buffer) {
	for _, section := range []func(*bytes.Buffer){
		r.heading, r.verdict, r.agreement, r.numbers, r.use, r.disagreement, r.raters, r.warn,
	} {
		from := w.Len()
		section(w)
		if w.Len() > from {
			w.WriteByte('\n')
		}
	}
	w.Truncate(w.Len() - 1)
}

func (r *checkReport) heading(w *bytes.Buffer) { wrapped(w, "Read as  ", r.ReadAs, r.width) }

func (r *checkReport) verdict(w *bytes.Buffer) {
	answer := map[string]string{"yes": "Yes", "weak": "Weakly", "no": "No"}[r.Support.Intervals]
	fmt.Fprintf(w, "Can these votes support intervals?  %s\n", answer)
	for _, reason := range r.Support.Reasons {
		wrapped(w, "  - ", reason, r.width)
	}
}

func (r *checkReport) agreement(w *bytes.Buffer) {
	if r.Support.PairedItems == 0 {
		return
	}
	w.WriteString("Agreement between votes on the same item\n")
	t := &table{left: map[int]bool{0: true, 2: true}}
	t.add("", "", "95% interval")
	for _, a := range []struct {
		name   string
		of     evaluate.Estimate
		always bool
	}{
		{"pairs of votes that agree", r.PairAgreement, true},
		{"Krippendorff's α, nominal", r.AlphaNominal, true},
		{"Krippendorff's α, ordinal", r.AlphaOrdinal, false},
		{"Krippendorff's α, interval", r.AlphaInterval, false},
		{"Fleiss's κ", r.FleissKappa, true},
	} {
		if a.always || a.of.Value.Known() {
			t.add("  "+a.name, decimal(a.of.Value, 3), between(a.of, 3))
		}
	}
	t.print(w)
	if r.AlphaInterval.Value.Known() {
		w.WriteString("  (ordinal and interval mean something if the classes' numbers are a scale)\n")
	}
}

// mostRows is how many rows a list has at most.
const mostRows = 12

// numbers shows how many items have how many votes.
func (r *checkReport) numbers(w *bytes.Buffer) {
	per := r.VotesPerItem
	if len(per) > mostRows {
		per = bands(per)
	}
	w.WriteString("Votes an item\n")
	t := &table{left: map[int]bool{2: true}}
	t.add("  votes", "items", "")
	for i, p := range per {
		votes := withThousands(float64(p.Votes))
		if len(r.VotesPerItem) > mostRows && i+1 < len(per) && per[i+1].Votes > p.Votes+1 {
			votes += "–" + withThousands(float64(per[i+1].Votes-1))
		}
		if len(r.VotesPerItem) > mostRows && i+1 == len(per) && r.VotesPerItem[len(r.VotesPerItem)-1].Votes > p.Votes {
			votes += "–" + withThousands(float64(r.VotesPerItem[len(r.VotesPerItem)-1].Votes))
		}
		t.add(votes, withThousands(float64(p.Items)), shareBar(float64(p.Items)/float64(r.Items), 30))
	}
	t.print(w)
}

// bands puts numbers of votes together: each band begins with the number of
// votes it is listed under.
func bands(per []evaluate.VotesPerItem) []evaluate.VotesPerItem {
	least, most := per[0].Votes, per[len(per)-1].Votes
	step := evaluate.Number(math.Ceil(float64(most-least+1) / mostRows))
	var out []evaluate.VotesPerItem
	for from := least; from <= most; from += step {
		out = append(out, evaluate.VotesPerItem{Votes: from})
	}
	for _, p := range per {
		out[int((p.Votes-least)/step)].Items += p.Items
	}
	return out
}

// use shows how often classes are voted for.
func (r *checkReport) use(w *bytes.Buffer) {
	w.WriteString("Classes, and the chance that another vote on the item agrees\n")
	t := &table{left: map[int]bool{0: true, 3: true, 5: true}}
	t.add("  class", "votes", "share", "", "agrees", "95% interval")
	for _, c := range r.Classes[:min(len(r.Classes), 2*mostRows)] {
		t.add("  "+ellipsis(c.Class, 24), withThousands(float64(c.Votes)), percentage(c.Share), shareBar(float64(c.Share), 15),
			decimal(c.Agreement.Value, 3), between(c.Agreement, 3))
	}
	t.print(w)
	if more := len(r.Classes) - 2*mostRows; more > 0 {
		fmt.Fprintf(w, "  and %d more: --json lists all\n", more)
	}
}

// disagreement shows between which classes, and on which items, votes differ.
func (r *checkReport) disagreement(w *bytes.Buffer) {
	if len(r.Contested) == 0 {
		return
	}
	if len(r.classes) > 2 {
		w.WriteString("Where disagreement sits: between the classes\n")
		t := &table{left: map[int]bool{0: true, 3: true}}
		t.add("", "share", "by chance", "")
		for _, c := range r.Confusions {
			t.add("  "+ellipsis(c.First, 20)+" and "+ellipsis(c.Second, 20), percentage(c.Share), percentage(c.Chance), shareBar(float64(c.Share), 20))
		}
		t.print(w)
		w.WriteByte('\n')
	}
	w.WriteString("Where disagreement sits: the most contested items\n")
	t := &table{left: map[int]bool{0: true, 2: true}}
	t.add("  item", "pairs agree", "votes")
	for _, c := range r.Contested[:min(len(r.Contested), 5)] {
		var order []int
		for i, m := range c.Votes {
			if m > 0 {
				order = append(order, i)
			}
		}
		if len(order) > 5 { // they may not all be shown
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Votes[b], c.Votes[a]) })
		}
		var votes []string
		for _, i := range order {
			votes = append(votes, ellipsis(r.classes[i], 16)+": "+withThousands(c.Votes[i]))
		}
		t.add("  "+ellipsis(c.Item, 30), percentage(c.Agreement), ellipsis(strings.Join(votes, ", "), 40))
	}
	t.print(w)
}

// raters shows those who differ, the plainest cases first.
func (r *checkReport) raters(w *bytes.Buffer) {
	if len(r.Raters) == 0 {
		return
	}
	var differ []evaluate.Rater
	for _, x := range r.Raters {
		if x.Differs {
			differ = append(differ, x)
		}
	}
	least := func(x evaluate.Rater) float64 {
		p := 1.0
		for _, q := range []evaluate.Number{x.AgreementP, x.UsageP} {
			if q.Known() {
				p = min(p, float64(q))
			}
		}
		return p
	}
	slices.SortStableFunc(differ, func(a, b evaluate.Rater) int { return cmp.Compare(least(a), least(b)) })
	if len(differ) == 0 {
		wrapped(w, "", fmt.Sprintf("None of the %s votes unlike the others, as far as their votes can tell.", plural(len(r.Raters), "rater")), r.width)
		return
	}
	fmt.Fprintf(w, "Raters who differ: %d of %d\n", len(differ), len(r.Raters))
	t := &table{left: map[int]bool{0: true, 6: true}}
	t.add("  rater", "votes", "agrees", "expected", "p", "p, use", "votes more often for")
	for _, x := range differ[:min(len(differ), mostRows)] {
		t.add("  "+ellipsis(x.Name, 20), withThousands(float64(x.Votes)), decimal(x.Agreement, 3), decimal(x.Expected, 3),
			pValue(x.AgreementP), pValue(x.UsageP), r.leaning(x))
	}
	t.print(w)
	if more := len(differ) - mostRows; more > 0 {
		fmt.Fprintf(w, "  and %d more: --json lists all\n", more)
	}
}

// leaning names the class that a rater uses most in excess of the others.
func (r *checkReport) leaning(x evaluate.Rater) string {
	best := 0
	for i, e := range x.Excess {
		if e > x.Excess[best] {
			best = i
		}
	}
	if len(x.Excess) == 0 || !(x.Excess[best] > 0.005) {
		return "-"
	}
	return fmt.Sprintf("%s (+%.0f%%)", ellipsis(r.classes[best], 16), 100*x.Excess[best])
}

// warn leaves out the reasons that the verdict has given.
func (r *checkReport) warn(w *bytes.Buffer) {
	given := map[string]bool{}
	for _, reason := range r.Support.Reasons {
		given[reason] = true
	}
	var rest []string
	for _, text := range r.Warnings {
		if !given[text] {
			rest = append(rest, text)
		}
	}
	bullets(w, rest, r.width)
}

// between writes the interval of an estimate.
func between(e evaluate.Estimate, decimals int) string {
	if !e.Lo.Known() || !e.Hi.Known() {
		return "-"
	}
	return decimal(e.Lo, decimals) + " to " + decimal(e.Hi, decimals)
}

// percentage writes a share: 12.3%.
func percentage(x evaluate.Number) string {
	if !x.Known() {
		return "-"
	}
	return decimal(100*x, 1) + "%"
}
