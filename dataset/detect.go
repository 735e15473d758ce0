package dataset

import (
	"context"
	"math"
	"slices"

	"credence/internal/table"
	"credence/record"
)

// proposalRows is the number of rows from which columns of votes are proposed.
const proposalRows = 10_000

// voteColumns returns the columns of t that look like those of raters: as in a file of votes, they share their
// labels and the others do not. It returns nil if there are none.
func voteColumns(ctx context.Context, t table.Table, item int, opts VotesOptions) []string {
	opts.Form, opts.Columns = Wide, nil
	g := &grid{t: t, most: proposalRows}
	if g.columns(item, &opts) != nil || g.read(ctx, item, &opts) != nil || len(g.items) < enoughRows {
		return nil
	}
	class, classes, err := g.text.classes(t, &opts)
	if err != nil {
		return nil
	}
	alone := g.isolated(class)
	var columns []string
	for _, name := range g.names {
		if !slices.Contains(alone, name) {
			columns = append(columns, name)
		}
	}
	if len(columns) < 2 || len(columns) == len(g.names) && len(classes) > fewLevels {
		return nil
	}
	return columns
}

// sumsToOneNumber returns Counted if all values are whole, one of them is 0, and all rows have the same sum, of two or
// more: that many votes per item. It returns Fractions if the rows of fractions sum to 1. Else it returns Auto.
func (g *grid) sumsToOneNumber(values []float64) Form {
	if len(g.items) < 2*enoughRows || len(g.cols) < 2 {
		return Auto
	}
	whole, zero, same := true, false, true
	first := 0.0
	for i := range g.items {
		sum := 0.0
		for _, code := range g.row(i) {
			x := values[code]
			if x < 0 {
				return Auto
			}
			whole, zero = whole && x == math.Trunc(x), zero || x == 0
			sum += x
		}
		if i == 0 {
			first = sum
		}
		same = same && math.Abs(sum-first) < 1e-9
		if !whole && math.Abs(sum-1) > roundingOf(len(g.cols)) {
			return Auto
		}
	}
	switch {
	case !whole && math.Abs(first-1) <= roundingOf(len(g.cols)):
		return Fractions
	case whole && zero && same && first >= 2:
		return Counted
	}
	return Auto
}

// roundingOf returns how far n fractions with two digits may be from a sum of 1.
func roundingOf(n int) float64 { return 0.0051 * float64(n) }

// unlikeOthers is isolated for few rows, in which raters may share no label by chance: it returns the columns of numbers
// without a shared label if the others have no number at all, or only whole numbers where these have fractions.
func (g *grid) unlikeOthers(shared []int) []string {
	fraction, number, text := make([]bool, len(g.cols)), make([]bool, len(g.cols)), make([]bool, len(g.cols))
	for i, code := range g.cells {
		if code < 0 {
			continue
		}
		k := i % len(g.cols)
		x, ok := record.ParseNumber(g.text.names[code], g.t.Traits().Commas)
		text[k], number[k], fraction[k] = text[k] || !ok, number[k] || ok, fraction[k] || ok && x != math.Trunc(x)
	}
	// apart returns the columns of numbers without a shared label that are unlike, if no other column is like them.
	apart := func(unlike []bool) (names []string) {
		for k, name := range g.names {
			if unlike[k] && !text[k] && shared[k] == 0 {
				names = append(names, name)
			} else if unlike[k] {
				return nil
			}
		}
		if len(names) == len(g.names) {
			return nil
		}
		return names
	}
	if names := apart(number); names != nil {
		return names
	}
	return apart(fraction)
}

// flagsBesideCounts returns the columns of only 0 and 1 if there are few rows, and all other columns have only numbers above
// 10: counts of votes, or votes of raters next to measurements. Otherwise it returns nil.
func (g *grid) flagsBesideCounts(values []float64) []string {
	if len(g.items) >= enoughRows {
		return nil
	}
	var flags []string
	for k, name := range g.names {
		least, most := math.Inf(1), math.Inf(-1)
		for i := range g.items {
			x := values[g.row(i)[k]]
			least, most = min(least, x), max(most, x)
		}
		switch {
		case most <= 1:
			flags = append(flags, name)
		case least <= 10:
			return nil
		}
	}
	if len(flags) < 2 || len(flags) == len(g.names) {
		return nil
	}
	return flags
}
