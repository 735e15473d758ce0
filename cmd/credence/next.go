package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"credence/evaluate"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/mixture"
	"credence/predict"
)

// nextOptions is the command line of credence next.
type nextOptions struct {
	from   predictOptions // for reading the items
	budget int
	most   int
	order  string
	all    bool
	raters string // file of costs
	prices []string
	out    outputFlags
}

func newNext() *cobra.Command {
	var o nextOptions
	cmd := newVerb("next RUN ITEMS...", "Rank items by the value of another vote", "a run and a file of items", o.run)
	itemsOrVotes(cmd)
	f := cmd.Flags()
	f.IntVar(&o.budget, "budget", 0, "`votes` to allocate to the items")
	f.StringVar(&o.raters, "raters", "", "`file` with columns rater and cost, to also choose raters; the budget is then in the unit of costs")
	f.StringSliceVar(&o.prices, "price", nil, "`prices` of votes by people and judges, such as human=1,gpt=0.01, to also choose judges; the budget is then in the unit of prices")
	f.IntVar(&o.most, "max-votes", 0, "maximum further `votes` per item (default 10; fewer with many classes, 3 where the width of intervals is uncertain)")
	f.StringVar(&o.order, "order", "rank", "`order` of the items: rank or input")
	f.BoolVar(&o.all, "all", false, "also list items that are allocated no votes")
	declare(f, &o.from.data, config.Predict)
	f.Lookup("votes").Usage = votesUsage
	f.IntVar(&o.from.batch, "batch", 1024, "`items` to read at a time")
	declareThreads(f, 0)
	o.out.declare(f, "table", "md", "csv", "jsonl", "parquet", "json")
	return cmd
}

// check validates the flags before any file is read.
func (o *nextOptions) check(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("budget") {
		return withHint(usagef("no --budget: expected a number of votes"), "--budget 200 allocates 200 votes to the items")
	}
	return cmp.Or(
		expect(o.budget >= 1, "--budget %d: expected a number of votes", o.budget),
		expect(o.most >= 1 || !cmd.Flags().Changed("max-votes"), "--max-votes %d: expected at least 1", o.most),
		oneOf("order", o.order, "rank", "input"),
		expect(o.from.batch >= 1, "--batch %d: expected at least 1", o.from.batch),
		expect(o.raters == "" || o.prices == nil, "--raters and --price exclude each other"),
		expect(o.raters == "" && o.prices == nil || !o.all && o.order == "rank",
			"--raters and --price list votes in the order of their value: they exclude --all and --order"))
}

func (o *nextOptions) run(cmd *cobra.Command, args []string) error {
	run, items := args[0], args[1:]
	if err := cmp.Or(o.check(cmd), o.out.begin(cmd, append(o.from.inputs(run, items), o.raters))); err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	m, err := loadDistributions(cmd.ErrOrStderr(), run, "the value of a vote")
	if err != nil {
		return err
	}
	var costs []evaluate.Cost
	if o.raters != "" {
		if costs, err = readCosts(ctx, o.raters, m); err != nil {
			return err
		}
	}
	prices, err := parsePrices(m, o.prices)
	if err != nil {
		return err
	}
	p, in, err := o.from.open(ctx, cmd, m, run, items)
	if err != nil {
		return orStopped(ctx, err)
	}
	defer in.Close()
	// The largest number of votes to plan on one item.
	most := evaluate.MostVotes(len(m.Classes))
	uncertain := o.most == 0 && m.Calibration != nil && m.Calibration.Uncertain()
	if uncertain {
		most = min(most, fewVotes)
	}
	most = min(cmp.Or(o.most, most), o.budget)
	c := &candidates{most: most, uncertain: uncertain, from: p, judged: prices != nil}
	if err := p.each(ctx, in, predict.Options{}, c.add); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return orStopped(ctx, err)
	}
	stop() // from here on a signal ends the program at once: there is nothing to clean up
	if prices != nil {
		err = o.planPriced(cmd, c, prices, run)
	} else {
		err = o.plan(cmd, c, costs)
	}
	return cmp.Or(err, p.end())
}

// fewVotes is the default of --max-votes where the scale of distributions is uncertain: many votes on one item would then
// appear valuable because they show the scale, which is that of all items.
const fewVotes = 3

// plan allocates the budget and writes the plan: votes on items or, if costs are given, of raters on items.
func (o *nextOptions) plan(cmd *cobra.Command, c *candidates, costs []evaluate.Cost) error {
	var list votePlan
	var rows rowWriter
	if costs != nil {
		most := cmp.Or(o.most, min(defaultRaters, evaluate.MostVotes(len(c.from.model.Classes))))
		l, err := c.ask(o.budget, costs, most)
		if err != nil {
			return withHint(err, "try a smaller --max-votes, which has fewer outcomes")
		}
		list, rows = l, records(l.Plan)
	} else {
		l, err := c.plan(o.budget)
		if err != nil {
			return err
		}
		l.choose(o)
		list, rows = l, records(l.Plan)
		if c.uncertain && slices.ContainsFunc(l.Plan, func(x nextItem) bool { return x.Votes == fewVotes }) {
			c.from.warn(fmt.Sprintf("the width of intervals is uncertain (see credence inspect): at most %d votes are planned per item; see --max-votes", fewVotes))
		}
	}
	return o.write(cmd, c, list, rows)
}

// write writes a plan.
func (o *nextOptions) write(cmd *cobra.Command, c *candidates, list votePlan, rows rowWriter) error {
	report := func(w *printout.Page) {
		w.Sections(func(w *printout.Page) { w.Paragraph("Gain  ", list.summary()+".") }, list.table)
	}
	if err := o.out.write(cmd, list, report, rows); err != nil {
		return err
	}
	if warning := list.warning(c.most); warning != "" && len(c.rows) > 0 {
		c.from.warn(warning)
	}
	if !o.out.forPeople() && o.out.form != "json" {
		fmt.Fprintln(cmd.ErrOrStderr(), list.summary())
	}
	return nil
}

// votePlan is the result of credence next, printed as a report or as JSON.
type votePlan interface {
	summary() string         // expected gain of the budget
	warning(most int) string // about a budget that is not used up, or ""
	table(w *printout.Page)
}

// candidates are the items that could be voted on.
type candidates struct {
	from      *predictor
	most      int
	uncertain bool // whether most is low since the scale of distributions is uncertain
	rows      []nextItem
	dists     []*mixture.Dirichlet
	judged    bool // judges may be asked: keep the items
	items     []predict.JudgedItem
}

// add appends the predictions of a batch.
func (c *candidates) add(b *predict.Batch) (more bool, err error) {
	for j := range b.Predictions {
		p := &b.Predictions[j]
		if p.Err != nil {
			continue
		}
		row := nextItem{Item: p.Item}
		for _, v := range p.Variance {
			row.Variance += v
		}
		if c.from.votes != nil {
			cast := c.from.votes.Cast(row.Item)
			row.Cast = &cast
		}
		c.rows, c.dists = append(c.rows, row), append(c.dists, p.Dist)
		if c.judged {
			x := predict.JudgedItem{ID: p.Item, Features: b.Features, Row: make([]float32, b.Rows.Width()), Prediction: &p.Decoded}
			if err := b.Rows.ReadRow(j, x.Row); err != nil {
				return false, err
			}
			c.items = append(c.items, x)
		}
	}
	return true, nil
}

// plan allocates the budget to items.
func (c *candidates) plan(budget int) (*nextPlan, error) {
	gains, err := evaluate.Gains(c.dists, budget, c.most)
	if err != nil {
		return nil, withHint(err, "try a smaller --max-votes, which has fewer outcomes")
	}
	p, err := evaluate.Allocate(gains, budget)
	if err != nil {
		return nil, err
	}
	l := &nextPlan{Budget: budget, Votes: budget - p.Left, Gain: p.Total, Even: p.Even, Bound: p.Bound,
		Plan: c.rows, candidates: len(c.rows)}
	for rank, j := range p.Order {
		c.rows[j].Rank = rank + 1
	}
	for j := range c.rows {
		row := &c.rows[j]
		row.Votes, row.Gain, row.NextGain = p.Votes[j], p.Gain[j], gains[j][1]
		l.Variance += row.Variance
		if row.Votes > 0 {
			l.Items++
		}
	}
	return l, nil
}

// choose keeps the items to list and sorts them.
func (l *nextPlan) choose(o *nextOptions) {
	if !o.all {
		l.Plan = slices.DeleteFunc(l.Plan, func(r nextItem) bool { return r.Votes == 0 })
	}
	if o.order == "rank" {
		slices.SortFunc(l.Plan, func(a, b nextItem) int { return a.Rank - b.Rank })
	}
	if l.Plan == nil {
		l.Plan = []nextItem{} // an empty list is [] in JSON, not null
	}
}

// nextPlan is the allocation of the budget to items.
type nextPlan struct {
	Budget   int        `json:"budget"`
	Votes    int        `json:"votes"`
	Items    int        `json:"items"`
	Gain     float64    `json:"gain"`
	Even     float64    `json:"even"`
	Bound    float64    `json:"bound"`
	Variance float64    `json:"variance"`
	Plan     []nextItem `json:"plan"`

	candidates int // number of items in all
}

// nextItem is an item of the plan.
type nextItem struct {
	Rank     int      `json:"rank"`
	Item     string   `json:"item"`
	Votes    int      `json:"votes"`
	Gain     float64  `json:"gain"`
	NextGain float64  `json:"next_gain"`
	Variance float64  `json:"variance"`
	Cast     *float64 `json:"cast,omitempty"`
}

func (l *nextPlan) summary() string {
	return fmt.Sprintf("%s on %s of %s are expected to remove %s of the variance (%.4g of %.4g); spread evenly, %s",
		words.Plural(l.Votes, "vote"), words.Thousands(l.Items), words.Plural(l.candidates, "item"),
		shareOf(l.Gain, l.Variance), l.Gain, l.Variance, shareOf(l.Even, l.Variance))
}

// shareOf formats part of a whole in percent.
func shareOf(part, whole float64) string {
	if whole == 0 {
		return "0%"
	}
	return strconv.FormatFloat(100*part/whole, 'f', 1, 64) + "%"
}

// warning reports votes of the budget that could not be allocated.
func (l *nextPlan) warning(most int) string {
	left := l.Budget - l.Votes
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %d not allocated: at most %d are planned per item; see --max-votes",
		words.Plural(left, "vote"), l.Budget, most)
}

func (l *nextPlan) table(w *printout.Page) {
	header := []string{"rank", "item", "votes", "gain", "by one", "variance"}
	if len(l.Plan) > 0 && l.Plan[0].Cast != nil { // votes were taken into account
		header = append(header, "cast")
	}
	planTable(w, printout.NewTable(1), header, l.Plan, "item", func(r nextItem) []string {
		row := []string{strconv.Itoa(r.Rank), printout.Ellipsis(r.Item, 24), strconv.Itoa(r.Votes), fmt.Sprintf("%.4f", r.Gain),
			fmt.Sprintf("%.4f", r.NextGain), fmt.Sprintf("%.4f", r.Variance)}
		if r.Cast != nil {
			row = append(row, words.Count(*r.Cast))
		}
		return row
	})
}

// planTable prints the first rows of a plan, and the number of the others.
func planTable[T any](w *printout.Page, t *printout.Table, header []string, plan []T, noun string,
	row func(T) []string) {
	if len(plan) == 0 {
		return
	}
	t.Add(header...)
	for _, r := range plan[:min(len(plan), predict.TableItems)] {
		t.Add(row(r)...)
	}
	w.Table(t)
	if more := len(plan) - predict.TableItems; more > 0 {
		w.Note("… and %s more: -o next.csv writes all of them", words.Plural(more, noun))
	}
}
