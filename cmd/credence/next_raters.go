package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/table"
	"credence/internal/words"
	"credence/model"
)

// readCosts reads the cost of a vote of each rater. Raters must be known to the model.
func readCosts(ctx context.Context, path string, m *model.Model) ([]evaluate.Cost, error) {
	if m.RaterModel == nil {
		return nil, withHint(fmt.Errorf("--raters %s: the model has no rater model", path),
			"train on votes that name their raters, with --raters on; without --raters, credence next ranks items for any rater")
	}
	t, err := table.ReadSheet(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	rater, cost := t.Column("rater", "annotator", "worker", "name"), t.Column("cost", "price")
	if rater < 0 || cost < 0 {
		return nil, t.Errorf(-1, -1, "expected the columns rater and cost, found [%s]", words.Few(t.Header))
	}
	known := make(map[string]int, len(m.Raters))
	for i, name := range m.Raters {
		known[name] = i
	}
	first := map[string]int{}
	var costs []evaluate.Cost
	for i, row := range t.Rows {
		name := row[rater]
		at, ok := known[name]
		line, twice := first[name]
		x, number := t.Number(row[cost])
		switch {
		case name == "":
			return nil, t.Errorf(i, rater, "expected a rater, found an empty cell")
		case !ok:
			return nil, withHint(t.Errorf(i, rater, "unknown rater %q: the model was trained on %s", name, words.Plural(len(m.Raters), "rater")),
				"credence raters RUN lists them")
		case twice:
			return nil, t.Errorf(i, rater, "duplicate rater %q, first in line %d", name, line)
		case !number || !(x > 0):
			return nil, t.Errorf(i, cost, "expected a cost above 0 for rater %q, found %q", name, row[cost])
		}
		first[name] = t.Line(i)
		costs = append(costs, evaluate.Cost{Rater: at, Cost: x})
	}
	if len(costs) == 0 {
		return nil, t.Errorf(-1, -1, "expected rows below the header, found none")
	}
	return costs, nil
}

// askPlan is the list of votes to request from raters.
type askPlan struct {
	Budget   int       `json:"budget"`
	Spent    float64   `json:"spent"`
	Votes    int       `json:"votes"`
	Items    int       `json:"items"`
	Raters   int       `json:"raters"`
	Gain     float64   `json:"gain"`
	Variance float64   `json:"variance"`
	Plan     []askVote `json:"plan"`

	candidates int    // number of items in all
	by         string // who votes, if not single raters
}

// askVote is a vote to request.
type askVote struct {
	Rank     int     `json:"rank"`
	Item     string  `json:"item"`
	Rater    string  `json:"rater"`
	Cost     float64 `json:"cost"`
	Gain     float64 `json:"gain"`
	PerCost  float64 `json:"gain_per_cost"`
	Variance float64 `json:"variance"`
}

// defaultRaters is the default of the largest number of raters to ask about one item.
const defaultRaters = 3

// ask allocates a budget to votes of raters.
func (c *candidates) ask(budget int, costs []evaluate.Cost, most int) (*askPlan, error) {
	m := c.from.model
	o := evaluate.PlanOptions{Budget: float64(budget), Most: most, Voted: c.voted}
	asked, err := evaluate.PlanVotes(c.dists, m.RaterModel, costs, o)
	if err != nil {
		return nil, err
	}
	l := &askPlan{Budget: budget, Votes: len(asked), Plan: []askVote{}, candidates: len(c.rows)}
	for _, r := range c.rows {
		l.Variance += r.Variance
	}
	items, raters := map[int]bool{}, map[int]bool{}
	for i, a := range asked {
		items[a.Item], raters[a.Rater] = true, true
		l.add(i+1, c.rows[a.Item], m.Raters[a.Rater], a.Cost, a.Gain)
	}
	l.Items, l.Raters = len(items), len(raters)
	return l, nil
}

// add adds a vote to the plan.
func (l *askPlan) add(rank int, item nextItem, rater string, cost, gain float64) {
	l.Spent += cost
	l.Gain += gain
	l.Plan = append(l.Plan, askVote{rank, item.Item, rater, cost, gain, gain / cost, item.Variance})
}

// voted reports whether a rater of the model has voted on an item.
func (c *candidates) voted(item, rater int) bool {
	return c.from.votes.By(rater, c.rows[item].Item)
}

func (l *askPlan) summary() string {
	return fmt.Sprintf("%s of %s on %s of %s for %s are expected to remove %s of the variance (%.4g of %.4g)",
		words.Plural(l.Votes, "vote"), cmp.Or(l.by, words.Plural(l.Raters, "rater")), words.Thousands(l.Items), words.Plural(l.candidates, "item"),
		strconv.FormatFloat(l.Spent, 'g', 6, 64), shareOf(l.Gain, l.Variance), l.Gain, l.Variance)
}

// warning reports a budget that pays for no vote.
func (l *askPlan) warning(int) string {
	if l.Votes > 0 {
		return ""
	}
	return fmt.Sprintf("a budget of %d buys no vote of any value", l.Budget)
}

func (l *askPlan) table(w *printout.Page) {
	header := []string{"rank", "item", "rater", "cost", "gain", "per cost", "variance"}
	planTable(w, printout.NewTable(1, 2), header, l.Plan, "vote", func(v askVote) []string {
		return []string{strconv.Itoa(v.Rank), printout.Ellipsis(v.Item, 24), printout.Ellipsis(v.Rater, 24), strconv.FormatFloat(v.Cost, 'g', 6, 64),
			fmt.Sprintf("%.4f", v.Gain), fmt.Sprintf("%.4f", v.PerCost), fmt.Sprintf("%.4f", v.Variance)}
	})
}
