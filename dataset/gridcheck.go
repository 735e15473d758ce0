package dataset

import (
	"fmt"
	"slices"

	"credence/internal/table"
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
	for i := range g.items {
		for k, code := range g.row(i) {
			keep[k] = keep[k] || code >= 0
		}
	}
	if !slices.Contains(keep, false) {
		return
	}
	var cols []int
	var names []string
	var cells []int32
	for k, ok := range keep {
		if ok {
			cols, names = append(cols, g.cols[k]), append(names, g.names[k])
		}
	}
	for i := range g.items {
		for k, code := range g.row(i) {
			if keep[k] {
				cells = append(cells, code)
			}
		}
	}
	g.cols, g.names, g.cells = cols, names, cells
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

// alone returns the columns that have labels, and share none with another:
// features, most likely, in a table that holds both.
func (g *grid) alone(class []int32) []string {
	if len(g.items) < enoughRows {
		return nil
	}
	const several = -2
	owner := map[int32]int{} // of a class: the column, or several
	for i := range g.items {
		for k, code := range g.row(i) {
			if code < 0 || class[code] < 0 {
				continue
			}
			if was, ok := owner[class[code]]; ok && was != k {
				owner[class[code]] = several
			} else if !ok {
				owner[class[code]] = k
			}
		}
	}
	has, shares := make([]bool, len(g.cols)), make([]bool, len(g.cols))
	for i := range g.items {
		for k, code := range g.row(i) {
			if code >= 0 && class[code] >= 0 {
				has[k] = true
				shares[k] = shares[k] || owner[class[code]] == several
			}
		}
	}
	var names []string
	for k, name := range g.names {
		if has[k] && !shares[k] {
			names = append(names, name)
		}
	}
	return names
}
