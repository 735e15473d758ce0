package main

import (
	"fmt"
	"strconv"

	"credence/internal/printout"
	"credence/internal/words"
	"credence/predict"
)

// nextPlan is what credence next prints. It is also its JSON.
type nextPlan struct {
	Budget   int        `json:"budget"`
	Votes    int        `json:"votes"`
	Items    int        `json:"items"`
	Gain     float64    `json:"gain"`
	Even     float64    `json:"even"`
	Bound    float64    `json:"bound"`
	Variance float64    `json:"variance"`
	Plan     []nextItem `json:"plan"`

	candidates int // items that there are
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

// summary says what the budget gains.
func (l *nextPlan) summary() string {
	return fmt.Sprintf("%s on %s of %s: %s of the variance is expected to go (%.4g of %.4g); spread evenly, %s",
		words.Plural(l.Votes, "vote"), words.Thousands(l.Items), words.Plural(l.candidates, "item"),
		shareOf(l.Gain, l.Variance), l.Gain, l.Variance, shareOf(l.Even, l.Variance))
}

// shareOf writes part of a whole in percent.
func shareOf(part, whole float64) string {
	if whole == 0 {
		return "0%"
	}
	return strconv.FormatFloat(100*part/whole, 'f', 1, 64) + "%"
}

func (l *nextPlan) print(w *printout.Page) { w.Sections(l.heading, l.table) }

func (l *nextPlan) heading(w *printout.Page) { w.Paragraph("Gain  ", l.summary()+".") }

func (l *nextPlan) table(w *printout.Page) {
	if len(l.Plan) == 0 {
		return
	}
	t := printout.NewTable(1)
	header := []string{"rank", "item", "votes", "gain", "by one", "variance"}
	if l.cast() {
		header = append(header, "cast")
	}
	t.Add(header...)
	for _, r := range l.Plan[:min(len(l.Plan), predict.TableItems)] {
		row := []string{strconv.Itoa(r.Rank), printout.Ellipsis(r.Item, 24), strconv.Itoa(r.Votes), fmt.Sprintf("%.4f", r.Gain),
			fmt.Sprintf("%.4f", r.NextGain), fmt.Sprintf("%.4f", r.Variance)}
		if r.Cast != nil {
			row = append(row, words.Count(*r.Cast))
		}
		t.Add(row...)
	}
	w.Table(t)
	if more := len(l.Plan) - predict.TableItems; more > 0 {
		w.Note("… and %s more: -o next.csv writes all of them", words.Plural(more, "item"))
	}
}

// cast reports whether votes were taken into account.
func (l *nextPlan) cast() bool { return len(l.Plan) > 0 && l.Plan[0].Cast != nil }

func (l *nextPlan) columns() []predict.Column {
	number, whole := predict.Number, predict.Whole
	list := []predict.Column{
		{Name: "rank", Kind: whole},
		{Name: "item", Kind: predict.Text},
		{Name: "votes", Kind: whole},
		{Name: "gain", Kind: number},
		{Name: "next_gain", Kind: number},
		{Name: "variance", Kind: number},
	}
	if l.cast() {
		list = append(list, predict.Column{Name: "cast", Kind: number})
	}
	return list
}

func (l *nextPlan) rows() [][]any {
	var rows [][]any
	for _, r := range l.Plan {
		row := []any{int64(r.Rank), r.Item, int64(r.Votes), r.Gain, r.NextGain, r.Variance}
		if r.Cast != nil {
			row = append(row, *r.Cast)
		}
		rows = append(rows, row)
	}
	return rows
}
