package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/words"
	"credence/record"
)

// Form is the format of a table of votes.
type Form uint8

const (
	// Auto detects the form from the columns; see [VotesOptions].
	Auto Form = iota
	// Long has one row per vote: item, label and, optionally, rater.
	Long
	// Wide has one row per item and one column per rater; blank cells are missing.
	Wide
	// Counted has one row per item and one column per class with the number of
	// its votes.
	Counted
	// Fractions has one row per item, one column per class with its share of the
	// votes, and a column with the number of votes.
	Fractions
)

var formNames = [...]string{"auto", "long", "wide", "counts", "fractions"}

// String returns the name used on the command line: auto, long, wide, counts
// or fractions.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// MarshalText writes the form's name.
func (f Form) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the form's name.
func (f *Form) UnmarshalText(text []byte) error {
	i := slices.Index(formNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("expected a form of votes among %v, found %q", formNames, text)
	}
	*f = Form(i)
	return nil
}

// Interpretation describes how votes were read. Its String is printed before
// training, so that users notice a misinterpretation.
type Interpretation struct {
	File        string  // the file the votes came from
	Form        Form    // the form they were in
	ItemColumn  string  // "" when rows were numbered 0, 1, 2, …
	RaterColumn string  // long form; "" when there is none
	LabelColumn string  // long form
	Raters      int     // 0 if the votes have no raters
	Items       int     // items of the data set
	Unvoted     int     // items without a vote
	Classes     int     // d
	Votes       float64 // all votes together
	MinVotes    float64 // fewest votes of an item that has any
	MaxVotes    float64 // most votes of an item

	several []Interpretation // one per file, if the files were read in different ways
}

// count sets the numbers of items, classes, raters and votes to those of ds.
func (in *Interpretation) count(ds *Dataset) {
	in.Items, in.Classes, in.Raters = len(ds.Items), len(ds.Classes), len(ds.Raters)
	in.Unvoted, in.Votes, in.MinVotes, in.MaxVotes = 0, 0, math.Inf(1), 0
	for i := range ds.Items {
		m := ds.VotesOf(i)
		if m == 0 {
			in.Unvoted++
			continue
		}
		in.Votes += m
		in.MinVotes = min(in.MinVotes, m)
		in.MaxVotes = max(in.MaxVotes, m)
	}
	if in.Votes == 0 {
		in.MinVotes = 0
	}
}

// String reads like "2,687 items, 5 classes, 1–4 votes per item (6,698 in all),
// no rater column; long form, columns item and label of votes.csv".
func (in Interpretation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, ", words.Plural(in.Items, "item"), words.Plural(in.Classes, "class"))
	lo, hi := voteString(in.MinVotes), voteString(in.MaxVotes)
	switch {
	case in.Votes == 0:
		b.WriteString("no votes")
	case lo == hi && hi == "1":
		b.WriteString("1 vote per item")
	case lo == hi:
		b.WriteString(hi + " votes per item")
	default:
		b.WriteString(lo + "–" + hi + " votes per item")
	}
	if in.Votes > 0 {
		fmt.Fprintf(&b, " (%s in all)", voteString(in.Votes))
	}
	if in.Unvoted > 0 && in.Votes > 0 {
		fmt.Fprintf(&b, ", %s without votes", words.Plural(in.Unvoted, "item"))
	}
	if in.Raters > 0 {
		b.WriteString(", " + words.Plural(in.Raters, "rater"))
	} else if in.Form == Long {
		b.WriteString(", no rater column")
	}
	for _, one := range in.several {
		if in.File == "" { // models do not store paths
			one.File = ""
		}
		one.writeForm(&b)
	}
	if in.Form != Auto && in.several == nil {
		in.writeForm(&b)
	}
	return b.String()
}

// writeForm writes the form, the columns and the file.
func (in *Interpretation) writeForm(b *strings.Builder) {
	fmt.Fprintf(b, "; %v form", in.Form)
	columns := nonEmpty(in.ItemColumn, in.RaterColumn, in.LabelColumn)
	switch {
	case in.Form == Long && len(columns) == 1:
		fmt.Fprintf(b, ", column %s", columns[0])
	case in.Form == Long:
		fmt.Fprintf(b, ", columns %s", words.List(columns, "and"))
	case in.ItemColumn != "":
		fmt.Fprintf(b, ", items in column %s", in.ItemColumn)
	default:
		b.WriteString(", rows numbered from 0")
	}
	if in.File != "" {
		b.WriteString(" of " + in.File)
	}
}

// voteString formats a number of votes, whole or not.
func voteString(m float64) string {
	if m == math.Trunc(m) && math.Abs(m) < 1<<53 {
		return words.Thousands(int(m))
	}
	return strconv.FormatFloat(m, 'g', 4, 64)
}

// total returns the column with the number of votes, or −1.
func (g *grid) total(opts *VotesOptions) int {
	if opts.TotalColumn != "" {
		return slices.Index(g.names, opts.TotalColumn)
	}
	return known(g.names, totalNames)
}

// recognize detects the form of a grid by the rules of [VotesOptions], or returns an error.
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
	values, numeric := numbersOf(g.text.names, record.ParseFormatted, g.t.Traits().Commas)
	if blank || !numeric {
		return Wide, nil
	}
	if form := g.sumsToOneNumber(values); form != Auto {
		return form, nil
	}
	whole, negative, largest := true, false, 0.0
	for _, x := range values {
		whole = whole && x == math.Trunc(x)
		negative = negative || x < 0
		largest = max(largest, x)
	}
	var flags []string
	if opts.Columns == nil && whole && !negative {
		flags = g.flagsBesideCounts(values)
	}
	if whole && !negative && largest > 10 && flags == nil {
		if opts.Columns == nil && g.measured(values) {
			return Auto, advise(&ParseError{File: g.t.Name(), Msg: fmt.Sprintf("columns [%s] contain whole numbers without zeros whose sum differs for almost every item, so they look like features: expected counts of votes",
				words.Few(g.names))}, "", SetForm)
		}
		return Counted, nil
	}
	// Votes have few values; measurements have many.
	if !whole && len(values) > fewLevels && (negative || largest > 1) && total < 0 {
		return Auto, advise(&ParseError{File: g.t.Name(), Msg: fmt.Sprintf("columns [%s] contain %s different numbers, which look like features: expected votes as labels or whole counts, or as fractions with a column of their total",
			words.Few(g.names), words.Thousands(len(values)))}, "", SetForm)
	}
	return Auto, g.ambiguous(total, negative, flags)
}

// ambiguous returns an error that describes every possible interpretation of the grid,
// with its first item as the example. If only some columns may be votes, they are proposed.
func (g *grid) ambiguous(total int, negative bool, some []string) error {
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
			words.Plural(len(g.names), "rater"), words.Few(g.names), classList(classes), g.items[0], words.Few(first))
	}
	if !negative {
		add(Counted, "%s [%s]; item %q got %s votes for them",
			words.Plural(len(g.names), "class"), words.Few(g.names), g.items[0], words.Few(first))
	}
	if total >= 0 && !negative && len(g.names) > 2 {
		rest, shares := slices.Clone(g.names), slices.Clone(first)
		rest, shares = slices.Delete(rest, total, total+1), slices.Delete(shares, total, total+1)
		add(Fractions, "%s [%s]; item %q got the shares %s of %s votes",
			words.Plural(len(rest), "class"), words.Few(rest), g.items[0], words.Few(shares), first[total])
	}
	which := "these votes can be read in more than one way"
	if len(forms) == 1 {
		which = "the form of these votes is ambiguous"
	}
	a := &Advice{Settings: []Setting{SetForm}, Forms: forms, Columns: some}
	if some != nil {
		a.Settings = append(a.Settings, SetVoteColumns)
	}
	return &ParseError{File: g.t.Name(), Msg: which + ":" + readings.String(), Err: a}
}

// areClasses reports whether the column names are exactly the classes, in any order. Both lists have no duplicates.
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

// The following methods find columns that are not votes in a table with one row per item.

// enoughRows is the number of rows from which a pattern in a column is unlikely to be chance.
const enoughRows = 5

// dropBlank removes columns that have neither a name nor a value, which
// spreadsheets write to the right of a table.
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

// where returns the values of rows, of len(keep) values each, in the columns for which keep is true.
func where[T any](rows []T, keep []bool) []T {
	var kept []T
	for i, x := range rows {
		if keep[i%len(keep)] {
			kept = append(kept, x)
		}
	}
	return kept
}

// checkIDs returns an error if the first column has no known name but looks like
// ids: row numbers, or a different text in every row. Read as votes, each item would
// become a separate class.
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
		x, ok := record.ParseNumber(g.text.names[code], false)
		counting = counting && ok && (x == float64(i) || x == float64(i+1))
		texts = texts && (!ok || g.text.names[code][0] == '0' && x >= 1)
	}
	if !counting && !texts {
		return nil
	}
	return advise(&ParseError{File: g.t.Name(), Msg: fmt.Sprintf("column %q has a different value in every row, such as %q: does it contain the ids of the items?",
		g.names[0], g.text.names[g.row(0)[0]])}, g.names[0], SetItem, SetIgnore)
}

// notVotes returns the error for columns that share hardly any label with another: read as
// votes, they would be raters who never agree with anyone.
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

// measured reports whether whole numbers look like measurements, not counts: none is 0, and
// their sum differs from item to item, as numbers of votes rarely do.
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

// isolated returns the columns that share hardly any label with another column. In a table
// with votes and features these are most likely features.
func (g *grid) isolated(class []int32) []string {
	votes, columns := map[[2]int32]int{}, map[int32]int{} // votes per column and class; columns per class
	for i, code := range g.cells {
		if code >= 0 && class[code] >= 0 {
			key := [2]int32{int32(i % len(g.cols)), class[code]}
			if votes[key]++; votes[key] == 1 {
				columns[key[1]]++
			}
		}
	}
	has, shared := make([]int, len(g.cols)), make([]int, len(g.cols))
	for key, n := range votes {
		has[key[0]] += n
		if columns[key[1]] > 1 {
			shared[key[0]] += n
		}
	}
	if len(g.items) < enoughRows {
		return g.unlikeOthers(shared)
	}
	var names []string
	for k, name := range g.names {
		// Measurements coincide now and then; raters use the same labels.
		if 10*shared[k] < has[k] {
			names = append(names, name)
		}
	}
	return names
}
