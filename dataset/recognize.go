package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
)

// total returns the column with the number of votes, or −1.
func (g *grid) total(opts *VotesOptions) int {
	if opts.TotalColumn != "" {
		return slices.Index(g.names, opts.TotalColumn)
	}
	return known(g.names, totalNames)
}

// recognize finds the form of a grid as [VotesOptions] says, or refuses.
func (g *grid) recognize(opts *VotesOptions) (Form, error) {
	total := g.total(opts)
	if opts.Classes != nil {
		if areClasses(g.names, opts.Classes) {
			return Counted, nil
		}
		if total >= 0 && areClasses(slices.Delete(slices.Clone(g.names), total, total+1), opts.Classes) {
			return Fractions, nil
		}
	}
	blank := slices.Contains(g.cells, -1)
	values, numeric := numbersOf(g.text.names, func(s string) (float64, bool) { return table.ParseFormatted(s, g.t.Traits().Commas) })
	if blank || !numeric {
		return Wide, nil
	}
	whole, negative, largest := true, false, 0.0
	for _, x := range values {
		whole = whole && x == math.Trunc(x)
		negative = negative || x < 0
		largest = max(largest, x)
	}
	if whole && !negative && largest > 10 {
		if opts.Columns == nil && g.measured(values) {
			return Auto, advise(&ParseError{File: g.t.Name(), Msg: fmt.Sprintf("columns [%s] hold whole numbers with another sum for almost every item, none of them 0, so they look like features, not like counts of votes",
				words.Few(g.names))}, "", SetForm)
		}
		return Counted, nil
	}
	// Votes have few values; measurements have many.
	if !whole && len(values) > fewLevels && (negative || largest > 1) && total < 0 {
		return Auto, advise(&ParseError{File: g.t.Name(), Msg: fmt.Sprintf("columns [%s] hold %s different numbers, which look like features: expected votes as labels or whole counts, or as fractions beside a column with their total",
			words.Few(g.names), words.Thousands(len(values)))}, "", SetForm)
	}
	return Auto, g.ambiguous(total, negative)
}

// ambiguous shows every way in which the grid can be read, in the words of its
// first item.
func (g *grid) ambiguous(total int, negative bool) error {
	first := make([]string, len(g.names))
	for k, code := range g.row(0) {
		first[k] = g.text.names[code]
	}
	var forms []Form
	var readings strings.Builder
	add := func(form Form, format string, args ...any) {
		forms = append(forms, form)
		fmt.Fprintf(&readings, "\n  %v: %s", form, fmt.Sprintf(format, args...))
	}
	if _, classes, err := g.text.classes(g.t, &VotesOptions{}); err == nil {
		add(Wide, "%s [%s] who chose among the classes %s; item %q got the votes %s",
			number(len(g.names), "rater"), words.Few(g.names), classList(classes), g.items[0], words.Few(first))
	}
	if !negative {
		add(Counted, "%s [%s]; item %q got %s votes for them",
			number(len(g.names), "class"), words.Few(g.names), g.items[0], words.Few(first))
	}
	if total >= 0 && !negative && len(g.names) > 2 {
		rest, shares := slices.Clone(g.names), slices.Clone(first)
		rest, shares = slices.Delete(rest, total, total+1), slices.Delete(shares, total, total+1)
		add(Fractions, "%s [%s]; item %q got the shares %s of %s votes",
			number(len(rest), "class"), words.Few(rest), g.items[0], words.Few(shares), first[total])
	}
	which := "these votes can be read in more than one way"
	if len(forms) == 1 {
		which = "the form of these votes is not plain"
	}
	return &ParseError{File: g.t.Name(), Msg: which + ":" + readings.String(), Err: &Advice{Settings: []Setting{SetForm}, Forms: forms}}
}

// areClasses reports whether columns have the names of all classes, and no others; each is free of repeats.
func areClasses(columns, classes []string) bool {
	if len(columns) != len(classes) {
		return false
	}
	index := newLevelIndex(classes, false)
	of := map[int32]bool{}
	for _, name := range columns {
		of[index.code(name)] = true
	}
	return len(of) == len(classes) && !of[UnknownLevel]
}
