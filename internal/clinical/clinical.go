// Package clinical converts the columns of a clinical table to votes: a
// diagnosis, a test score and a rating scale each become a voter that assigns an
// item to a class.
//
// [Rules] specify how, in YAML that a clinician can read ([Default] are the rules
// of Wu et al., ICML 2019):
//
//	classes:
//	  NC+MCI: [NC, MCI]
//	  AD: [AD]
//	votes:
//	  - from: [MMSE, MMSCORE]
//	    NC: 28-30
//	    MCI: 24-27
//	    AD: 0-23
//
// Columns and classes are arbitrary. [Rules.Apply] applies rules to a table: a
// missing score gives no vote, and a score that matches no condition is an error
// with its line number.
package clinical

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"credence/internal/table"
)

// Rules specify how the columns of a table are converted to votes.
type Rules struct {
	// Items are the possible names of the column of items.
	Items []string
	// Classes are the labels, each with the levels that belong to it.
	Classes []Class
	Voters  []Voter
}

// Class is a label and the levels that belong to it.
type Class struct {
	Name   string
	Levels []string
}

// Voter specifies the votes from one column of scores.
type Voter struct {
	Name string // the rater of the votes
	From []string
	// Levels are the conditions of each of Rules.Levels; nil if the voter has none.
	Levels  []*Condition
	Missing *Condition // scores that count as missing; may be nil
}

// Levels returns the levels of all classes, in the order of the rules.
func (r *Rules) Levels() []string {
	var all []string
	for _, c := range r.Classes {
		all = append(all, c.Levels...)
	}
	return all
}

//go:embed default.yaml
var defaultText []byte

// DefaultText returns the YAML text of the rules of [Default].
func DefaultText() string { return string(defaultText) }

// Default returns rules with the thresholds of the paper: AD against NC and MCI,
// by diagnosis, CDR and MMSE.
func Default() *Rules {
	r, err := Parse("default rules", defaultText)
	if err != nil {
		panic(err) // the text is part of the program
	}
	return r
}

// Vote is one label of an item.
type Vote struct {
	Item, Rater, Label string
}

// Result is the result of applying rules to a table.
type Result struct {
	Votes []Vote // by item, in the order of the table

	Items    int
	ItemName string   // of the column of items
	Columns  []string // [voters] the columns of the scores
	Counts   [][]int  // [voters × levels]
	Missing  []int    // [voters]
	// Unvoted are the items without any vote.
	Unvoted []string
}

// ApplyFile is [Rules.Apply] for the table in a file.
func (r *Rules) ApplyFile(ctx context.Context, path, item string) (*Result, error) {
	t, err := table.ReadSheet(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return r.Apply(t, item)
}

// Apply applies the rules to a table. item names the column of items; if it is
// empty, the rules do.
func (r *Rules) Apply(t *table.Sheet, item string) (*Result, error) {
	names := r.Items
	if item != "" || len(names) == 0 {
		names = []string{cmp.Or(item, "item")}
	}
	at := t.Column(names...)
	if at < 0 {
		return nil, t.Errorf(-1, -1, "no item column: expected %s, found [%s]", anyOf(names), strings.Join(t.Header, ", "))
	}
	levels := r.Levels()
	res := &Result{ItemName: t.Header[at], Items: len(t.Rows), Missing: make([]int, len(r.Voters))}
	columns := make([]int, len(r.Voters))
	for v, voter := range r.Voters {
		columns[v] = t.Column(voter.From...)
		if columns[v] < 0 {
			return nil, t.Errorf(-1, -1, "no column for %s: expected %s, found [%s]", voter.Name, anyOf(voter.From), strings.Join(t.Header, ", "))
		}
		res.Columns = append(res.Columns, t.Header[columns[v]])
		res.Counts = append(res.Counts, make([]int, len(levels)))
	}
	var labels []string // of the levels
	for _, c := range r.Classes {
		labels = append(labels, slices.Repeat([]string{c.Name}, len(c.Levels))...)
	}
	seen := map[string]int{}
	for i, row := range t.Rows {
		id := row[at]
		if id == "" {
			return nil, t.Errorf(i, at, "expected an item name, found an empty cell")
		}
		if first, ok := seen[id]; ok {
			return nil, t.Errorf(i, at, "duplicate item %q, first on line %d", id, first)
		}
		seen[id] = t.Line(i)
		before := len(res.Votes)
		for v := range r.Voters {
			voter := &r.Voters[v]
			text := row[columns[v]]
			x, isNumber := t.Number(text)
			l, ok := voter.Level(text, x, isNumber)
			if !ok {
				return nil, t.Errorf(i, columns[v], "expected one of %s, found %q", voter.describe(levels), text)
			}
			if l < 0 {
				res.Missing[v]++
				continue
			}
			res.Counts[v][l]++
			res.Votes = append(res.Votes, Vote{id, voter.Name, labels[l]})
		}
		if len(res.Votes) == before {
			res.Unvoted = append(res.Unvoted, id)
		}
	}
	return res, nil
}

func anyOf(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("%q", names[0])
	}
	return fmt.Sprintf("one of [%s]", strings.Join(names, ", "))
}
