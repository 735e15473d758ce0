package dataset

import (
	"fmt"
	"slices"

	"credence/internal/table"
	"credence/internal/words"
)

// What a table of votes with one row per item may hold besides votes.

// enoughRows is how many it takes for a column not to look odd by chance.
const enoughRows = 5

// dropBlank leaves out columns that have neither a name nor a value, as
// spreadsheets write them to the right of a table.
func (g *grid) dropBlank() {
	blank := g.t.Traits().Blank
	if blank == nil {
		return
	}
	keep := make([]bool, len(g.cols))
	for k, col := range g.cols {
		keep[k] = !blank[col]
	}
	for i, code := range g.cells {
		k := i % len(keep)
		keep[k] = keep[k] || code >= 0
	}
	if slices.Contains(keep, false) {
		g.cols, g.names, g.cells = where(g.cols, keep), where(g.names, keep), where(g.cells, keep)
	}
}

// where returns the values of rows, of one value for each of keep, at which keep is true.
func where[T any](rows []T, keep []bool) []T {
	var kept []T
	for i, x := range rows {
		if keep[i%len(keep)] {
			kept = append(kept, x)
		}
	}
	return kept
}

// checkIDs refuses a table whose first column has no known name but looks like
// ids: row numbers, or a different text in every row. As votes they would make
// every item a class of its own.
func (g *grid) checkIDs() error {
	if len(g.items) < enoughRows || len(g.cols) < 2 {
		return nil
	}
	seen := make(map[int32]bool, len(g.items))
	counting, texts := true, true
	for i := range g.items {
		code := g.row(i)[0]
		if code < 0 || seen[code] {
			return nil
		}
		seen[code] = true
		x, ok := table.ParseNumber(g.text.names[code], false)
		counting = counting && ok && (x == float64(i) || x == float64(i+1))
		texts = texts && (!ok || g.text.names[code][0] == '0' && x >= 1)
	}
	if !counting && !texts {
		return nil
	}
	return advise(&ParseError{File: g.t.Name(), Msg: fmt.Sprintf("column %q has a different value in every row, such as %q: does it name the items?",
		g.names[0], g.text.names[g.row(0)[0]])}, g.names[0], SetItem, SetIgnore)
}

// notVotes refuses a table in which columns hardly share a label with another: they would be
// taken for raters who agree with nobody.
func (g *grid) notVotes(alone []string) error {
	a := &Advice{Settings: []Setting{SetVoteColumns, SetForm}}
	msg := fmt.Sprintf("columns [%s] hardly share a label with another, so they look like features: expected votes, one per row or one column per rater",
		words.Few(alone))
	for _, name := range g.names {
		if !slices.Contains(alone, name) {
			a.Columns = append(a.Columns, name)
		}
	}
	if a.Columns != nil {
		a.Settings = a.Settings[:1]
		msg = fmt.Sprintf("columns [%s] hardly share a label with the others, so they look like features among votes", words.Few(alone))
	}
	return &ParseError{File: g.t.Name(), Msg: msg, Err: a}
}

// measured reports whether whole numbers look measured, not counted: none is 0, and
// their sum differs from item to item as numbers of votes seldom do.
func (g *grid) measured(values []float64) bool {
	if slices.Contains(values, 0) {
		return false
	}
	sums := map[float64]bool{}
	for i := range g.items {
		sum := 0.0
		for _, code := range g.row(i) {
			sum += values[code]
		}
		sums[sum] = true
	}
	return len(g.cols) > 1 && len(g.items) >= 2*enoughRows && len(sums) > min(fewLevels, len(g.items)/2)
}

// alone returns the columns that have labels, and share hardly any with another:
// features, most likely, in a table that holds both.
func (g *grid) alone(class []int32) []string {
	if len(g.items) < enoughRows {
		return nil
	}
	const several = -2
	owner := map[int32]int{} // of a class: the column, or several
	for i, code := range g.cells {
		if code < 0 || class[code] < 0 {
			continue
		}
		k := i % len(g.cols)
		if was, ok := owner[class[code]]; !ok {
			owner[class[code]] = k
		} else if was != k {
			owner[class[code]] = several
		}
	}
	has, shared := make([]int, len(g.cols)), make([]int, len(g.cols))
	for i, code := range g.cells {
		if code < 0 || class[code] < 0 {
			continue
		}
		k := i % len(g.cols)
		has[k]++
		if owner[class[code]] == several {
			shared[k]++
		}
	}
	var names []string
	for k, name := range g.names {
		// Measurements meet now and then; raters say the same things.
		if 10*shared[k] < has[k] {
			names = append(names, name)
		}
	}
	return names
}
