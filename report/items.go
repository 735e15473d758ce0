package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"credence/evaluate"
	"credence/internal/words"
)

// Of more items than listedItems the first are listed, and in print no more than printedItems: a page has to open,
// and a printed one to be carried.
const (
	listedItems  = 5000
	printedItems = 200
)

// itemTable is the table of items. Without scripts, a row has its ranks in several orders as CSS variables, and the
// chosen button selects the variable that orders the rows; the browser's own search finds an item.
type itemTable struct {
	Class  string // whose probability is shown; "" if it is that of the predicted class of each item
	Level  string
	Rows   []itemRow
	Orders []string
	Note   string // on items that are not listed
	Print  string // on items that are not printed
}

// itemRow is an item. Ranks are its places in the orders, from 1; Kind is the set of filters it passes, as CSS classes.
type itemRow struct {
	ID, Class, Votes, Share, Mean, Interval, Width, Kind string
	Ranks                                                []int
}

// itemOrders are the orders of the table after that of the data.
var itemOrders = []struct {
	name  string
	value func(x *item) float64 // ascending
}{
	{"probability, lowest first", func(x *item) float64 { return x.mean[x.class] }},
	{"probability, highest first", func(x *item) float64 { return -x.mean[x.class] }},
	{"widest interval", func(x *item) float64 { return -x.width }},
	{"share of votes, highest first", func(x *item) float64 { return -x.share() }},
	{"votes farthest from the prediction", func(x *item) float64 { return -math.Abs(x.share() - x.mean[x.class]) }},
}

// share returns the share of votes for the class shown, NaN without votes.
func (x *item) share() float64 {
	if x.total == 0 {
		return math.NaN()
	}
	return x.votes[x.class] / x.total
}

// newItemTable returns the table of items, or nil if there are none.
func newItemTable(in *Input, items []item, level float64) *itemTable {
	if len(items) == 0 {
		return nil
	}
	t := &itemTable{Level: percent(level), Orders: []string{"order of the data"}}
	if len(in.Classes) == 2 {
		t.Class = in.Classes[1]
	}
	if n := len(items); n > listedItems {
		t.Note = fmt.Sprintf("The first %s of %s items are listed; credence predict writes all.", words.Thousands(listedItems), words.Thousands(n))
		items = items[:listedItems]
	}
	if n := len(items); n > printedItems {
		t.Print = fmt.Sprintf("The first %s of %s items are printed; the page in a browser has the others.", words.Thousands(printedItems), words.Thousands(n))
	}
	t.Rows = make([]itemRow, len(items))
	for j := range items {
		t.Rows[j] = items[j].row(in.Classes)
		t.Rows[j].Ranks = []int{j + 1}
	}
	at := make([]int, len(items))
	for _, o := range itemOrders {
		t.Orders = append(t.Orders, o.name)
		for j := range at {
			at[j] = j
		}
		slices.SortStableFunc(at, func(a, b int) int {
			x, y := o.value(&items[a]), o.value(&items[b])
			if math.IsNaN(x) || math.IsNaN(y) { // items without votes come last
				return cmp.Compare(b2i(math.IsNaN(x)), b2i(math.IsNaN(y)))
			}
			return cmp.Compare(x, y)
		})
		for rank, j := range at {
			t.Rows[j].Ranks = append(t.Rows[j].Ranks, rank+1)
		}
	}
	return t
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// row returns the cells of an item.
func (x *item) row(classes []string) itemRow {
	r := itemRow{ID: x.id, Class: classes[x.class], Votes: "none", Share: dash, Mean: number(evaluate.Number(x.mean[x.class]), 3),
		Interval: number(evaluate.Number(x.lo), 3) + " to " + number(evaluate.Number(x.hi), 3), Width: number(evaluate.Number(x.width), 3), Kind: "none"}
	if x.total == 0 {
		return r
	}
	r.Votes = count(x.votes[x.class]) + " of " + count(x.total)
	r.Share = number(evaluate.Number(x.share()), 2)
	r.Kind = "voted"
	most := slices.Max(x.votes)
	if most < x.total {
		r.Kind += " split"
	}
	if x.votes[argmax(x.mean)] < most {
		r.Kind += " against"
	}
	return r
}
