package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
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
	f.IntVar(&o.Bootstrap.Replicates, "bootstrap", 0, "bootstrap `draws` for intervals (default 1000; 200 for many items)")
	f.Uint64Var(&o.Bootstrap.Seed, "seed", 0, "`seed` of the bootstrap")
	f.IntSliceVar(&o.Items, "plan-items", nil, "numbers of `items` to plan for (default: the current number, twice and four times that)")
	f.IntSliceVar(&o.Votes, "plan-votes", nil, "numbers of `votes` per item to plan for (default 2, 3, 5 and 10)")
	o.out.declare(f, "table", "md", "csv", "json")
	notZero(f, "bootstrap")
	return cmd
}

// checkReport is the result of credence check, printed as a report or as JSON.
type checkReport struct {
	ReadAs string `json:"read_as"`
	*evaluate.CheckResult
	Judges *evaluate.JudgeReport `json:"judges,omitempty"`

	classes []string
}

func (o *checkOptions) run(cmd *cobra.Command, paths []string) error {
	err := cmp.Or(checkDraws(o.Bootstrap), o.checkPlan(), o.out.begin(cmd, paths))
	if err != nil {
		return err
	}
	vo := o.data.LoadOptions().VotesOptions
	o.Ordered = vo.Ordered
	if vo.Stdin, err = readStdin(cmd.InOrStdin(), paths...); err != nil {
		return err
	}
	ds, err := dataset.Load(cmd.Context(), dataset.LoadOptions{Votes: paths, VotesOptions: vo})
	if err != nil {
		return err
	}
	// The warning about one vote per item is left to the report.
	dataWarnings(cmd.ErrOrStderr(), ds)
	c, err := evaluate.Check(ds, o.CheckOptions)
	if errors.Is(err, evaluate.ErrFractions) {
		err = withHint(err, "shares times their total should be whole numbers of votes: is --total the right column?")
	}
	if err != nil {
		return fmt.Errorf("checking %s: %w", strings.Join(paths, ", "), err)
	}
	r := &checkReport{ReadAs: ds.Votes.String(), CheckResult: c, classes: ds.Classes}
	if r.Judges, err = checkJudges(cmd, ds, o.Bootstrap); err != nil {
		return fmt.Errorf("checking %s: %w", strings.Join(paths, ", "), err)
	}
	return o.out.write(cmd, r, r.print, records(r.Designs))
}

// checkPlan validates --plan-items and --plan-votes before any file is read.
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

// designs prints a table with a row per number of votes per item and a column per
// number of items.
func (r *checkReport) designs(w *printout.Page) {
	if len(r.Designs) == 0 {
		return
	}
	t := w.NewTable("How many votes per item, how many items?")
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
			if d.RatioSE > 10 { // there is almost no spread to estimate
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

func (r *checkReport) print(w *printout.Page) {
	w.Sections(r.heading, r.verdict, r.designs, r.judges, r.agreement, r.votesPerItem, r.classUse, r.disagreement, r.raters, r.separable, r.warn)
}

func (r *checkReport) heading(w *printout.Page) { w.Paragraph("Read as  ", r.ReadAs) }

func (r *checkReport) verdict(w *printout.Page) {
	verdict := map[string]string{"yes": "Yes", "weak": "Weakly", "no": "No"}[r.Support.Intervals]
	w.Heading("Can these votes support intervals?  %s", verdict)
	for _, reason := range r.Support.Reasons {
		w.Paragraph("  - ", reason.String())
	}
}

func (r *checkReport) agreement(w *printout.Page) {
	if r.Support.PairedItems == 0 {
		return
	}
	t := w.NewTable("Agreement between votes on the same item", 0, 2)
	t.Add("", "", "95% interval")
	for _, a := range []struct {
		name   string
		of     evaluate.IntervalEstimate
		always bool
	}{
		{"pairs of votes that agree", r.PairAgreement, true},
		{"Krippendorff's α, nominal", r.AlphaNominal, true},
		{"Krippendorff's α, ordinal", r.AlphaOrdinal, false},
		{"Krippendorff's α, interval", r.AlphaInterval, false},
		{"Fleiss's κ", r.FleissKappa, true},
	} {
		if a.always || a.of.Value.Known() {
			t.Add("  "+a.name, decimal(a.of.Value, 3), between(a.of, 3))
		}
	}
	w.Table(t)
	if r.AlphaInterval.Value.Known() {
		w.Note("(ordinal and interval are meaningful if the class numbers form a scale)")
	}
}

// maxRows is the largest number of rows of a list.
const maxRows = 12

// votesPerItem prints the distribution of the number of votes per item.
func (r *checkReport) votesPerItem(w *printout.Page) {
	per := r.VotesPerItem
	inBands := len(per) > maxRows
	if inBands {
		per = bands(per)
	}
	t := w.NewTable("Votes per item", 2)
	t.Add("  votes", "items", "")
	for i, p := range per {
		votes, last := words.Count(float64(p.Votes)), r.VotesPerItem[len(r.VotesPerItem)-1].Votes
		if i+1 < len(per) {
			last = per[i+1].Votes - 1
		}
		if inBands && last > p.Votes {
			votes += "–" + words.Count(float64(last))
		}
		t.Add(votes, words.Thousands(p.Items), shareBar(float64(p.Items)/float64(r.Items), 30))
	}
	w.Table(t)
}

// bands groups numbers of votes into at most maxRows bands of equal width. A band
// is listed under its smallest number of votes.
func bands(per []evaluate.VotesPerItem) []evaluate.VotesPerItem {
	least, most := per[0].Votes, per[len(per)-1].Votes
	step := evaluate.Number(math.Ceil(float64(most-least+1) / maxRows))
	var out []evaluate.VotesPerItem
	for from := least; from <= most; from += step {
		out = append(out, evaluate.VotesPerItem{Votes: from})
	}
	for _, p := range per {
		out[int((p.Votes-least)/step)].Items += p.Items
	}
	return out
}

// classUse prints the share of votes for each class.
func (r *checkReport) classUse(w *printout.Page) {
	t := w.NewTable("Classes, and the chance that another vote on the item agrees", 0, 3, 5)
	t.Add("  class", "votes", "share", "", "agrees", "95% interval")
	for _, c := range r.Classes[:min(len(r.Classes), 2*maxRows)] {
		t.Add("  "+printout.Ellipsis(c.Class, 24), words.Count(float64(c.Votes)), percent(c.Share, 1), shareBar(float64(c.Share), 15),
			decimal(c.Agreement.Value, 3), between(c.Agreement, 3))
	}
	w.Table(t)
	if more := len(r.Classes) - 2*maxRows; more > 0 {
		w.Note("and %d more: --json lists all", more)
	}
}

// disagreement prints the classes and the items on which votes differ most.
func (r *checkReport) disagreement(w *printout.Page) {
	if len(r.Contested) == 0 {
		return
	}
	if len(r.classes) > 2 {
		t := w.NewTable("Disagreement between classes", 0, 3)
		t.Add("", "share", "by chance", "")
		for _, c := range r.Confusions {
			t.Add("  "+printout.Ellipsis(c.First, 20)+" and "+printout.Ellipsis(c.Second, 20), percent(c.Share, 1), percent(c.Chance, 1), shareBar(float64(c.Share), 20))
		}
		w.Table(t)
		w.WriteByte('\n')
	}
	t := w.NewTable("Most contested items", 0, 2)
	t.Add("  item", "pairs agree", "votes")
	for _, c := range r.Contested[:min(len(r.Contested), 5)] {
		var order []int
		for i, m := range c.Votes {
			if m > 0 {
				order = append(order, i)
			}
		}
		if len(order) > 5 { // not all fit: the largest counts first
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Votes[b], c.Votes[a]) })
		}
		var votes []string
		for _, i := range order {
			votes = append(votes, printout.Ellipsis(r.classes[i], 16)+": "+words.Count(c.Votes[i]))
		}
		t.Add("  "+printout.Ellipsis(c.Item, 30), percent(c.Agreement, 1), printout.Ellipsis(strings.Join(votes, ", "), 40))
	}
	w.Table(t)
}

// raters prints the raters who differ from the others, smallest p-value first.
func (r *checkReport) raters(w *printout.Page) {
	if len(r.Raters) == 0 {
		return
	}
	differ := slices.DeleteFunc(slices.Clone(r.Raters), func(x evaluate.Rater) bool { return !x.Differs })
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
		w.Paragraph("", fmt.Sprintf("None of the %s votes differently from the others, as far as these votes show.", words.Plural(len(r.Raters), "rater")))
		return
	}
	t := w.NewTable(fmt.Sprintf("Raters who differ: %d of %d", len(differ), len(r.Raters)), 0, 6)
	t.Add("  rater", "votes", "agrees", "expected", "p", "p, use", "votes more often for")
	for _, x := range differ[:min(len(differ), maxRows)] {
		t.Add("  "+printout.Ellipsis(x.Name, 20), words.Thousands(x.Votes), decimal(x.Agreement, 3), decimal(x.Expected, 3),
			pValue(x.AgreementP), pValue(x.UsageP), r.excessClass(x))
	}
	w.Table(t)
	if more := len(differ) - maxRows; more > 0 {
		w.Note("and %d more: --json lists all", more)
	}
}

// separable prints whether a model can distinguish the raters, and why.
func (r *checkReport) separable(w *printout.Page) {
	g := r.RaterGraph
	if g.Votes == 0 {
		return
	}
	verdict := map[bool]string{true: "Yes", false: "No"}[g.Separable]
	w.Heading("Can raters be distinguished?  %s", verdict)
	for _, reason := range g.Reasons {
		w.Paragraph("  - ", reason.String())
	}
	t := printout.NewTable(0, 1).Bare()
	t.Add("  votes per rater", fmt.Sprintf("mean %s, median %s, least %s, most %s", decimal(g.MeanVotes, 1), words.Count(float64(g.MedianVotes)),
		words.Thousands(g.LeastVotes), words.Thousands(g.MostVotes)))
	connected := "connected"
	if g.Components > 1 {
		connected = words.Thousands(g.Components) + " groups without a common item"
		if g.Modelled > 0 {
			connected += fmt.Sprintf("; %s of %s can be modelled", words.Thousands(g.Modelled), words.Plural(g.Raters, "rater"))
		}
	}
	t.Add("  items and raters", connected)
	if g.BiasSE.Known() {
		t.Add("  error of a bias", fmt.Sprintf("± %s expected on the logit scale, ± %s with the fewest votes", decimal(g.BiasSE, 2), decimal(g.BiasSEMost, 2)))
	}
	w.Table(t)
}

// excessClass returns the class that a rater votes for most in excess of the others.
func (r *checkReport) excessClass(x evaluate.Rater) string {
	if len(x.Excess) == 0 || !(slices.Max(x.Excess) > 0.005) {
		return "-"
	}
	most := slices.Max(x.Excess)
	return fmt.Sprintf("%s (+%.0f%%)", printout.Ellipsis(r.classes[slices.Index(x.Excess, most)], 16), 100*most)
}

// warn prints the warnings, except for reasons that the verdict lists already.
func (r *checkReport) warn(w *printout.Page) {
	reasons := words.Each(r.Support.Reasons, evaluate.Message.String)
	given := func(text string) bool { return slices.Contains(reasons, text) }
	w.Bullets(slices.DeleteFunc(words.Each(r.Warnings, evaluate.Message.String), given))
}

// between formats the interval of an estimate.
func between(e evaluate.IntervalEstimate, decimals int) string {
	if !e.Lo.Known() || !e.Hi.Known() {
		return "-"
	}
	return decimal(e.Lo, decimals) + " to " + decimal(e.Hi, decimals)
}
