package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/words"
)

// Form is how votes are written down.
type Form uint8

const (
	// Auto recognizes the form from the columns; see [VotesOptions].
	Auto Form = iota
	// Long has one row per vote: item, label and, optionally, rater.
	Long
	// Wide has one row per item and one column per rater; blank cells are missing.
	Wide
	// Counted has one row per item and one column per class, holding how many
	// votes it got.
	Counted
	// Fractions has one row per item, one column per class holding the share of
	// the votes it got, and a column with the number of votes.
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
		return fmt.Errorf("votes form %q is not one of %v", text, formNames)
	}
	*f = Form(i)
	return nil
}

// Interpretation says how votes were read. Its String is printed before
// anything is trained, so that a misreading is seen.
type Interpretation struct {
	File        string  // the file the votes came from
	Form        Form    // the form they were in
	ItemColumn  string  // "" when rows were numbered 0, 1, 2, …
	RaterColumn string  // long form; "" when there is none
	LabelColumn string  // long form
	Raters      int     // 0 when votes carry no rater
	Items       int     // items of the data set
	Unvoted     int     // items without a vote
	Classes     int     // d
	Votes       float64 // all votes together
	MinVotes    float64 // fewest votes of an item that has any
	MaxVotes    float64 // most votes of an item

	several []Interpretation // of each file, where they were read in different ways
}

// count fills in the numbers of ds, keeping how the votes were read.
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
	fmt.Fprintf(&b, "%s, %s, ", number(in.Items, "item"), number(in.Classes, "class"))
	lo, hi := voteString(in.MinVotes), voteString(in.MaxVotes)
	switch {
	case in.Votes == 0:
		b.WriteString("no votes")
	case lo == hi && hi == "1":
		b.WriteString("1 vote an item")
	case lo == hi:
		b.WriteString(hi + " votes per item")
	default:
		b.WriteString(lo + "–" + hi + " votes per item")
	}
	if in.Votes > 0 {
		fmt.Fprintf(&b, " (%s in all)", voteString(in.Votes))
	}
	if in.Unvoted > 0 && in.Votes > 0 {
		fmt.Fprintf(&b, ", %s without votes", number(in.Unvoted, "item"))
	}
	if in.Raters > 0 {
		b.WriteString(", " + number(in.Raters, "rater"))
	} else if in.Form == Long {
		b.WriteString(", no rater column")
	}
	for _, one := range in.several {
		if in.File == "" { // a model holds no paths
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

// voteString writes a number of votes, whole or not.
func voteString(m float64) string {
	if m == math.Trunc(m) && math.Abs(m) < 1<<53 {
		return words.Thousands(int(m))
	}
	return strconv.FormatFloat(m, 'g', 4, 64)
}
