package dataset

import (
	"fmt"
	"slices"
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
