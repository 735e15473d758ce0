package main

import (
	"fmt"
	"strconv"

	"credence/internal/printout"
	"credence/internal/words"
	"credence/predict"
)

// nextPlan is how the budget is spread over items.
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

// warning says what no item may take.
func (l *nextPlan) warning(most int) string {
	left := l.Budget - l.Votes
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %d left: no more than %d on an item are planned; see --max-votes",
		words.Plural(left, "vote"), l.Budget, most)
}

func (l *nextPlan) table(w *printout.Page) {
	if len(l.Plan) == 0 {
		return
	}
	t := printout.NewTable(1)
	header := []string{"rank", "item", "votes", "gain", "by one", "variance"}
	if l.Plan[0].Cast != nil { // votes were taken into account
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
